"""Bytes that are refused before anything is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from spyre_dsl.language.encoding import MAX_BYTES
from spyre_dsl.language.loader import load_bytes, load_file
from tests.language.golden_files import render
from tests.language.samples import SMALL

DATA = SMALL.encode()
DELETE = "delete it, or write it as an escape in double quotes"


def said(data: bytes) -> str:
    return render(load_bytes(data, "file").diagnostics)


@pytest.mark.parametrize(
    ("data", "diagnostics"),
    [
        (b"", "1:1-1:1 [SD011] the file is empty | an adapter file starts with `adapter: NAME`"),
        (b"\xef\xbb\xbf", "1:1-1:1 [SD011] the file is empty | an adapter file starts with `adapter: NAME`"),
        (b"a: b\nc: \xe9\n", "2:4-2:5 [SD004] 0xe9 is not UTF-8 | save the file as UTF-8"),
        ("a: é\r\nb: €".encode() + b"\xc3(\n", "2:5-2:6 [SD004] 0xc3 is not UTF-8 | save the file as UTF-8"),
        (b"a: \xed\xa0\x80", "1:4-1:5 [SD004] 0xed is not UTF-8 | save the file as UTF-8"),
        ("a: b\n".encode("utf-16"), "1:1-1:1 [SD004] the file is UTF-16, and must be UTF-8 | save it as UTF-8"),
        ("a: b\n".encode("utf-32"), "1:1-1:1 [SD004] the file is UTF-32, and must be UTF-8 | save it as UTF-8"),
        (
            b"a: b\x00c\n",
            "1:5-1:6 [SD005] the character U+0000 is not allowed | " + DELETE,
        ),
        (
            "a:\n  \u2028b".encode(),
            "2:3-2:4 [SD005] the character U+2028 is not allowed | " + DELETE,
        ),
        (
            "a: \ufeffb".encode(),
            "1:4-1:5 [SD005] the character U+FEFF is not allowed | " + DELETE,
        ),
        (b"a:\n\tb: c\n", "2:1-2:2 [SD006] tabs are not allowed | use spaces"),
        (
            b"x" * (MAX_BYTES + 1),
            "1:1-1:1 [SD002] the file is larger than 64 KiB | an adapter bridges one gap; split what is more",
        ),
    ],
)
def test_what_is_refused(data: bytes, diagnostics: str) -> None:
    assert said(data) == diagnostics


def test_every_tab_and_every_control_character_is_reported() -> None:
    assert said(b"a:\tb\nc: d\t\t\n").count("SD006") == 2
    assert said(b"a: \x01b\nc: \x02\n").count("SD005") == 2
    assert said(b"\t\n" * 5_000).count("SD006") == 20


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    plain, marked = load_bytes(DATA, "file"), load_bytes(b"\xef\xbb\xbf" + DATA.replace(b"\n", b"\r\n"), "file")
    assert plain.diagnostics == marked.diagnostics == ()
    assert plain.adapter == marked.adapter


def test_places_do_not_depend_on_line_ends() -> None:
    wrong = DATA.replace(b"* $x\n", b"* * $x\n")
    assert said(wrong) == said(wrong.replace(b"\n", b"\r\n")) == said(wrong.replace(b"\n", b"\r"))


def test_a_file_of_100_mb_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with open(path, "wb") as file:
        file.truncate(100 * 1024 * 1024)
    start = time.process_time()
    result = load_file(path)
    assert time.process_time() - start < 0.5
    assert [found.code for found in result.diagnostics] == ["SD002"]

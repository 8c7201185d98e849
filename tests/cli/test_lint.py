"""``spyre-dsl lint``: what it prints, and how it ends."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spyre_dsl.cli import lint
from spyre_dsl.cli.lint import colours_wanted, write
from spyre_dsl.cli.main import main
from spyre_dsl.language.loader import LoadResult, load_file

CLEAN = """\
adapter: cube
summary: The stack computes pow wrongly.
gap: {kind: missing-lowering, evidence: [S51]}
rules:
  - match: {op: "pow($x, 3)"}
    rewrite: {op: $x * $x * $x}
    math: exact
tests:
  - inputs: {x: "float16[4, 64]"}
    before: pow(x, 3)
    after: x * x * x
"""
WARNING = CLEAN.replace("    math: exact\n", "")
ERROR = CLEAN.replace("pow($x, 3)", "powr($x, 3)")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_a_clean_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN)
    assert main(["lint", "cube.yaml"]) == 0
    assert capsys.readouterr().out == "no findings in 1 file\n"


def test_the_text_of_a_finding(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=ERROR)
    assert main(["lint", "cube.yaml"]) == 1
    assert capsys.readouterr().out == (
        "cube.yaml:5:18: error[SD203]: unknown op `powr`\n"
        "  |\n"
        '5 |   - match: {op: "powr($x, 3)"}\n'
        "  |                  ^^^^ did you mean `pow`?\n"
        "  = help: spyre-dsl explain SD203\n"
        "\n"
        "1 error in 1 file\n"
    )


def test_warnings_are_shown_and_only_strict_makes_them_errors(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=WARNING)
    assert main(["lint", "."]) == 0
    assert "cube.yaml:5:5: warning[SD507]" in capsys.readouterr().out
    assert main(["lint", ".", "--strict"]) == 1
    shown = capsys.readouterr().out
    assert "error[SD507]" in shown and shown.endswith("1 error in 1 file\n")


def test_a_folder_stands_for_its_yaml_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, b=ERROR.replace("cube", "b"), a=ERROR.replace("cube", "a"))
    (here / "notes.txt").write_text("no adapter")
    (here / "c.yml").write_text(CLEAN)
    assert main(["lint", ".", "a.yaml"]) == 1
    shown = capsys.readouterr().out
    assert shown.index("a.yaml:5") < shown.index("b.yaml:5")
    assert shown.endswith("in 3 files\n")


def test_select_and_ignore(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=ERROR)
    assert main(["lint", "cube.yaml", "--select", "SD3,SD4"]) == 0
    assert main(["lint", "cube.yaml", "--ignore", "SD203"]) == 0
    assert main(["lint", "cube.yaml", "--select", "SD2", "--select", "SD3"]) == 1


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_code_is_an_error_with_a_suggestion(
    option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here, cube=CLEAN)
    assert main(["lint", "cube.yaml", option, "SD2003"]) == 2
    assert capsys.readouterr().err == "error: unknown code `SD2003`; did you mean `SD203`?\n"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ERROR.encode())))
    assert main(["lint", "-"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:5:18: error[SD203]")


def test_what_cannot_be_read_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN)
    (here / "empty").mkdir()
    assert main(["lint", "cub.yaml", "empty", "cube.yaml"]) == 2
    assert capsys.readouterr() == (
        "",
        "error: no such file or folder: cub.yaml; did you mean cube.yaml?\n"
        "error: no adapter files (*.yaml, *.yml) in empty\n",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN)
    (here / "cube.yaml").chmod(0)
    assert main(["lint", "cube.yaml"]) == 2
    assert "cube.yaml" in capsys.readouterr().err


def test_deep_mode_knows_classes_and_keys(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = CLEAN.replace(
        'match: {op: "pow($x, 3)"}', 'match: {op: "pow($x, 3)", module: "*LlamaRMSNrom", config: {hidden_sise: 3}}'
    )
    put(here, cube=deep)
    assert main(["lint", "cube.yaml"]) == 0
    assert main(["lint", "cube.yaml", "--deep"]) == 1
    shown = capsys.readouterr().out
    assert "did you mean `*LlamaRMSNorm`?" in shown and "did you mean `hidden_size`?" in shown


# Formats.


def as_json(text: str) -> Any:
    return json.loads(text)


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=ERROR)
    assert main(["lint", "cube.yaml", "--format", "json"]) == 1
    shown, summary = capsys.readouterr()
    document = as_json(shown)
    assert {key: document[key] for key in ("version", "files", "errors", "warnings")} == {
        "version": 1, "files": 1, "errors": 1, "warnings": 0,
    }  # fmt: skip
    (found,) = document["diagnostics"]
    assert (found["code"], found["severity"], found["suggestion"], found["file"]) == (
        "SD203",
        "error",
        "pow",
        "cube.yaml",
    )
    assert (found["start"]["line"], found["start"]["column"], found["end"]["column"]) == (5, 18, 22)
    assert ERROR[found["start"]["offset"] : found["end"]["offset"]] == "powr"
    assert summary == "1 error in 1 file\n"


def test_github(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=ERROR)
    (here / "odd,name:1.yaml").write_text(WARNING.replace("adapter: cube", "adapter: odd"))
    main(["lint", ".", "--format", "github", "--select", "SD203,SD507"])
    assert capsys.readouterr().out == (
        "::error title=SD203,file=cube.yaml,line=5,col=18,endLine=5,endColumn=22::"
        "unknown op `powr` (did you mean `pow`?)\n"
        "::warning title=SD507,file=odd%2Cname%3A1.yaml,line=5,col=5,endLine=5,endColumn=10::"
        "rule `odd` does not say how exact it is (add `math: exact`, or `approximate` with a bound)\n"
    )


SARIF_SHAPE = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {"$ref": "#/definitions/run"}},
    },
    "additionalProperties": False,
    "definitions": {
        "text": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string"}},
            "additionalProperties": False,
        },
        "level": {"enum": ["none", "note", "warning", "error"]},
        "artifact": {
            "type": "object",
            "properties": {"uri": {"type": "string", "format": "uri-reference"}},
            "additionalProperties": False,
        },
        "region": {
            "type": "object",
            "properties": {
                n: {"type": "integer", "minimum": 1} for n in ("startLine", "startColumn", "endLine", "endColumn")
            },
            "additionalProperties": False,
        },
        "physicalLocation": {
            "type": "object",
            "properties": {
                "artifactLocation": {"$ref": "#/definitions/artifact"},
                "region": {"$ref": "#/definitions/region"},
            },
            "additionalProperties": False,
        },
        "location": {
            "type": "object",
            "properties": {
                "id": {"type": "integer", "minimum": -1},
                "message": {"$ref": "#/definitions/text"},
                "physicalLocation": {"$ref": "#/definitions/physicalLocation"},
            },
            "additionalProperties": False,
        },
        "rule": {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "shortDescription": {"$ref": "#/definitions/text"},
                "help": {"$ref": "#/definitions/text"},
                "defaultConfiguration": {"type": "object", "properties": {"level": {"$ref": "#/definitions/level"}}},
            },
            "additionalProperties": False,
        },
        "replacement": {
            "type": "object",
            "required": ["deletedRegion"],
            "properties": {
                "deletedRegion": {"$ref": "#/definitions/region"},
                "insertedContent": {"$ref": "#/definitions/text"},
            },
            "additionalProperties": False,
        },
        "change": {
            "type": "object",
            "required": ["artifactLocation", "replacements"],
            "properties": {
                "artifactLocation": {"$ref": "#/definitions/artifact"},
                "replacements": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/replacement"}},
            },
            "additionalProperties": False,
        },
        "fix": {
            "type": "object",
            "required": ["artifactChanges"],
            "properties": {
                "description": {"$ref": "#/definitions/text"},
                "artifactChanges": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/change"}},
            },
            "additionalProperties": False,
        },
        "result": {
            "type": "object",
            "required": ["message"],
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": -1},
                "level": {"$ref": "#/definitions/level"},
                "message": {"$ref": "#/definitions/text"},
                "locations": {"type": "array", "items": {"$ref": "#/definitions/location"}},
                "relatedLocations": {"type": "array", "items": {"$ref": "#/definitions/location"}, "uniqueItems": True},
                "fixes": {"type": "array", "items": {"$ref": "#/definitions/fix"}, "uniqueItems": True},
            },
            "additionalProperties": False,
        },
        "run": {
            "type": "object",
            "required": ["tool"],
            "properties": {
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "properties": {
                        "driver": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "semanticVersion": {"type": "string"},
                                "rules": {
                                    "type": "array",
                                    "items": {"$ref": "#/definitions/rule"},
                                    "uniqueItems": True,
                                },
                            },
                            "additionalProperties": False,
                        }
                    },
                },
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "results": {"type": "array", "items": {"$ref": "#/definitions/result"}},
            },
            "additionalProperties": False,
        },
    },
}
"""The part of the SARIF 2.1.0 schema that the reporter makes use of."""


def test_sarif(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    put(here, cube=ERROR, copy=CLEAN)
    assert main(["lint", ".", "--format", "sarif"]) == 1
    document = as_json(capsys.readouterr().out)
    jsonschema.validate(document, SARIF_SHAPE)
    (run,) = document["runs"]
    by_rule = {result["ruleId"]: result for result in run["results"]}
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert sorted(by_rule) == sorted(rules) == ["SD203", "SD501"]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    fix = by_rule["SD203"]["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert fix["insertedContent"]["text"] == "pow"
    assert fix["deletedRegion"] == {"startLine": 5, "startColumn": 18, "endLine": 5, "endColumn": 22}
    assert by_rule["SD501"]["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "copy.yaml"


def test_sarif_without_findings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN)
    assert main(["lint", ".", "--format", "sarif"]) == 0
    assert as_json(capsys.readouterr().out)["runs"][0]["results"] == []


# Terminals.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colours_wanted(Terminal())
    assert not colours_wanted(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours_wanted(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not colours_wanted(Terminal())


def test_what_an_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    write("caf\u00e9", stream)
    stream.flush()
    assert raw.getvalue() == b"caf\\xe9"


def test_a_folder_is_checked_although_parts_of_it_cannot_be_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here, cube=ERROR)
    (here / "gone.yaml").symlink_to("nowhere")
    assert main(["lint", ".", "--format", "json"]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["errors"] == 1
    assert "gone.yaml" in printed.err


def test_a_folder_with_what_is_no_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN)
    os.mkfifo(here / "pipe.yaml")
    (here / "folder.yaml").mkdir()
    (here / ".#cube.yaml").symlink_to("user@host.1234")  # how an editor locks a file
    assert main(["lint", "."]) == 0
    assert capsys.readouterr().out == "no findings in 1 file\n"


def test_a_file_that_several_paths_lead_to_is_read_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN)
    (here / "loop").symlink_to(".")
    (here / "again.yaml").symlink_to("cube.yaml")
    assert main(["lint", ".", "loop/loop", "./cube.yaml", str(here / "cube.yaml")]) == 0
    assert capsys.readouterr().out == "no findings in 1 file\n"


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
@pytest.mark.parametrize("name", [b"\xff\xfe.yaml", b"new\nline.yaml", b"100%::a,b.yaml", b"a b.yaml", b"-.yaml"])
def test_every_format_can_say_every_file_name(
    name: bytes, form: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / os.fsdecode(name)).write_text(ERROR, encoding="utf-8")
    assert main(["lint", ".", "--format", form]) == 1
    printed = capsys.readouterr().out
    if form in ("json", "sarif"):
        json.loads(printed)
    if form == "github":
        assert printed.count("\n") == 1


@pytest.mark.parametrize("codes", ["", ",", " , "])
def test_options_that_name_no_code_are_refused(codes: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=ERROR)
    assert main(["lint", "cube.yaml", f"--select={codes}"]) == 2
    assert capsys.readouterr().err.startswith("error: no codes are named")


@pytest.mark.parametrize("pattern", ["3", "yes", "config.hidden_size", "[1, 2]", "None", "'text'"])
def test_a_pattern_that_is_a_value_is_one_mistake(pattern: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, cube=CLEAN.replace('"pow($x, 3)"', f'"{pattern}"'))
    assert main(["lint", "cube.yaml", "--format", "json"]) == 1
    assert [found["code"] for found in json.loads(capsys.readouterr().out)["diagnostics"]] == ["SD306"]


# Several processes.


def test_jobs_change_nothing_that_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, **{f"file{number}": ERROR if number % 2 else WARNING for number in range(5)})
    assert main(["lint", ".", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    for jobs in ("2", "4", "100"):
        assert main(["lint", ".", "--jobs", jobs]) == 1
        assert capsys.readouterr() == said


def test_standard_input_is_read_among_other_files(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here, a=CLEAN, b=CLEAN.replace("cube", "b"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ERROR.replace("cube", "c").encode())))
    assert main(["lint", "a.yaml", "b.yaml", "-", "--jobs", "3"]) == 1
    assert "<stdin>:5:18: error[SD203]" in capsys.readouterr().out


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5"])
def test_a_number_of_jobs_that_is_none(jobs: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(here, a=CLEAN)
    assert main(["lint", ".", f"--jobs={jobs}"]) == 2
    assert f"argument --jobs: `{jobs}` is no number of processes" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is one process only")
@pytest.mark.parametrize("end", ["raise", "die"])
def test_a_process_that_breaks_off_ends_the_command(
    end: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here, a=CLEAN, b=CLEAN)
    parent = os.getpid()

    def load(file: str) -> LoadResult:
        if os.getpid() == parent:
            return load_file(file)
        if end == "raise":
            raise AssertionError("a mistake of ours")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    monkeypatch.setattr(lint, "_load", load)
    assert main(["lint", ".", "--jobs", "2"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and ("a mistake of ours" if end == "raise" else "signal 9") in said.err


class TestWhatIsNoFile:
    """Refused in words when it is named, rather than waited for."""

    @pytest.mark.parametrize(
        "make, words",
        [
            (lambda path: os.mkfifo(path), "is a named pipe (FIFO), not a file"),
            (lambda path: socket.socket(socket.AF_UNIX).bind(str(path)), "is a socket, not a file"),
            (lambda path: path.symlink_to(os.devnull), "is a character device, not a file"),
            (lambda path: path.symlink_to("nowhere"), "is a link to nowhere, which leads nowhere"),
            (lambda path: path.symlink_to("it.yaml"), "is a link to it.yaml, which leads nowhere"),
        ],
        ids=["pipe", "socket", "device", "dangling link", "link to itself"],
    )
    def test_by_name(
        self, make: Callable[[Path], None], words: str, here: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        make(Path("it.yaml"))
        assert main(["lint", "it.yaml"]) == 2
        assert capsys.readouterr().err == f"error: it.yaml {words}\n"

    def test_a_dangling_link_in_a_folder(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        put(here, cube=CLEAN)
        (here / "gone.yaml").symlink_to("nowhere")
        assert main(["lint", "."]) == 2
        assert capsys.readouterr().err == "error: gone.yaml is a link to nowhere, which leads nowhere\n"

    def test_streams_that_are_open_already_may_be_pipes(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        reading, writing = os.pipe()
        os.write(writing, CLEAN.encode())
        os.close(writing)
        try:
            assert main(["lint", f"/dev/fd/{reading}"]) == 0
        finally:
            os.close(reading)

"""Stack profiles: what each date's stack does, and profiles of one's own (facts, sections 4.1, 5, 6, 12)."""

from __future__ import annotations

import copy
import dataclasses
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import jsonschema
import pytest
import yaml

from spyre_sim.defects import MODELLED
from spyre_sim.stacks import StackError, UnknownStack, chosen_stack, diff, facts, load_stack, stack_names
from spyre_sim.stacks.model import base_name
from spyre_sim.stacks.validation import SCHEMA_FILE, duplicate_keys, problems_of
from spyre_sim.stacks.yaml_files import compose

FOLDER = SCHEMA_FILE.parent
JUNE = load_stack("2026-06")


def statuses(op):
    return [load_stack(name).status(op).kind for name in stack_names() if name != "ideal"]


# ---- names and loading


def test_the_profiles_in_order_of_date():
    assert stack_names() == ("2025-11", "2026-04", "2026-06", "2026-08", "2026-09", "ideal")


def test_june_is_the_default_and_a_stack_is_loaded_once():
    assert load_stack() is JUNE
    assert load_stack(JUNE) is JUNE
    assert (JUNE.name, JUNE.date, JUNE.stick) == ("2026-06", date(2026, 6, 24), 64)


def test_an_unknown_name_gets_the_nearest_and_all():
    with pytest.raises(UnknownStack, match=r"no stack profile '2026-6'; did you mean '2026-06'\? There are 2025-11, "):
        load_stack("2026-6")


def test_a_name_that_is_near_none_gets_all_in_a_sentence_of_its_own():
    with pytest.raises(UnknownStack, match=r"no stack profile 'nope'\. There are 2025-11, "):
        load_stack("nope")


class TestTheStackOfTheEnvironment:
    """For whoever names none: of what is given, SPYRE_SIM_STACK and 2026-06, the first counts."""

    @pytest.mark.parametrize(
        ("given", "environment", "expected"),
        [(None, None, "2026-06"), (None, "", "2026-06"), (None, "2026-09", "2026-09"),
         ("2025-11", "2026-09", "2025-11"), (JUNE, "2026-09", "2026-06"), ("2026-04", "mistaken", "2026-04")],
    )  # fmt: skip
    def test_what_is_given_counts_first(self, given, environment, expected, monkeypatch):
        if environment is None:
            monkeypatch.delenv("SPYRE_SIM_STACK", raising=False)
        else:
            monkeypatch.setenv("SPYRE_SIM_STACK", environment)
        assert chosen_stack(given).name == expected

    def test_a_slip_in_it_is_refused_by_its_name(self, monkeypatch):
        monkeypatch.setenv("SPYRE_SIM_STACK", "2026-6")
        with pytest.raises(UnknownStack, match="SPYRE_SIM_STACK: no stack profile '2026-6'; did you mean '2026-06'"):
            chosen_stack()


def test_a_day_names_the_facts_as_they_stood_then():
    july = load_stack("2026-07-20")
    assert (july.name, july.date, july.numerics.sdpa) == ("2026-07-20", date(2026, 7, 20), "flash")
    assert dataclasses.replace(load_stack("2026-06-24"), name="2026-06", title=JUNE.title) == JUNE


@pytest.mark.parametrize("day", ["2024-01-01", "2026-12-01", "2026-13-01"])
def test_a_day_outside_the_facts_is_no_stack(day):
    with pytest.raises(UnknownStack, match="or give a day from 2025-11-21 to 2026-09-24"):
        load_stack(day)


def test_stacks_are_frozen_and_copied_by_reference():
    with pytest.raises(dataclasses.FrozenInstanceError):
        JUNE.name = "other"
    with pytest.raises(TypeError):
        JUNE.ops["pow"] = None
    assert copy.deepcopy({"stack": JUNE})["stack"] is JUNE


def test_importing_stacks_loads_no_heavy_package():
    code = "import sys; from spyre_sim.stacks import load_stack; load_stack(); "
    code += "sys.exit(bool({'torch', 'numba', 'numpy', 'jsonschema'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- ops


@pytest.mark.parametrize(
    ("spelling", "op"),
    [
        ("pow", "pow"),
        ("aten.pow", "pow"),
        ("aten.pow.Tensor_Scalar", "pow"),
        ("aten::add.Tensor", "add"),
        ("aten.add_.Tensor", "add"),
        ("aten._softmax.default", "softmax"),
        ("aten.max.other", "maximum"),
        ("aten.max.dim", "max"),
        ("aten._unsafe_view.default", "reshape"),
        ("aten.__and__.Tensor", "bitwise_and"),
        ("aten._scaled_mm.default", "_scaled_mm"),
    ],
)
def test_an_op_is_found_by_any_spelling(spelling, op):
    assert JUNE.status(spelling).op == op


def test_ops_of_other_namespaces_keep_their_names():
    assert base_name("spyre.host.default") == "spyre.host.default"
    assert not JUNE.status("spyre.host.default").known


def test_an_op_that_no_fact_speaks_of_is_unsupported_by_that_name():
    status = JUNE.status("aten.histc.default")
    assert (status.op, status.kind, status.known) == ("histc", "unsupported", False)
    assert not JUNE.supports("histc")


@pytest.mark.parametrize(
    ("op", "kinds"),  # P0, P1, P2, P3, P4 of section 5
    [
        ("add", ["native"] * 5),
        ("neg", ["unimplemented", "native", "native", "native", "native"]),
        ("maximum", ["unimplemented", "unimplemented", "native", "native", "native"]),
        ("pow", ["unimplemented", "unimplemented", "broken", "broken", "decomposed"]),
        ("bmm", ["unsupported", "native", "native", "native", "native"]),
        ("mean", ["unsupported", "native", "native", "native", "native"]),
        ("argmax", ["unimplemented", "fallback", "fallback", "fallback", "fallback"]),
        ("all", ["unimplemented", "fallback", "unimplemented", "decomposed", "decomposed"]),
        ("cumsum", ["unimplemented", "fallback", "fallback", "fallback", "fallback"]),
        ("topk", ["unimplemented", "unimplemented", "custom", "custom", "custom"]),
        ("layer_norm", ["custom"] * 5),
        ("rms_norm", ["unimplemented", "unimplemented", "decomposed", "decomposed", "decomposed"]),
        ("scaled_dot_product_attention", ["unimplemented", "unimplemented", "decomposed", "decomposed", "decomposed"]),
        ("embedding", ["unimplemented", "fallback", "fallback", "native", "native"]),
        ("index", ["unimplemented", "unimplemented", "custom", "custom", "custom"]),
        ("flip", ["unimplemented", "unimplemented", "broken", "decomposed", "decomposed"]),
        ("sin", ["unimplemented", "fallback", "fallback", "fallback", "decomposed"]),
        ("triu", ["unimplemented", "fallback", "fallback", "decomposed", "decomposed"]),
        ("sort", ["unimplemented"] * 5),
        ("to", ["broken", "fallback", "custom", "custom", "custom"]),
        ("masked_scatter", ["unimplemented", "unimplemented", "unimplemented", "decomposed", "decomposed"]),
    ],
)
def test_the_published_op_table(op, kinds):
    assert statuses(op) == kinds


def test_what_the_first_adapters_bridge():
    power = JUNE.status("aten.pow.Tensor_Scalar")
    assert (power.kind, power.when) == ("broken", "run")
    assert power.text == "Invoked sdsc_fused_pow_0 which contains unimplemented operation pow"  # E24
    assert power.restriction("pow-exponent").value == 3
    assert JUNE.status("index").restriction("index-rank-max").value == 1
    assert "DataFormats.{format}" in JUNE.status("le").restriction("no-integer-operands").text  # A8, N35
    assert JUNE.status("slice").restriction("stick-offset-multiple").value == 64  # O14
    assert JUNE.status("to").restriction("fp32-upcast-norm") is not None  # A26
    assert load_stack("2026-08").status("to").restriction("fp32-upcast-norm") is None
    host = ("embedding", "arange", "sin", "cos", "cumsum", "tril", "triu", "argmax")
    assert {JUNE.status(op).kind for op in host} == {"fallback"}  # O5


def test_supports_asks_for_the_dtype_too():
    assert JUNE.supports("aten.mm.default") and JUNE.supports("mm", "bfloat16")
    assert not JUNE.supports("mm", "float32")  # A9
    assert JUNE.supports("mean", "float32") and not JUNE.supports("tanh", "float32")  # A8
    assert JUNE.supports("add", "int64") and not JUNE.supports("eq", "int64")  # N36, N35
    assert not load_stack("2025-11").supports("add", "bfloat16")  # N31
    assert not JUNE.supports("pow") and not JUNE.supports("sin")
    assert load_stack("2026-09").supports("pow") and load_stack("2026-09").supports("sin")
    assert load_stack("ideal").supports("histc", "float64")


def test_an_unimplemented_op_raises_when_run_with_its_name():
    status = JUNE.status("aten.erf.default")
    assert (status.kind, status.when) == ("unimplemented", "run")  # O20
    assert status.text == "Invoked sdsc_fused_erf_0 which contains unimplemented operation erf"


def test_every_entry_has_ascending_dates_and_known_dtype_sets():
    raw = yaml.safe_load((FOLDER / "facts" / "ops.yaml").read_text())
    for op, spec in raw["ops"].items():
        days = [entry["since"] for entry in spec["history"]]
        assert days == sorted(set(days)), op
        for entry in spec["history"]:
            assert isinstance(entry.get("dtypes", []), list) or entry["dtypes"] in raw["dtype_sets"], op
            assert entry["kind"] not in ("native", "custom", "decomposed") or entry["dtypes"], op
    assert set(raw["aliases"].values()) <= set(raw["ops"])
    assert not set(raw["aliases"]) & set(raw["ops"]) - {"empty"}


@pytest.mark.parametrize("name", ["ops", "defects", "numerics", "constants", "dtypes"])
def test_no_fact_stands_twice(name):
    assert list(duplicate_keys(compose((FOLDER / "facts" / f"{name}.yaml").read_text()))) == []


@pytest.mark.parametrize("name", ["numerics", "constants", "dtypes"])
def test_dated_facts_start_with_the_first_snapshot_and_ascend(name):
    for key, value in yaml.safe_load((FOLDER / "facts" / f"{name}.yaml").read_text()).items():
        if isinstance(value, list):
            days = [entry["since"] for entry in value]
            assert days[0] == date(2025, 11, 21) and days == sorted(set(days)), key


# ---- numerics, constants, dtypes


def test_numerics_change_with_the_dates():
    april, june, september = (load_stack(name).numerics for name in ("2026-04", "2026-06", "2026-09"))
    assert (april.host_rounding, june.host_rounding) == ("truncate", "ties-up")  # N10, N12
    assert (april.bfloat16_readback, june.bfloat16_readback) == ("truncate", "ties-even")  # N50
    assert (april.sum_chunk, june.sum_chunk) == (1, 64)  # A2
    assert (june.sdpa, september.sdpa) == ("math", "flash")  # A28, A29
    assert (june.exp_mask, september.exp_mask) == (None, -1e4)  # N18
    assert june.host_infinity_word == 0x6FFF  # N13


def test_every_setting_is_read_by_what_computes():
    code = "".join(path.read_text() for path in FOLDER.parent.rglob("*.py") if path.parent != FOLDER)
    assert not [field.name for field in dataclasses.fields(JUNE.numerics) if f".{field.name}" not in code]


def test_hardware_constants():
    constants = JUNE.constants
    assert (constants.cores, constants.max_span_bytes, constants.bundle_tensors) == (32, 268_435_456, 6)
    assert constants.lx_frontend_bytes == 1_677_721  # W12: 1638.4 KB


# ---- defects


def test_the_catalogue_is_whole():
    assert list(facts.defects()) == [f"S{n}" for n in range(1, 76)]


def test_the_set_that_fails_only_in_company():  # S-note 2; S9 is marked with a question mark in the table
    numbers = "1 4 5 6 7 13 16 17 18 20 22 23 24 25 26 27 30 31 32 33 34 42 43 61 62 64 67"
    assert {id for id, found in facts.defects().items() if found.fused} - {"S9"} == {f"S{n}" for n in numbers.split()}


@pytest.mark.parametrize(
    ("id", "before", "after"),
    [("S51", "2026-08", "2026-09"), ("S30", "2026-08", "2026-09"), ("S55", "2026-06", "2026-08")],
)
def test_a_defect_ends_with_its_fix(id, before, after):
    assert load_stack(before).has_defect(id) and not load_stack(after).has_defect(id)


def test_defects_that_the_adapters_meet_exist_in_june():
    assert {"S1", "S5", "S10", "S35", "S51"} <= set(JUNE.defects)


def test_every_switch_of_the_simulator_is_a_compiler_defect_that_is_said_to_be_modelled():
    for id in MODELLED:
        assert facts.defects()[id].modelled, id
    emergent = {id for id, found in facts.defects().items() if found.modelled} - set(MODELLED)
    assert {"S10", "S35", "S36", "S47"} <= emergent


def test_intervals_are_half_open():
    fixed = facts.defects()["S23"]
    assert not fixed.exists_on(fixed.fixed)
    assert fixed.exists_on(fixed.introduced)
    assert all(d.introduced is None or d.fixed is None or d.introduced < d.fixed for d in facts.defects().values())


# ---- the ideal stack


def test_the_ideal_stack_has_no_defects_and_no_limits():
    ideal = load_stack("ideal")
    assert not ideal.defects
    assert not ideal.enforces_limits
    assert ideal.numerics.arithmetic == "float64"


# ---- differences


def test_what_opened_and_closed_between_june_and_september():
    found = diff(JUNE, load_stack("2026-09"))
    assert {"pow", "sin", "cos", "embedding", "triu"} <= {change.name for change in found.opened}
    assert found.closed == ()
    assert "S51" in {defect.id for defect in found.fixed}
    assert "S32" in {defect.id for defect in found.appeared}
    assert {"numerics.sdpa", "constants.lx_frontend_bytes"} <= {change.name for change in found.settings}


def test_a_difference_turned_around():
    forth, back = diff(JUNE, load_stack("2026-09")), diff(load_stack("2026-09"), JUNE)
    assert [change.name for change in forth.opened] == [change.name for change in back.closed]
    assert forth.fixed == back.appeared
    assert diff(JUNE, JUNE).settings == ()


# ---- profiles of one's own


@pytest.fixture
def profile(tmp_path):
    def write(text, name="mine.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


HEAD = "name: mine\ndate: 2026-06-24\ntitle: one of my own\n"


def test_a_profile_changes_what_it_names_and_keeps_the_rest(profile):
    mine = load_stack(
        profile(
            HEAD + 'extends: "2026-06"\nops: {pow: {kind: native, dtypes: half}, histc: {kind: fallback}}\n'
            "numerics: {sum_chunk: 32}\ndefects: {remove: [S51], add: [S30]}\ndtypes: {float64: IEEE_FP64}\n"
        )
    )
    assert mine.supports("pow") and mine.status("pow").group == "pointwise"
    assert mine.status("histc").kind == "fallback"
    assert mine.numerics == dataclasses.replace(JUNE.numerics, sum_chunk=32)
    assert set(mine.defects) == set(JUNE.defects) - {"S51"} | {"S30"}
    assert mine.dtypes["float64"] == "IEEE_FP64"


def test_a_profile_may_extend_a_file_next_to_it(profile):
    profile(HEAD + "extends: facts\nconstants: {cores: 8}\n", "base.yaml")
    path = profile(HEAD.replace("mine", "child") + "extends: base.yaml\nnumerics: {sum_chunk: 2}\n")
    assert (load_stack(str(path)).constants.cores, load_stack(path).numerics.sum_chunk) == (8, 2)


def test_a_profile_that_extends_itself_is_refused(profile):
    with pytest.raises(StackError, match="extends itself: mine.yaml -> mine.yaml"):
        load_stack(profile(HEAD + "extends: mine.yaml\n"))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("extends: facts\nnumeric: {}\n", (5, 1), "unknown key 'numeric'; did you mean 'numerics'?"),
        ("extends: facts\nnumerics: {\n  sum_chunck: 3}\n", (6, 3), "unknown setting 'sum_chunck' in numerics; did"),
        ("extends: facts\nnumerics:\n  rounding: up\n", (6, 3), "numerics.rounding: 'up' is not known; known are 'tie"),
        ("extends: facts\nnumerics:\n  rounding: tie-up\n", (6, 3), "is not known; did you mean 'ties-up'?"),
        (
            "extends: facts\nnumerics: {sum_chunk: many}\n",
            (5, 12),
            "sum_chunk: a whole number is wanted here, not 'many'",
        ),
        ("extends: facts\nnumerics: {sum_chunk: 0}\n", (5, 12), "sum_chunk: 1 is the least, and this is 0"),
        ("extends: facts\nnumerics: {tail_nan_share: 2}\n", (5, 12), "1 is the most, and this is 2"),
        ("extends: facts\nconstants: {cores: many}\n", (5, 13), "cores: a number or true or false is wanted here, not"),
        ("extends: facts\nenforces_limits: []\n", (5, 1), "enforces_limits: true or false is wanted here, not a list"),
        ("extends: facts\nops: [pow]\n", (5, 1), "ops: a mapping is wanted here, not a list"),
        ("extends: facts\nops: {pow: null}\n", (5, 7), "ops.pow: a mapping is wanted here, not null"),
        ("extends: facts\nops: {pow: {knd: native}}\n", (5, 13), "unknown key 'knd'; did you mean 'kind'?"),
        ("extends: facts\nops: {pow: {status: native}}\n", (5, 13), "unknown key 'status'; did you mean 'kind'?"),
        ("extends: facts\nops: {pow: {kind: nativ}}\n", (5, 13), "is not known; did you mean 'native'?"),
        ("extends: facts\nops: {pow: {dtypes: half}}\n", (5, 7), "ops.pow: the key 'kind' is missing"),
        ("extends: facts\ndefects: {add: [S5, S99]}\n", (5, 21), "unknown defect 'S99'"),
        ("extends: facts\ndefects: {remove: some}\n", (5, 11), "remove: 'all' or a list is wanted here, not 'some'"),
        (
            "extends: facts\nops: {pow: {kind: native, dtypes: no}}\n",
            (5, 27),
            "'any' or a list is wanted here, not false",
        ),
        ("extends: facts\nextends: ideal\n", (5, 1), "the key 'extends' is there twice"),
        ("based_on: facts\n", (4, 1), "unknown key 'based_on'; did you mean 'extends'?"),
        ("", (1, 1), "the key 'extends' is missing"),
        ("extends: ''\n", (4, 1), "extends: a text is wanted here, and this is empty"),
        ("extends: [\n", (5, 1), "not YAML: "),
    ],
)
def test_problems_of_a_profile_have_a_place_and_a_way_out(profile, text, place, message):
    path = profile(HEAD + text)
    found = problems_of(path)
    assert [(problem.line, problem.column) for problem in found] == [place]
    assert message in found[0].message
    with pytest.raises(StackError, match=f"mine.yaml:{place[0]}:{place[1]}: "):
        load_stack(path)


def test_all_problems_of_a_file_are_reported(profile):
    path = profile("name: mine\ndate: yesterday\ntitle: ''\nextends: facts\nwhatever: 1\n")
    assert [problem.line for problem in problems_of(path)] == [2, 3, 5]
    assert "a day such as 2026-06-24 is wanted here, not 'yesterday'" in problems_of(path)[0].message


@pytest.mark.parametrize("word", ["zzz", "remarks", "colour"])
def test_a_key_that_nothing_is_like_gets_no_suggestion(profile, word):
    path = profile(HEAD + f"extends: facts\n{word}: 1\nops: {{pow: {{kind: native, {word}: 1}}}}\n")
    assert [problem.message for problem in problems_of(path)] == [f"unknown key {word!r}"] * 2


@pytest.mark.parametrize("content", [b"- a list\n", b"\xff\xfe", b"", b"&a [*a]\n"])
def test_files_that_are_no_profile_end_in_problems(tmp_path, content):
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    assert problems_of(path)


def test_a_file_that_is_not_there():
    with pytest.raises(StackError, match="there is no such file"):
        load_stack(Path("nowhere.yaml"))


def test_the_schema_is_draft_7_describes_every_key_and_accepts_the_packaged_profiles():
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    assert all("description" in found for found in schema["properties"].values() if "type" in found)
    for path in sorted(FOLDER.glob("*.yaml")):
        assert problems_of(path) == (), path.name


def test_the_schema_names_every_numerics_setting():
    listed = json.loads(SCHEMA_FILE.read_text())["properties"]["numerics"]["properties"]
    assert list(listed) == [field.name for field in dataclasses.fields(JUNE.numerics)]

"""One reader for every instrument: the verdicts, and the data that it writes back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.validators import MaxValueValidator

from evalsite.instruments.checks import InvalidInstrument, find_not_yet, read_instrument
from evalsite.instruments.installed import get_protocol, installed_protocols
from evalsite.instruments.parts import MOST_MINUTES
from evalsite.instruments.schema import INPUT_KINDS
from evalsite.instruments.texts import translate
from evalsite.studies.models import Study

FOLDER = settings.BASE_DIR / "fixtures" / "instruments"
GALLERY = sorted(FOLDER.glob("*.json"))
FAULTY = sorted((FOLDER / "faulty").glob("*.json"))
# keys that had another name
RENAMED = {
    "x_page_note": "page_note",
    "x_help_label": "help_label",
    "x_out_of": "out_of",
    "x_marked": "marked",
}
# faulty files whose fault the reader doesn't find, and why
RULES_OF_THE_SITE = {
    "13_duplicate": "the key of an installed protocol",
    "31_type": "a control character, which no database keeps",
}


def list_faults(data: Any, *, is_foreign: bool = True) -> set[tuple[str, str]]:
    try:
        read_instrument(data, is_foreign=is_foreign)
    except InvalidInstrument as refused:
        return {(fault.code, fault.place) for fault in refused.faults}
    return set()


def rename(data: Any) -> Any:
    if isinstance(data, dict):
        return {RENAMED.get(name, name): rename(value) for name, value in data.items()}
    return [rename(value) for value in data] if isinstance(data, list) else data


# what files of the gallery write out, though it is the default
DEFAULTS = {
    ("layout", "order"): "random",
    ("layout", "inputs"): "above",
    ("design", "k"): 3,
    ("design", "set_size"): 10,
    ("design", "groups"): "free",
    ("item", "name"): "Item",
    ("item", "names"): "Items",
    ("item", "output_name"): "Response",
    ("tags", "least"): 0,
    ("scale", "score"): "none",
    ("scale", "may_be_unchanged"): True,
    ("0", "required"): True,
    ("", "minutes_per_item"): 1,
}


def list_changes(before: Any, after: Any, *at: str) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield the place of each difference, with what is there before and after."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            yield from list_changes(before.get(name), after.get(name, {}), *at, name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from list_changes(*pair, *at, str(number))
    elif before != after or type(before) is not type(after):
        yield at, before, after


def is_default(at: tuple[str, ...], before: Any, after: Any) -> bool:
    """Tell whether a default was left out, or a table written as text."""
    if isinstance(before, list) and isinstance(after, str):
        return bool(json.loads(after) == before)
    return not after and DEFAULTS.get(("", *at)[-2:]) == before


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_faulty_file_has_its_code_and_its_place(path: Path):
    data = json.loads(path.read_bytes())
    faults = list_faults(data)

    if path.stem in RULES_OF_THE_SITE:
        assert data["x_fault"] not in {place for _, place in faults}
    else:
        assert (path.stem.partition("_")[2], data["x_fault"]) in faults


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_file_is_valid_and_written_back_without_its_defaults(path: Path):
    data = json.loads(path.read_bytes())

    instrument = read_instrument(data, is_foreign=True)

    written = instrument.to_data()
    assert read_instrument(written).to_data() == written
    assert list(find_not_yet(instrument)) == []
    assert [
        change for change in list_changes(rename(data), written) if not is_default(*change)
    ] == []


@pytest.mark.parametrize("key", sorted(installed_protocols()))
def test_protocol_is_written_back_but_for_the_renamed_keys(key: str):
    data = json.loads(json.dumps(get_protocol(key).to_data()))

    assert read_instrument(data).to_data() == rename(data)


# --- keys -------------------------------------------------------------------------------


def make_data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / "summeval.json").read_bytes())
    return data


def describe(data: Any, place: str) -> str:
    with pytest.raises(InvalidInstrument) as refused:
        read_instrument(data)
    (fault,) = (fault for fault in refused.value.faults if fault.place == place)
    return str(fault)


def test_unknown_key_is_refused_with_the_nearest_known_one():
    data = make_data()
    data["criteria"][0]["quesiton"] = "?"
    data["zzz"] = 1

    assert "did you mean question?" in describe(
        data, f"criteria.{data['criteria'][0]['key']}.quesiton"
    )
    assert "did you mean" not in describe(data, "zzz")


@pytest.mark.parametrize("name", ["extras", "highlight", "is_", "model_config"])
def test_name_inside_the_model_is_no_key_of_the_format(name: str):
    data = make_data()

    assert list_faults(data | {name: {"x_a": 1}}) == {("unknown_key", name)}


def test_null_is_no_value_anywhere():
    data = make_data() | {"note": None, "x_lab": None}
    data["source"]["url"] = None
    data["criteria"][0]["ask_if"] = None

    assert list_faults(data) == {
        ("type", "note"),
        ("type", "source.url"),
        ("type", f"criteria.{data['criteria'][0]['key']}.ask_if"),
    }


def test_keys_of_others_are_kept_in_every_part():
    data = make_data() | {"x_lab": {"room": None}}
    data["source"]["x_page"] = [4]
    data["criteria"][0]["scale"]["x_"] = "odd"

    written = read_instrument(data).to_data()

    assert written["x_lab"] == {"room": None}
    assert written["source"]["x_page"] == [4]
    assert written["criteria"][0]["scale"]["x_"] == "odd"


def test_old_name_of_a_key_is_read_and_never_written():
    data = make_data() | {"x_page_note": "Read all of it.", "x_help_label": "Rules"}

    written = read_instrument(data).to_data()

    assert (written["page_note"], written["help_label"]) == ("Read all of it.", "Rules")
    assert not written.keys() & RENAMED.keys()


def test_display_of_an_input_is_read_and_never_kept():
    data = make_data()
    shown = data["item"]["inputs"][0]

    read = read_instrument(
        data | {"item": data["item"] | {"inputs": [shown | {"display": "folded"}]}}
    )

    assert read == read_instrument(data)
    faulty = data | {"item": data["item"] | {"inputs": [shown | {"display": "hidden"}]}}
    assert list_faults(faulty) == {("not_allowed", "item.inputs.0.display")}


@pytest.mark.parametrize("depth", [4, 1_000, 20_000])
def test_condition_that_is_nested_too_deep_is_a_fault_and_no_error(depth: int):
    data = make_data()
    condition: dict[str, Any] = {}
    for _ in range(depth):
        condition = {"not": condition}
    data["criteria"][1]["ask_if"] = condition

    assert {code for code, _ in list_faults(data)} == {"too_deep"}


# --- kinds that are new -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        (2.5, set()),
        (2.1255, {("type", "criteria.{key}.scale.points.1.value")}),
        (True, {("type", "criteria.{key}.scale.points.1.value")}),
        (float("nan"), {("type", "criteria.{key}.scale.points.1.value")}),
        (-5, {("order", "criteria.{key}.scale.points")}),
        (10**10, {("out_of_range", "criteria.{key}.scale.points.1.value")}),
    ],
)
def test_point_of_a_scale_may_have_three_decimals(value: Any, faults: set[tuple[str, str]]):
    data = make_data()
    for part in ("examples", "practice"):
        data.pop(part, None)
    data["criteria"][0]["scale"]["points"][1]["value"] = value
    key = data["criteria"][0]["key"]

    assert list_faults(data) == {(code, place.format(key=key)) for code, place in faults}
    if not faults:
        assert not find_not_yet(read_instrument(data))


def test_table_given_as_a_list_is_written_as_text_that_keeps_the_order_of_its_columns():
    data = json.loads((FOLDER / "webnlg.json").read_bytes())
    rows = data["practice"][0]["inputs"]["data"]
    assert isinstance(rows, list)

    written = read_instrument(data).to_data()["practice"][0]["inputs"]["data"]

    assert json.loads(written) == rows
    assert list(json.loads(written)[0]) == list(rows[0])


# --- bounds, and what a worked example shows ----------------------------------------------


@pytest.mark.parametrize("number", [10**400, 1e308, float("inf")], ids=["long", "1e308", "inf"])
def test_minutes_of_an_item_are_at_most_those_of_the_longest_lease(number: float):
    limits = [
        limit.limit_value
        for limit in Study._meta.get_field("lease_minutes").validators
        if isinstance(limit, MaxValueValidator)
    ]

    faults = list_faults(make_data() | {"minutes_per_item": number})

    assert faults == {("out_of_range", "minutes_per_item")}
    assert limits == [MOST_MINUTES]
    assert list_faults(make_data() | {"minutes_per_item": MOST_MINUTES}) == set()


@pytest.mark.parametrize("number", [0, 10**9 + 1, 10**400], ids=["0", "1e9+1", "long"])
def test_versions_are_numbers_that_both_databases_keep(number: int):
    data = make_data() | {"version": number, "based_on": {"version": number}}

    assert list_faults(data) == {("out_of_range", "version"), ("out_of_range", "based_on.version")}
    assert list_faults(data | {"version": 10**9, "based_on": {"version": 10**9}}) == set()


@pytest.mark.parametrize("kind", sorted(INPUT_KINDS - {"conversation", "table", "turns"}))
def test_input_of_a_worked_example_is_text_or_a_whole_number_where_that_is_its_kind(kind: str):
    data = make_data()
    data["item"]["inputs"] = [{"name": "source", "label": "Source", "kind": kind}]
    for example in (*data.get("examples", ()), *data["practice"]):
        example["inputs"] = {"source": "7"}

    def list_codes(value: Any) -> set[tuple[str, str]]:
        data["practice"][0]["inputs"]["source"] = value
        return list_faults(data)

    place, is_number = "practice.0.inputs.source", kind == "whole number"
    assert list_codes("7") == set()
    for value in ({}, ["a"], 1.5, True):
        assert list_codes(value) == {("type", place)}
    assert list_codes(7) == (set() if is_number else {("type", place)})
    assert list_codes(10**400) == {("out_of_range" if is_number else "type", place)}


def test_translation_with_an_address_like_a_mark_is_named():
    data = json.loads((FOLDER / "da_sqm.json").read_bytes())
    data["translations"] = {"de": {"marked.source": "Quelle"}}

    with pytest.raises(InvalidInstrument) as refused:
        read_instrument(data)

    assert [(fault.code, fault.place) for fault in refused.value.faults] == [
        ("unknown_address", "translations.de.marked.source"),
    ]  # fmt: skip


def test_every_text_of_a_page_can_be_translated():
    data = json.loads((FOLDER / "da_sqm.json").read_bytes())
    data |= {"page_note": "Read both.", "help_label": "Instructions"}
    data["layout"]["menu"] = ["Rating"]
    data["translations"] = {
        "de": {"page_note": "Lies beide.", "help_label": "Anleitung", "layout.menu.0": "Urteil"}
    }

    content = read_instrument(data).to_data()
    shown = translate(content, "de")

    assert (shown["page_note"], shown["help_label"]) == ("Lies beide.", "Anleitung")
    assert shown["layout"]["menu"] == ["Urteil"]

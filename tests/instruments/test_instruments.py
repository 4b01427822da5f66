"""Instruments: one shape for all, read back as it was written; every fault with code and place."""

import copy
import json
from typing import Any

import pytest

from evalsite.instruments.checks import InvalidInstrument, check_instrument, read_instrument
from evalsite.instruments.installed import get_protocol, installed_protocols

KEYS = sorted(installed_protocols())


def data_of(key: str) -> dict[str, Any]:
    """An instrument as it comes out of a JSON file."""
    data: dict[str, Any] = json.loads(json.dumps(get_protocol(key).to_data()))
    return data


@pytest.mark.parametrize("key", KEYS)
def test_instrument_reads_back_as_it_was_written(key):
    assert read_instrument(data_of(key)) == get_protocol(key)


@pytest.mark.parametrize("key", KEYS)
def test_what_has_its_default_is_not_written(key):
    data = data_of(key)

    assert data["format"] == "evalsite.instrument/1"
    assert read_instrument(data).to_data() == get_protocol(key).to_data()
    assert None not in data.values()
    assert not [name for name in ("aids", "eligibility", "ignore", "hooks") if data.get(name) == []]


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_somebodys_own_are_kept(key):
    data = data_of(key) | {"x_lab": {"room": 4}}

    assert read_instrument(data).to_data()["x_lab"] == {"room": 4}


def point(data: dict[str, Any], criterion: int, number: int) -> dict[str, Any]:
    found: dict[str, Any] = data["criteria"][criterion]["scale"]["points"][number]
    return found


# of each rule one breach: the protocol, how to break it, the code and the place of the fault
BREACHES = [
    ("fluency", lambda d: d.update(colour=1), "unknown_key", "colour"),
    ("fluency", lambda d: d.pop("title"), "missing_key", "title"),
    ("fluency", lambda d: d.update(format="evalsite.instrument/2"), "unknown_format", "format"),
    ("fluency", lambda d: d.update(key="Fluency"), "bad_key", "key"),
    ("fluency", lambda d: d.update(key="f"), "bad_key", "key"),
    ("fluency", lambda d: d.update(key=7), "bad_key", "key"),
    ("fluency", lambda d: d["criteria"][0].update(key=7), "bad_key", "criteria.0.key"),
    ("fluency", lambda d: d.update(version=0), "out_of_range", "version"),
    ("fluency", lambda d: d.update(version=True), "type", "version"),
    ("fluency", lambda d: d.update(language="English!"), "bad_language", "language"),
    ("fluency", lambda d: d.update(title="  "), "empty_text", "title"),
    ("fluency", lambda d: d.update(summary=7), "type", "summary"),
    ("fluency", lambda d: d.update(minutes_per_item=0), "type", "minutes_per_item"),
    ("fluency", lambda d: d.update(translations=[]), "type", "translations"),
    ("fluency", lambda d: d["criteria"][0].update(key="note"), "reserved_column",
     "criteria.note.key"),
    ("fluency", lambda d: d["criteria"][0].update(key="highlights"), "reserved_column",
     "criteria.highlights.key"),
    ("rrgen", lambda d: (d["criteria"][0].update(comment={"ask": "optional"}),
                         d["criteria"][1].update(key="relevance_comment")),
     "reserved_column", "criteria.relevance_comment.key"),
    ("fluency", lambda d: d["source"].pop("cite"), "missing_key", "source.cite"),
    ("fluency", lambda d: d["source"].pop("notice"), "no_notice", "source.notice"),
    ("fluency", lambda d: d["item"]["inputs"][0].update(name="system"), "reserved_column",
     "item.inputs.0.name"),
    ("fluency", lambda d: d["item"]["inputs"].append(d["item"]["inputs"][0]), "duplicate",
     "item.inputs.1.name"),
    ("fluency", lambda d: d["item"]["inputs"][0].update(kind="poem"), "not_allowed",
     "item.inputs.0.kind"),
    ("fluency", lambda d: d["item"]["outputs"].update(most=11), "out_of_range",
     "item.outputs.most"),
    ("fluency", lambda d: d["item"]["outputs"].update(least=2, most=1), "out_of_range",
     "item.outputs.most"),
    ("fluency", lambda d: d["layout"].update(outputs="pair"), "wrong_layout", "layout.outputs"),
    ("magnitude", lambda d: d["layout"].update(outputs="one"), "wrong_layout", "layout.outputs"),
    ("fluency", lambda d: d["layout"].update(outputs="several"), "wrong_layout", "layout.outputs"),
    ("fluency", lambda d: d["layout"].update(questions="above"), "not_allowed",
     "layout.questions"),
    ("fluency", lambda d: d["layout"].update(screen="sheet"), "not_supported", "layout.screen"),
    ("pairwise", lambda d: d["layout"].update(screen=["one", "sheet"]), "not_supported",
     "layout.screen"),
    ("dialogue", lambda d: d["layout"].update(screen="book"), "not_allowed", "layout.screen"),
    ("dialogue", lambda d: d["layout"].update(screen=["sheet", "sheet"]), "duplicate",
     "layout.screen"),
    ("dialogue", lambda d: d["layout"].update(screen=[]), "length", "layout.screen"),
    ("fluency", lambda d: d.update(criteria=[]), "length", "criteria"),
    ("fluency", lambda d: d["criteria"].append(d["criteria"][0]), "duplicate",
     "criteria.fluency"),
    ("fluency", lambda d: d["criteria"][0].pop("definition"), "no_question", "criteria.fluency"),
    ("fluency", lambda d: d["criteria"][0].update(per="page"), "not_allowed",
     "criteria.fluency.per"),
    ("fluency", lambda d: d["criteria"][0].update(per="turn"), "no_turns",
     "criteria.fluency"),
    ("pairwise", lambda d: d["criteria"][0].update(per="output"), "wrong_per",
     "criteria.completion.per"),
    ("fluency", lambda d: d["criteria"][0].update(ask_if={}), "unknown_criterion",
     "criteria.fluency.ask_if.criterion"),
    ("rrgen", lambda d: d["criteria"][1].update(ask_if={"criterion": d["criteria"][0]["key"]}),
     "one_test", "criteria.fluency.ask_if"),
    ("rrgen", lambda d: d["criteria"][1].update(
        ask_if={"criterion": d["criteria"][0]["key"], "is": [99]}), "unknown_answer",
     "criteria.fluency.ask_if.is"),
    ("rrgen", lambda d: d["criteria"][1].update(
        ask_if={"criterion": d["criteria"][0]["key"], "includes": [1]}), "wrong_test",
     "criteria.fluency.ask_if"),
    ("rrgen", lambda d: d["criteria"][1].update(
        ask_if={"not": {"not": {"not": {"not": {}}}}}), "too_deep",
     "criteria.fluency.ask_if.not.not.not"),
    ("rrgen", lambda d: d["criteria"][1].update(
        ask_if={"criterion": d["criteria"][0]["key"], "is": [1], "outputs": "any"}),
     "not_needed", "criteria.fluency.ask_if.outputs"),
    ("rrgen", lambda d: d["criteria"][0].update(comment={"ask": "perhaps"}), "not_allowed",
     "criteria.relevance.comment.ask"),
    ("fluency", lambda d: d["criteria"][0]["scale"].update(kind="no_such_kind"), "unknown_scale",
     "criteria.fluency.scale.kind"),
    ("fluency", lambda d: d["criteria"][0].update(scale="likert"), "type",
     "criteria.fluency.scale"),
    ("fluency", lambda d: d["criteria"][0]["scale"].pop("points"), "missing_key",
     "criteria.fluency.scale.points"),
    ("fluency", lambda d: point(d, 0, 1).update(value=9), "order",
     "criteria.fluency.scale.points"),
    ("fluency", lambda d: point(d, 0, 0).update(label=""), "empty_text",
     "criteria.fluency.scale.points.0.label"),
    ("fluency", lambda d: point(d, 0, 0).update(reserved="yes"), "type",
     "criteria.fluency.scale.points.0.reserved"),
    ("fluency", lambda d: d["criteria"][0]["scale"].update(shown="random"), "not_allowed",
     "criteria.fluency.scale.shown"),
    ("fluency", lambda d: d["criteria"][0]["scale"].update(out_of="5"), "type",
     "criteria.fluency.scale.out_of"),
    ("pairwise", lambda d: d["examples"][0].update(criterion="nothing"), "unknown_criterion",
     "examples.0.criterion"),
    ("pairwise", lambda d: d["examples"][0].update(label=""), "empty_text", "examples.0.label"),
    ("pairwise", lambda d: d["practice"][0].update(why=""), "empty_text", "practice.0.why"),
    ("fluency", lambda d: d["criteria"][0]["scale"].update(not_applicable=" "), "empty_text",
     "criteria.fluency.scale.not_applicable"),
    ("rrgen", lambda d: d["criteria"][4]["scale"].update(yes=""), "empty_text",
     "criteria.decision.scale.yes"),
    ("pairwise", lambda d: point(d, 0, 2).update(value=2), "not_symmetric",
     "criteria.completion.scale.points"),
    ("pairwise", lambda d: point(d, 0, 2).update(value=4), "out_of_range",
     "criteria.completion.scale.points.2.value"),
    ("pairwise", lambda d: d["criteria"][0]["scale"].update(tags={"label": "Why?"}), "missing_key",
     "criteria.completion.scale.tags.options"),
    ("magnitude", lambda d: d["criteria"][0]["scale"].update(minimum=50, maximum=10), "order",
     "criteria.informativeness.scale"),
    ("fluency", lambda d: d["design"].update(k=0), "out_of_range", "design.k"),
    ("fluency", lambda d: d["design"].update(groups="mixed"), "not_allowed", "design.groups"),
    ("rrgen", lambda d: d["ignore"]["reasons"][0].update(covers="all"), "not_allowed",
     "ignore.reasons.0.covers"),
    ("rrgen", lambda d: d["ignore"]["reasons"][1].update(key="review"), "duplicate",
     "ignore.reasons"),
    ("magnitude", lambda d: d["eligibility"].pop("accept"), "missing_key", "eligibility.accept"),
    ("magnitude", lambda d: d["eligibility"].update(accept={"variety": ["welsh"]}), "not_allowed",
     "eligibility.accept.variety"),
    ("magnitude", lambda d: d["eligibility"].update(accept="os.system"), "hooks_not_allowed",
     "eligibility.accept"),
    ("magnitude", lambda d: d["hooks"].update(clean="os.system"), "hooks_not_allowed",
     "hooks.clean"),
    ("magnitude", lambda d: d["hooks"].update(clean="clean"), "type", "hooks.clean"),
    ("magnitude", lambda d: d["hooks"].update(paint="protocols.magnitude.hooks.paint"),
     "unknown_key", "hooks.paint"),
    ("magnitude", lambda d: d["aids"][0].pop("label"), "missing_key", "aids.0.label"),
    ("fluency", lambda d: d["comprehension"][0].update(right="-"), "no_right_answer",
     "comprehension.0.right"),
    ("fluency", lambda d: d["practice"][0]["inputs"].update(review="-"), "unknown_column",
     "practice.0.inputs.review"),
    ("fluency", lambda d: d["practice"][0].update(inputs={}), "missing_key",
     "practice.0.inputs.dialogue"),
    ("fluency", lambda d: d["practice"][0]["outputs"].append("B"), "length",
     "practice.0.outputs"),
    ("fluency", lambda d: d["practice"][0].update(gold={"tone": ["1"]}), "unknown_criterion",
     "practice.0.gold.tone"),
    ("fluency", lambda d: d["practice"][0].update(gold={"fluency": ["6"]}), "bad_gold",
     "practice.0.gold.fluency"),
    ("pairwise", lambda d: d["practice"][0].update(gold={"completion": "left"}), "bad_gold",
     "practice.0.gold.completion"),
    ("magnitude", lambda d: d["practice"][0].update(gold={"informativeness": "1<1"}), "bad_gold",
     "practice.0.gold.informativeness"),
    ("rrgen", lambda d: d["practice"][0].update(gold={"decision": ["maybe"]}), "bad_gold",
     "practice.0.gold.decision"),
    ("magnitude", lambda d: d["examples"][0]["ratings"].update(informativeness=[70, 100, 0]),
     "unknown_answer", "examples.0.ratings.informativeness.2"),
    ("magnitude", lambda d: d["examples"][0]["ratings"].update(informativeness=[70]), "length",
     "examples.0.ratings.informativeness"),
    ("magnitude", lambda d: d["examples"][0].update(marked={"mr": ["area[moon]"]}),
     "quote_not_found", "examples.0.marked.mr"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "break_it", "code", "place"),
    BREACHES,
    ids=[f"{number}-{code}" for number, (_, _, code, _) in enumerate(BREACHES)],
)
def test_each_fault_has_its_code_and_its_place(key, break_it, code, place):
    data = data_of(key)
    break_it(data)

    faults = check_instrument(copy.deepcopy(data))

    assert (code, place) in [(fault.code, fault.place) for fault in faults]
    if code != "not_yet":
        with pytest.raises(InvalidInstrument) as caught:
            read_instrument(data)
        assert caught.value.faults == faults


@pytest.mark.parametrize(
    ("screen", "screens"),
    [("sheet", ["sheet"]), (["sheet", "one"], ["sheet", "one"]), ("one", ["one"])],
)
def test_layouts_to_choose_from_are_read_and_written(screen, screens):
    data = data_of("dialogue")
    data["layout"]["screen"] = screen

    read = read_instrument(data)

    assert read.layout.screens == screens
    assert read.to_data()["layout"].get("screen", "one") == screen
    assert read.is_sheet({}) == (screens[0] == "sheet")
    assert read.is_sheet({"screen": "sheet"}) == ("sheet" in screens)
    assert ("screen" in read.default_options) == (len(screens) > 1)


def test_all_faults_are_reported_at_once():
    data = data_of("fluency")
    data.pop("title")
    data["criteria"][1]["scale"]["kind"] = "no_such_kind"
    data["layout"]["order"] = "by length"

    places = {fault.place for fault in check_instrument(data)}

    assert places == {"title", "criteria.coherence.scale.kind", "layout.order"}


def test_practice_that_says_nowhere_what_is_right_is_a_fault():
    data = data_of("fluency") | {"comprehension": []}
    for item in data["practice"]:
        item.pop("gold", None)

    assert [(one.code, one.place) for one in check_instrument(data)] == [("no_gold", "practice")]


@pytest.mark.parametrize("data", [None, [], "text", 7, {}])
def test_what_is_no_instrument_at_all_is_refused_without_an_error(data):
    assert check_instrument(data)


def test_instrument_that_arrives_from_elsewhere_has_no_hooks():
    data = data_of("magnitude")
    data["eligibility"]["accept"] = "protocols.magnitude.hooks.is_eligible"

    codes = {(one.code, one.place) for one in check_instrument(data, is_foreign=True)}

    assert codes == {("hooks_not_allowed", "hooks"), ("hooks_not_allowed", "eligibility.accept")}


def each_place(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to each value inside plain data."""
    if not isinstance(value, dict | list):
        return [path]
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(found for key, part in parts for found in each_place(part, (*path, key)))]


@pytest.mark.one_case
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wrong", [None, [], {}, "?", -1, True, [None], {"a": None}], ids=str)
def test_no_value_in_any_place_makes_the_check_fail_with_an_error(key, wrong):
    data = data_of(key)
    for path in each_place(data)[1:]:
        spoiled = copy.deepcopy(data)
        place = spoiled
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = copy.deepcopy(wrong)
        check_instrument(spoiled)

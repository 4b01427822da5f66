"""Points, ends and steps with decimals, from the page to the report."""

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.data.files.codebook import list_chapters
from evalsite.data.files.columns import list_downloads
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.pilot_results import _say
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import read_value, round_value
from evalsite.instruments.checks import read_instrument as read_content
from evalsite.instruments.scales import read_scale
from evalsite.instruments.scales.points import Steps
from evalsite.instruments.schema import Condition
from evalsite.participation.forms import RatingForm
from evalsite.results.items.records import list_records
from evalsite.results.items.spread import measure_records, read_counted
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support.answering import RatingPage
from tests.support.batches import import_rows
from tests.support.bundles import check, pack
from tests.support.exports import export, read
from tests.support.factories import launch
from tests.support.imported import check as check_ratings
from tests.support.imported import load
from tests.support.instruments import ask, make_built_study, read_instrument

HALVES = [
    {"value": 1, "label": "Bad"},
    {"value": 1.5, "label": ""},
    {"value": 2.0, "label": "Fair"},
    {"value": 2.5, "label": ""},
    {"value": 3, "label": "Good"},
]
SLIDER = {"kind": "slider", "minimum": 0, "maximum": 1, "step": 0.05}
FIVES = {"kind": "slider", "minimum": 0, "maximum": 100, "step": 5}
HOURS = {"kind": "number", "minimum": 0.25, "maximum": 24, "unit": "hours"}
KEYS = ("quality", "share", "hours")


def make_content() -> dict[str, Any]:
    content = read_instrument("da_sqm")
    for part in ("practice", "examples", "comprehension"):
        content.pop(part, None)
    content["key"] = "halves"
    content["criteria"] = [
        {"key": key, "label": key.title(), "question": "How much?", "per": "output"}
        | {"scale": scale}
        for key, scale in zip(
            KEYS, ({"kind": "likert", "points": HALVES}, SLIDER, HOURS), strict=True
        )
    ]
    return content


def make_study(content: dict[str, Any] | None = None, *, items: int = 2, **fields: Any) -> Study:
    study = make_built_study(content or make_content(), is_practice_on=False, **fields)
    columns = [column["name"] for column in make_content()["item"]["inputs"]]
    import_rows(
        study,
        [
            {"item": f"i{n}", **dict.fromkeys(columns, f"Text {n}"), "system": system}
            | {"output": f"{system} {n}"}
            for n in range(items)
            for system in ("alpha", "beta")
        ],
    )
    study.refresh_from_db()
    return study


@pytest.mark.django_db
@pytest.mark.both_databases
def test_decimals_are_asked_stored_shown_again_and_written_and_whole_numbers_have_no_point():
    study = launch(make_study(k=1, set_size=4, is_demo=True))
    page = RatingPage(study)
    assert 'inputmode="decimal"' in page.html

    page.post({"quality": "1.5", "share": "0.350", "hours": "7.125"})
    page.show(page.client.get(page.address))

    annotation = Annotation.objects.get()
    assert [(row.criterion, row.value) for row in annotation.list_rows()] == [
        ("quality", 1.5), ("share", 0.35), ("hours", 7.125),
    ]  # fmt: skip
    assert page.entered | {"quality": "1.5", "share": "0.35", "hours": "7.125"} == page.entered
    page.post({"quality": "2", "share": "1.0", "hours": "8.0"})
    rows = read(export(study))
    assert [row["value"] for row in rows] == ["2", "1", "8"]
    assert [(row["scale_min"], row["scale_max"]) for row in rows] == [
        ("1", "3"), ("0", "1"), ("0.25", "24"),
    ]  # fmt: skip
    assert find_breaches(study) == []


@pytest.mark.django_db
@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("scale", "right", "wrong"),
    [
        ({"kind": "number", "minimum": 0, "maximum": 9}, (0, 9), (4.5, 0.001, 10)),
        ({"kind": "number", "minimum": -0.5, "maximum": 9}, (-0.5, 0.001), (-0.501,)),
        (SLIDER, (0, 0.05, 0.15, 0.35, 0.95, 1), (0.051, 0.03)),
        (FIVES, (0, 5, 100), (7, 5.5)),
        (
            {"kind": "slider", "minimum": -1, "maximum": 1, "step": 0.4},
            (-1, -0.6, 0.2, 1),
            (0, 0.3),
        ),
        ({"kind": "likert", "points": HALVES}, (1, 1.5, 2), (1.25,)),
        ({"kind": "decision", "yes": "Yes", "no": "No"}, (0, 1), (0.5,)),
    ],
)
def test_fsck_finds_values_between_the_answers_of_a_scale(scale, right, wrong):
    content = make_content()
    content["criteria"] = [{**content["criteria"][0], "scale": scale}]
    study = launch(make_study(content, items=1, k=1, set_size=4))
    page = RatingPage(study)
    page.post(page.answers)
    rating = Rating.objects.get()

    named = {}
    for value in (*right, *wrong):
        Rating.objects.filter(pk=rating.pk).update(value=value)
        named[value] = [breach.check.key for breach in find_breaches(study)]

    assert named == {
        value: ["value_outside_its_scale"] if value in wrong else [] for value in (*right, *wrong)
    }


BAD = [
    *(("hours", entry) for entry in ("NaN", "Infinity", "-0", "-0.0", "1e308", "1.2345")),
    *(("hours", entry) for entry in ("0.2", "24.001", "1,5", "7.", ".5", "+1", "٣")),
    *(("share", entry) for entry in ("0.03", "1.05", "0.0501")),
    *(("quality", entry) for entry in ("1.25", "2.0", "1,5", "nan", "-0")),
]


@pytest.mark.parametrize(("field", "entry"), BAD)
def test_what_is_no_answer_is_refused_at_its_question(field, entry):
    config = read_content(make_content())
    entries = {"quality": "2", "share": "0.5", "hours": "7"}

    form = RatingForm(entries | {field: entry}, config=config, questions=ask(config))

    assert list(form.errors) == [field]
    assert RatingForm(entries, config=config, questions=ask(config)).is_valid()


@pytest.mark.django_db
@pytest.mark.both_databases
@pytest.mark.parametrize(
    "entries", [{"hours": "1e308"}, {"hours": "-0"}, {"quality": ["2", "2.0"]}], ids=str
)
def test_page_that_sends_no_number_or_two_forms_of_one_stores_nothing(entries):
    page = RatingPage(launch(make_study(items=1, k=1, set_size=2, is_demo=True)))

    page.show(page.post({"quality": "2", "share": "0.5", "hours": "7"} | entries))

    assert page.response.status_code == 422
    assert list(page.errors) == list(entries)
    assert not Rating.objects.exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0, 1e308, 0.1234, True, "4"])
def test_value_of_a_row_is_a_number_within_bounds_with_three_decimals(value):
    with pytest.raises(ValueError, match=r"A value|0 has"):
        read_value(value)


@pytest.mark.parametrize(
    ("number", "text"), [(4.0, "4"), (4, "4"), (0.1 + 0.2, "0.3"), (-0.0, "0")]
)
def test_numbers_are_written_with_three_decimals_at_most(number, text):
    assert str(round_value(number)) == text


def test_one_point_is_the_same_with_and_without_a_decimal_point():
    twice = [{"value": 4, "label": "A"}, {"value": 4.0, "label": "B"}]

    scale = read_scale({"kind": "likert", "points": HALVES})
    faults = read_scale({"kind": "likert", "points": twice}).find_faults("")

    assert [repr(point) for point in scale.values] == ["1", "1.5", "2", "2.5", "3"]
    assert [fault.code for fault in faults] == ["order"]


# --- gold --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "gold", "right", "wrong"),
    [
        ({"kind": "likert", "points": HALVES}, "1.5..2.5", [1.5, 2, 2.5], [1, 3]),
        ({"kind": "likert", "points": HALVES}, "2", [2, 2.0], [1.5]),
        (SLIDER, "0.3..0.4", [0.3, 0.35, 0.4], [0.25, 0.45, 0.301]),
        (SLIDER, "1.0", [1], [0.95]),
        (SLIDER, "0.32..0.4", [0.35, 0.4], [0.3, 0.45]),
        (FIVES, "3..20", [5, 10, 20], [0, 25]),
        (HOURS, "0.25..1", [0.25, 0.999, 1], [1.001, 24]),
    ],
)
def test_gold_is_a_number_or_a_range_with_decimals(scale, gold, right, wrong):
    scale = read_scale(scale)
    parsed = scale.parse_gold(gold, ["a"])

    assert all(scale.judge(parsed, [value], None, ["A"])[0][0] for value in right)
    assert not any(scale.judge(parsed, [value], None, ["A"])[0][0] for value in wrong)
    (suggested,) = scale.right_values(parsed, 1, None)
    assert scale.judge(parsed, [suggested], None, ["A"])[0][0]
    assert scale.is_gold(gold, 1)


@pytest.mark.parametrize("gold", ["1.25", "1..9", "0.5", "1.5..1", "1.2345", "1,5"])
def test_gold_that_no_point_has_is_refused(gold):
    scale = read_scale({"kind": "likert", "points": HALVES})

    with pytest.raises(ValidationError):
        scale.parse_gold(gold, ["a"])


def test_steps_of_a_long_line_are_not_made_before_they_are_needed():
    steps = Steps(-(10**9), 10**9, 0.001)

    assert len(steps) == 2 * 10**12 + 1
    assert steps[len(steps) // 2] == 0
    assert 123_456_789.125 in steps


# --- files -------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.both_databases
def test_file_brings_decimals_and_writes_them_as_they_are_stored():
    study = make_study(items=1)
    cells = {("alpha", "quality"): "1.50", ("alpha", "share"): "0.35", ("alpha", "hours"): "0.25"}
    cells |= {("beta", "quality"): "2.0", ("beta", "share"): "1.000", ("beta", "hours"): "24"}
    rows = [
        {"participant": "w1", "item": "i0", "system": system, "criterion": key, "value": text}
        for (system, key), text in cells.items()
    ]

    load(study, rows)

    stored = [row for annotation in Annotation.objects.all() for row in annotation.list_rows()]
    assert [row.value for row in stored] == [1.5, 0.35, 0.25, 2, 1, 24]
    assert [row["value"] for row in read(export(study))] == ["1.5", "0.35", "0.25", "2", "1", "24"]
    (first, second) = read(export(study, "ratings_simple"))
    assert [first[key] for key in KEYS] == ["1.5", "0.35", "0.25"]
    assert [second[key] for key in KEYS] == ["2", "1", "24"]
    types = {
        column.name: column.type
        for chapter in list_chapters(study.config, list_downloads(study.config))
        for column in chapter.columns
        if chapter.file in ("ratings.csv", "ratings_simple.csv")
    }
    assert {types[name] for name in ("value", "scale_min", "scale_max", *KEYS)} == {"number"}


@pytest.mark.django_db
def test_the_label_of_another_point_is_a_fault_beside_half_a_point():
    study = make_study(items=1)
    row = {"participant": "w1", "item": "i0", "system": "alpha", "criterion": "quality"}

    checked = check_ratings(study, [row | {"value": "1.5", "label": "Good"}])

    assert [(fault.code, fault.column) for fault in checked.faults] == [("value_invalid", "value")]


@pytest.mark.django_db
def test_differences_of_decimals_are_written_as_short_as_these():
    study = make_study(items=1, k=2)
    load(
        study,
        [
            {"participant": who, "item": "i0", "system": "alpha", "criterion": key, "value": value}
            for who, share in (("w1", "0.3"), ("w2", "0.9"))
            for key, value in (("quality", "2"), ("share", share), ("hours", "7"))
        ],
        keeps_incomplete=True,
    )

    share = next(criterion for criterion in study.config.criteria if criterion.key == "share")
    (spread,) = measure_records(list_records(study), share, read_counted(study), [])

    assert f"{spread.apart}" == "0.6"
    assert spread.is_wide


@pytest.mark.django_db
@pytest.mark.slow
def test_crowd_answers_with_decimals_and_bundle_and_report_hold_them():
    study = launch(make_study(items=6, k=3, set_size=6, is_demo=True))

    list(simulate_crowd(study, participants=4, seed="halves"))

    values = {row.value for rows in Rating.objects.group_rows().values() for row in rows}
    assert {value % 1 for value in values} - {0}
    assert find_breaches(study) == []
    rows = [row for row in read(export(study)) if row["kind"] == "main"]
    figures = {round(number, 9) for number in list_numbers(compute_report(study).content)}
    for key in KEYS:
        for system in ("alpha", "beta"):
            own = [
                float(row["value"])
                for row in rows
                if (row["criterion"], row["system"]) == (key, system)
            ]
            assert round(fmean(own), 9) in figures
    bundle = pack(study, has_free_text=True)
    assert check(bundle).faults == []


def list_numbers(content: Any) -> Iterator[float]:
    """Every number in plain data."""
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from list_numbers(part)
    elif isinstance(content, int | float):
        yield content


@pytest.mark.parametrize(
    ("test", "is_met"),
    [
        ({"at_least": 1.5}, True), ({"at_least": 2}, False), ({"at_most": 2}, True),
        ({"at_most": 1}, False), ({"is": [1.5]}, True),
    ],
)  # fmt: skip
def test_condition_tests_an_answer_with_decimals(test, is_met):
    condition = Condition.model_validate({"criterion": "quality"} | test)

    assert condition.is_met({"quality": {0: (1.5,)}}, 0) is is_met


@pytest.mark.parametrize(("value", "words"), [(1.5, "1.5"), (2, "2 (Fair)"), (2.5, "2.5 (Quite)")])
def test_pilot_shows_a_point_with_its_number(value, words):
    points = [*HALVES[:3], {"value": 2.5, "label": "Quite"}, HALVES[4]]

    assert _say(read_scale({"kind": "likert", "points": points}), value) == words

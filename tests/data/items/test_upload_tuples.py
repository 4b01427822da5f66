"""Inputs with more outputs than a page shows: tuples in which two outputs meet equally often."""

import io
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from random import Random
from typing import Any

import pytest

from evalsite.data.items import tuples
from evalsite.data.items.importer import import_batch
from evalsite.data.items.tuples import count_times, make_tuples
from evalsite.handout.slot_plan import Entry, plan_layers
from evalsite.studies.models import Item, Study
from tests.support.batches import Row, import_rows, write_csv
from tests.support.checking import check_file
from tests.support.instruments import make_built_study, read_instrument

SIZE = 4
# outputs of an input: how often each is shown, and how many items that makes
DESIGNS = {
    2: (1, 1), 3: (1, 1), 4: (1, 1), 5: (4, 5), 6: (2, 3), 7: (4, 7), 8: (2, 4), 9: (4, 9),
    10: (2, 5), 11: (4, 11), 12: (2, 6),
}  # fmt: skip


def count_pairs(outputs: int, made: list[tuple[int, ...]]) -> list[int]:
    met = Counter(pair for shown in made for pair in combinations(shown, 2))
    return [met[pair] for pair in combinations(range(outputs), 2)]


@pytest.mark.parametrize("outputs", DESIGNS)
def test_each_output_is_shown_equally_often_and_no_tuple_is_there_twice(outputs):
    times, items = DESIGNS[outputs]

    made = make_tuples(outputs, SIZE, "seed", "i1")

    assert count_times(outputs, SIZE) == times
    assert len(made) == len({*made}) == items
    assert {len({*shown}) for shown in made} == {min(outputs, SIZE)}
    assert set(Counter(output for shown in made for output in shown).values()) == {times}
    assert made == make_tuples(outputs, SIZE, "seed", "i1")


# by counting: of 5 outputs, every two are in all tuples but the two that lack one of them; 6 meet
# 18 times in 3 tuples, and are 15 pairs
@pytest.mark.parametrize(("outputs", "difference"), [(4, 0), (5, 0), (6, 1)])
def test_two_outputs_meet_as_equally_often_as_they_can(outputs, difference):
    met = count_pairs(outputs, make_tuples(outputs, SIZE, "seed", "i1"))

    assert max(met) - min(met) == difference


@pytest.mark.parametrize("outputs", [outputs for outputs in DESIGNS if outputs > SIZE])
def test_design_is_at_least_as_even_as_the_first_hundred_draws_of_another_seed(outputs):
    met = count_pairs(outputs, make_tuples(outputs, SIZE, "seed", "i1"))
    best = max(met) - min(met)

    for number in range(100):
        draw = tuples._draw(outputs, SIZE, DESIGNS[outputs][0], Random(number))
        drawn = count_pairs(outputs, list(draw))
        assert best <= max(drawn) - min(drawn)


def test_inputs_have_the_same_design_with_other_outputs_in_it():
    designs = {tuple(make_tuples(8, SIZE, "seed", f"i{number}")) for number in range(20)}

    assert len(designs) > 10
    assert len({tuple(sorted(count_pairs(8, list(design)))) for design in designs}) == 1


@pytest.mark.parametrize("outputs", DESIGNS)
def test_places_of_outputs_are_balanced_over_the_answers_to_an_item(outputs):
    shown = min(outputs, SIZE)
    entries = [
        Entry(item_id=number, key=number, group=(0, f"i{number}"), systems=systems)
        for number, systems in enumerate(make_tuples(outputs, SIZE, "seed", "i1"), start=1)
    ]

    turns: dict[int, Counter[int]] = {}
    for layer in plan_layers(entries, seed="s", layers=2 * shown):
        for ((item_id, arrangement),) in layer:
            turns.setdefault(item_id, Counter())[arrangement % shown] += 1

    assert [set(counts.values()) for counts in turns.values()] == [{2}] * len(entries)


# --- as an import makes them ------------------------------------------------------------


@pytest.fixture
def study(db: None) -> Study:
    return make_built_study(read_instrument("best_worst_four"))


def rows_of(systems: str, inputs: int = 2, **more: str) -> list[Row]:
    return [
        {
            "item": f"q{number}", "prompt": f"Question {number}?", "system": system,
            "output": f"Answer {number} of {system}.", **more,
        }
        for number in range(1, inputs + 1)
        for system in systems
    ]  # fmt: skip


def check(study: Study, rows: list[Row], **options: Any) -> Any:
    return check_file(io.BytesIO(write_csv(rows).encode()), study=study, options=options)


def list_shown(items: Iterable[Item]) -> list[str]:
    return ["".join(sorted(item.outputs.values_list("system__name", flat=True))) for item in items]


def test_import_says_how_many_items_each_input_makes_and_how_evenly(study):
    checked = check(study, rows_of("abcdef"))

    assert checked.faults == []
    (remark,) = [one for one in checked.remarks if one.code == "tuples_made"]
    assert remark.message == (
        "2 inputs with 6 outputs become 3 items each with 4 outputs: each output is shown twice, "
        "and two of them meet 1 to 2 times (largest difference 1)"
    )


def test_tuples_of_an_input_are_items_of_one_group(study):
    import_rows(study, rows_of("abcdef"))

    items = study.items.main().order_by("pk")
    assert len({item.key for item in items}) == len(items) == 6
    assert len({item.group for item in items}) == 2
    for source in ("q1", "q2"):
        shown = list_shown(item for item in items if item.extra["item"] == source)
        assert Counter("".join(shown)) == dict.fromkeys("abcdef", 2)


def test_input_with_as_many_outputs_as_a_page_shows_is_one_item(study):
    import_rows(study, rows_of("abcd"))

    assert [item.key for item in study.items.main()] == ["q1", "q2"]


@pytest.mark.parametrize(
    "rows", [rows_of("abc"), rows_of("abcdef", kind="gold", gold_overall="best: a")]
)
def test_fewer_outputs_than_a_page_needs_and_gold_with_more_are_refused(study, rows):
    assert {fault.code for fault in check(study, rows).faults} == {"output_count"}


def test_later_system_is_shown_as_often_as_the_others_were(study):
    import_rows(study, rows_of("abcdefg", inputs=1))
    known = study.items.main().count()

    checked = check(study, rows_of("h", inputs=1), meets="every")
    import_batch(study=study, checked=checked, file_name="later.csv", sha256="1" * 64, by=None)

    shown = list_shown(study.items.main().order_by("pk")[known:])
    assert len(shown) == 2
    assert all("h" in systems and len(systems) == SIZE for systems in shown)


def test_same_outputs_in_a_later_file_make_no_further_items(study):
    import_rows(study, rows_of("abcdef"))

    checked = check(study, rows_of("abcdef"))

    assert [fault.code for fault in checked.faults] == ["nothing_left"]

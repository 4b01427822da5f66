"""Plans of slots: balanced by construction, exact for each item, the same from the same seed."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.handout.slot_plan import (
    Entry,
    Place,
    place_in_group,
    plan_layers,
)
from evalsite.lib.seeds import arrange, derive_number, make_random

SEEDS = st.text("0123456789abcdef", min_size=1, max_size=4)


def make_entries(designs: Sequence[Sequence[Sequence[int]]], seed: str = "a") -> list[Entry]:
    """One group for each design: the systems of the outputs of each of its items."""
    found = []
    for group, items in enumerate(designs):
        number = derive_number(seed, "group", group)
        for systems in items:
            item_id = len(found) + 1
            key = derive_number(seed, "item", item_id)
            found.append(Entry(item_id, key, (number, f"g{group}"), tuple(systems)))
    return found


def one_each(groups: int, systems: int) -> list[Entry]:
    """Each group has an item of one output for each system, as in dialogue and fluency."""
    return make_entries([[[system] for system in range(systems)]] * groups)


def side_by_side(items: int, systems: int, turned: int = 1) -> list[Entry]:
    """Each item shows all systems, in the file in an order that changes."""
    orders = [
        [(number * turned + one) % systems for one in range(systems)] for number in range(items)
    ]
    return make_entries([[order] for order in orders])


def all_pairs(groups: int, systems: int) -> list[Entry]:
    return make_entries([list(combinations(range(systems), 2))] * groups)


def plan(
    entries: list[Entry], *, layers: int = 3, seed: str = "a", **more: bool
) -> list[list[Place]]:
    return [list(layer) for layer in plan_layers(entries, seed=seed, layers=layers, **more)]


def shown_in(entries: list[Entry], layers: list[list[Place]]) -> list[tuple[int, tuple[int, ...]]]:
    """Each item of the plan in its order, with its systems as its page shows them."""
    systems = {entry.item_id: entry.systems for entry in entries}
    return [
        (item_id, tuple(systems[item_id][at] for at in _order(systems[item_id], arrangement)))
        for places in layers
        for place in places
        for item_id, arrangement in place
    ]


def _order(systems: tuple[int, ...], arrangement: int) -> list[int]:
    return arrange(len(systems), arrangement)


def spread_of(counts: Iterable[int]) -> int:
    found = list(counts)
    return max(found) - min(found) if found else 0


def widest_run(line: Sequence[Iterable[Hashable]], of: Sequence[Hashable]) -> int:
    """The largest difference between how often two of these stand in any run of this line."""
    totals = [Counter[Hashable]()]
    for marks in line:
        totals.append(totals[-1] + Counter(marks))
    return max(
        spread_of(totals[end][one] - totals[start][one] for one in of)
        for start in range(len(totals))
        for end in range(start, len(totals))
    )


# --- every item, exactly --------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    designs=st.lists(
        st.lists(st.permutations(range(4)).flatmap(
            lambda order: st.integers(1, 4).map(lambda size: order[:size])
        ), min_size=1, max_size=4),
        min_size=1, max_size=12,
    ),
    layers=st.integers(1, 9),
    is_together=st.booleans(),
    seed=SEEDS,
)  # fmt: skip
def test_any_items_stand_once_in_each_layer_and_show_each_output_in_each_place_equally_often(
    designs, layers, is_together, seed
):
    entries = make_entries(designs)

    planned = plan(entries, layers=layers, seed=seed, is_together=is_together)

    wanted = sorted(entry.item_id for entry in entries)
    for places in planned:
        assert sorted(item_id for place in places for item_id, _ in place) == wanted
    shown = shown_in(entries, planned)
    for entry in entries:
        pages = [page for item_id, page in shown if item_id == entry.item_id]
        counts = Counter((system, place) for page in pages for place, system in enumerate(page))
        for system in entry.systems:
            for_system = [counts[system, place] for place in range(len(entry.systems))]
            assert spread_of(for_system) <= 1
            assert sum(for_system) == layers


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=10), layers=st.integers(1, 9))
def test_each_item_of_a_group_that_stays_together_is_in_each_place_equally_often(sizes, layers):
    entries = make_entries([[[system] for system in range(size)] for size in sizes])

    planned = plan(entries, layers=layers, is_together=True)

    groups = {entry.item_id: entry.group for entry in entries}
    found = Counter()
    for places in planned:
        assert len(places) == len(sizes)
        for place in places:
            assert len({groups[item_id] for item_id, _ in place}) == 1
            assert [place_in_group(1, number) for _, number in place] == list(range(len(place)))
            found.update((item_id, place_in_group(1, number)) for item_id, number in place)
    for entry in entries:
        size = sum(other.group == entry.group for other in entries)
        assert spread_of(found[entry.item_id, place] for place in range(size)) <= 1


# --- systems and places in any run ------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(groups=st.integers(1, 9), systems=st.integers(2, 5), layers=st.integers(1, 4), seed=SEEDS)
def test_systems_alternate_and_no_group_comes_twice_in_a_sublayer(groups, systems, layers, seed):
    # groups in multiples of the systems: then all are equally frequent in each sublayer
    groups *= systems
    entries = one_each(groups, systems)

    planned = plan(entries, layers=layers, seed=seed)

    known = {entry.item_id: entry for entry in entries}
    for places in planned:
        line = [known[item_id] for ((item_id, _),) in places]
        for start in range(0, len(line), groups):
            part = line[start : start + groups]
            assert len({entry.group for entry in part}) == groups
            assert set(Counter(entry.systems for entry in part).values()) == {groups // systems}
    line = [known[item_id].systems for places in planned for ((item_id, _),) in places]
    assert widest_run(line, range(systems)) <= 1


def test_groups_and_sublayers_are_a_latin_square():
    entries = one_each(12, 3)

    (places,) = plan(entries, layers=1)

    known = {entry.item_id: entry for entry in entries}
    line = [known[item_id] for ((item_id, _),) in places]
    square = Counter(
        (entry.group, entry.systems, start // 12)
        for start in range(0, 36, 12)
        for entry in line[start : start + 12]
    )
    assert set(square.values()) == {1}
    for start in range(0, 36, 12):
        assert Counter(entry.systems for entry in line[start : start + 12]) == {
            (0,): 4, (1,): 4, (2,): 4,
        }  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(items=st.integers(1, 40), layers=st.integers(1, 4), seed=SEEDS, turned=st.integers(0, 1))
def test_of_two_outputs_any_run_shows_each_on_the_left_equally_often(items, layers, seed, turned):
    entries = side_by_side(items, 2, turned)

    shown = shown_in(entries, plan(entries, layers=layers, seed=seed))

    assert widest_run([[page[0]] for _, page in shown], [0, 1]) <= 1


@settings(max_examples=20, deadline=None)
@given(items=st.integers(1, 30), systems=st.integers(3, 5), layers=st.integers(1, 3), seed=SEEDS)
def test_of_three_or_more_outputs_any_run_of_a_layer_shows_each_in_each_place_equally_often(
    items, systems, layers, seed
):
    entries = side_by_side(items, systems)

    cells = [(system, place) for system in range(systems) for place in range(systems)]
    for places in plan(entries, layers=layers, seed=seed):
        shown = shown_in(entries, [places])
        line = [[(system, place) for place, system in enumerate(page)] for _, page in shown]
        assert widest_run(line, cells) <= 2


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_pairs_of_three_systems_alternate_and_so_do_the_sides_of_each(layers):
    entries = all_pairs(30, 3)

    for places in plan(entries, layers=layers):
        shown = shown_in(entries, [places])
        for start in range(0, 90, 30):
            part = [page for _, page in shown[start : start + 30]]
            kinds = [[tuple(sorted(page))] for page in part]
            assert widest_run(kinds, list(combinations(range(3), 2))) <= 1
            for pair in combinations(range(3), 2):
                sides = [[page[0]] for page in part if set(page) == set(pair)]
                assert widest_run(sides, pair) <= 1
            # each system stands on either side equally often over the pairs it is in
            lefts = Counter(page[0] for page in part)
            rights = Counter(page[1] for page in part)
            assert all(abs(lefts[system] - rights[system]) <= 1 for system in range(3))


@pytest.mark.parametrize("systems", [3, 4, 5])
def test_in_any_run_of_pairs_each_system_is_left_about_as_often_as_right(systems):
    entries = all_pairs(20, systems)

    shown = shown_in(entries, plan(entries))

    for system in range(systems):
        sides = [["LR"[page.index(system)]] for _, page in shown if system in page]
        assert widest_run(sides, "LR") <= 4


@pytest.mark.parametrize("groups", [10, 13, 37])
def test_systems_alternate_over_the_ends_of_sublayers_and_layers_too(groups):
    entries = one_each(groups, 3)

    systems = {entry.item_id: entry.systems for entry in entries}
    line = [systems[item_id] for places in plan(entries) for ((item_id, _),) in places]
    assert widest_run(line, range(3)) <= 1


def test_pairs_of_a_group_that_stays_together_are_turned_one_against_another():
    entries = all_pairs(10, 3)

    for places in plan(entries, layers=2, is_together=True):
        for place in places:
            lefts = [page[0] for _, page in shown_in(entries, [[place]])]
            assert sorted(lefts) == [0, 1, 2]


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, layers=st.integers(1, 3))
def test_where_each_item_shows_some_of_many_systems_each_is_in_each_place_equally_often(
    seed, layers
):
    trios = [make_random(seed, item).sample(range(10), 3) for item in range(100)]
    entries = make_entries([[trio] for trio in trios])

    for places in plan(entries, layers=layers, seed=seed):
        shown = [page for _, page in shown_in(entries, [places])]
        counts = Counter((system, place) for page in shown for place, system in enumerate(page))
        for system in range(10):
            assert spread_of(counts[system, place] for place in range(3)) <= 3


def test_where_each_item_shows_some_of_many_systems_every_layer_has_another_order():
    entries = make_entries([[list(trio)] for trio in combinations(range(8), 3)])

    layers = plan(entries)

    orders = [[item_id for ((item_id, _),) in places] for places in layers]
    assert all(first != second for first, second in combinations(orders, 2))
    # the first eight show 24 systems of eight: three of each, or nearly so
    systems = [
        system
        for places in layers
        for _, page in shown_in(entries, [places[:8]])
        for system in page
    ]
    assert max(Counter(systems).values()) <= 4 * len(layers)


@settings(max_examples=20, deadline=None)
@given(reviews=st.integers(1, 30), responses=st.integers(2, 4), layers=st.integers(1, 3))
def test_in_any_run_of_groups_each_system_is_in_each_place_equally_often(
    reviews, responses, layers
):
    entries = one_each(reviews, responses)
    systems = {entry.item_id: entry.systems[0] for entry in entries}

    cells = [(system, place) for system in range(responses) for place in range(responses)]
    for places in plan(entries, layers=layers, is_together=True):
        line = [[(systems[one], at) for at, (one, _) in enumerate(place)] for place in places]
        assert widest_run(line, cells) <= (1 if responses == 2 else 2)


@settings(max_examples=25, deadline=None)
@given(common=st.integers(1, 40), rare=st.integers(1, 10), seed=SEEDS)
def test_systems_that_are_not_equally_frequent_are_spread_in_proportion(common, rare, seed):
    entries = make_entries([[[0]]] * common + [[[1]]] * rare)

    (places,) = plan(entries, layers=1, seed=seed)

    systems = {entry.item_id: entry.systems[0] for entry in entries}
    line = [systems[item_id] for ((item_id, _),) in places]
    for end in range(len(line) + 1):
        expected = end * rare / (common + rare)
        assert abs(sum(line[:end]) - expected) <= 1


# --- chance, and its seed ---------------------------------------------------------------


def test_the_plan_is_a_function_of_the_seed_and_not_of_the_order_of_the_file():
    entries = all_pairs(20, 3)

    assert plan(entries) == plan(entries[::-1])
    assert plan(entries, seed="a") != plan(entries, seed="b")


def test_what_is_planned_does_not_depend_on_how_many_layers_are_asked_for():
    entries = side_by_side(20, 3)

    assert plan(entries, layers=5)[:3] == plan(entries, layers=3)


def test_each_layer_has_an_order_of_its_own():
    layers = plan(side_by_side(20, 3), layers=6)

    orders = [[item_id for ((item_id, _),) in places] for places in layers]
    assert all(first != second for first, second in combinations(orders, 2))


def test_which_item_has_which_first_order_is_chance_and_not_its_place_in_the_file():
    entries = side_by_side(60, 2, turned=0)

    first, second = (dict(shown_in(entries, plan(entries, layers=1, seed=s))) for s in "ab")

    lefts = [page[0] for _, page in sorted(first.items())]
    assert 10 < sum(one != other for one, other in pairwise(lefts)) < 50
    assert first.keys() == second.keys()


def test_turns_of_a_conversation_come_mostly_in_their_order():
    entries = [
        Entry(
            number,
            derive_number("i", number),
            (derive_number("g", number), ""),
            (0, 1),
            f"c{number // 5}",
        )
        for number in range(500)
    ]

    for places in plan(entries):
        rank = {item_id: at for at, ((item_id, _),) in enumerate(places)}
        pairs = [(one, one + 1) for one in range(500) if one % 5 < 4]
        assert sum(rank[one] < rank[other] for one, other in pairs) > 0.9 * len(pairs)
        # and conversations lie among one another
        assert spread_of(rank[one] for one in range(0, 500, 5)) > 250

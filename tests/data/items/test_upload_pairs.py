"""Items of more than two systems where two are compared: all pairs, or those a column names."""

import io
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from django.test import Client

from evalsite.data.items.choices import ID_PATTERN
from evalsite.data.items.columns import makes_pairs
from evalsite.data.items.importer import import_batch, undo_batch
from evalsite.data.items.items import CheckedItems as Checked
from evalsite.data.models import Upload
from evalsite.handout.models import Slot, order_of
from evalsite.instruments.installed import installed_protocols
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.data.items.test_upload_pages import press_import, send
from tests.support.checking import check_file
from tests.support.factories import launch
from tests.support.uploads import told

PAIRED = sorted(name for name, config in installed_protocols().items() if makes_pairs(config))
pytestmark = [
    pytest.mark.skipif(not PAIRED, reason="No installed protocol compares two outputs."),
]

HEADER = "item,dialogue,system,output"
THREE = f"""\
{HEADER}
d1,user: hi,alpha,Hello.
d1,user: hi,beta,Good day.
d1,user: hi,gamma,Yes?
"""


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(protocol=PAIRED[0], items=0)


@pytest.fixture
def check(study: Study) -> Callable[[str], Checked]:
    return lambda content: check_file(io.BytesIO(content.encode()), study=study)


def add_column(name: str, cells: list[str], content: str = THREE) -> str:
    lines = content.splitlines()
    return "\n".join(f"{line},{cell}" for line, cell in zip(lines, [name, *cells], strict=True))


def systems_of(checked: Checked) -> dict[str, tuple[str, ...]]:
    return {item.key: tuple(one.system for one in item.outputs) for item in checked.items}


# --- all pairs ------------------------------------------------------------------


def test_item_of_three_systems_becomes_all_pairs(check: Callable[[str], Checked]) -> None:
    checked = check(THREE)

    assert checked.faults == []
    assert systems_of(checked) == {
        "d1/1-2": ("alpha", "beta"),
        "d1/1-3": ("alpha", "gamma"),
        "d1/2-3": ("beta", "gamma"),
    }
    assert [str(remark) for remark in checked.remarks] == [
        "1 item with 3 systems becomes 3 pairs, each a separate item."
    ]
    assert {str(item.extra) for item in checked.items} == {"{'item': 'd1'}"}


def test_pairs_of_an_item_share_its_group_and_its_cluster(check: Callable[[str], Checked]) -> None:
    plain = check(THREE + "d2,user: hi,alpha,Hello.\nd2,user: hi,beta,Hey.\n")
    named = check(add_column("group,cluster", ["g1,c1"] * 3))

    # equal inputs are one group, also with an item that had two systems from the first
    assert len({item.group for item in plain.items}) == 1
    assert [(item.group, item.cluster) for item in named.items] == [("g1", "c1")] * 3


@pytest.mark.parametrize("number", [2, 4, 7, 12])
def test_n_systems_make_every_pair_once_under_ids_that_may_stand(
    check: Callable[[str], Checked], number: int
) -> None:
    names = [f"Système {n} / x" for n in range(number)]
    rows = "".join(f"d1,user: hi,{name},text {name}\n" for name in names)

    checked = check(f"{HEADER}\n{rows}")

    found = [tuple(one.system for one in item.outputs) for item in checked.items]
    assert found == list(combinations(names, 2))
    assert all(ID_PATTERN.fullmatch(item.key) for item in checked.items)
    assert len({item.key for item in checked.items}) == len(found)


def test_item_of_two_systems_keeps_its_id(check: Callable[[str], Checked]) -> None:
    checked = check(THREE.replace("d1,user: hi,gamma,Yes?\n", ""))

    assert systems_of(checked) == {"d1": ("alpha", "beta")}
    assert checked.remarks == []
    assert checked.items[0].extra == {}


def test_bad_75_one_output_is_nothing_to_compare(check: Callable[[str], Checked]) -> None:
    checked = check(f"{HEADER}\nd1,user: hi,alpha,Hello.\n")

    assert told(checked) == [
        "line 2 (record 1): Item “d1” has 1 output; the protocol wants 2, or more to make pairs of."
    ]


def test_groups_stand_for_items_where_no_column_names_items(
    check: Callable[[str], Checked],
) -> None:
    checked = check(THREE.replace("item,", "group,"))

    assert list(systems_of(checked)) == ["d1/1-2", "d1/1-3", "d1/2-3"]
    assert {item.group for item in checked.items} == {"d1"}


def test_wide_rows_make_pairs_of_their_columns(check: Callable[[str], Checked]) -> None:
    checked = check(
        "dialogue,response_1,model_1,response_2,model_2,response_3,model_3\n"
        "user: hi,Hello.,alpha,Good day.,beta,Yes?,gamma\n"
        "user: bye,Bye.,alpha,See you.,gamma,,\n"
    )

    assert systems_of(checked) == {
        "row-0001/1-2": ("alpha", "beta"),
        "row-0001/1-3": ("alpha", "gamma"),
        "row-0001/2-3": ("beta", "gamma"),
        "row-0002": ("alpha", "gamma"),
    }


def test_metadata_of_a_pair_is_that_of_its_own_rows(check: Callable[[str], Checked]) -> None:
    checked = check(add_column("temperature", ["0.1", "0.9", "0.1"]))

    assert [item.extra["temperature"] for item in checked.items] == [
        {"alpha": "0.1", "beta": "0.9"},
        "0.1",
        {"beta": "0.9", "gamma": "0.1"},
    ]


@pytest.mark.parametrize("taken", ["d1/1-3", "d1/2-3"])
def test_id_of_a_pair_never_falls_on_one_of_the_file(
    check: Callable[[str], Checked], taken: str
) -> None:
    more = f"{taken},user: bye,alpha,Bye.\n{taken},user: bye,beta,See you.\n"

    assert f"“{taken}” for one of them is too long or taken" in told(check(THREE + more))[0]


def test_pairs_that_the_study_has_are_left_out(study: Study) -> None:
    load(study, THREE)

    checked = check_file(io.BytesIO((THREE + "\n").encode()), study=study)

    assert [fault.code for fault in checked.faults] == ["nothing_left"]


def test_id_that_leaves_no_room_for_its_pairs_is_refused(check: Callable[[str], Checked]) -> None:
    checked = check(THREE.replace("d1", "d" * 126))

    assert "too long or taken. Choose another id." in told(checked)[0]


def test_more_pairs_than_a_file_may_list_are_refused_before_they_are_made(
    check: Callable[[str], Checked], settings: Any
) -> None:
    settings.UPLOAD_MAX_ROWS = 40
    rows = "".join(f"d1,user: hi,s{n:02},text {n}\n" for n in range(30))

    checked = check(f"{HEADER}\n{rows}")

    assert told(checked) == [
        "The outputs make 435 pairs; at most 20 are taken from one file. Split it, or say in a "
        "column “pair” which are wanted."
    ]
    assert not checked.items


def test_item_of_very_many_outputs_is_refused_and_read_on_in_no_time(
    check: Callable[[str], Checked],
) -> None:
    rows = "".join(f"all,user: hi,s{n},text {n}\n" for n in range(20_000))

    checked = check(f"{HEADER}\n{rows}")

    assert told(checked) == [
        "line 502 (record 501), item: Item “all” has more than 500 outputs. Map the column that "
        "identifies items to “item”."
    ]
    assert checked.rows == 20_000


# --- named pairs ----------------------------------------------------------------


def test_column_of_pairs_names_those_that_are_made(check: Callable[[str], Checked]) -> None:
    checked = check(add_column("pair", ['"against alpha, 2"', "against alpha", "2"]))

    assert checked.faults == []
    assert systems_of(checked) == {"d1/1-2": ("alpha", "beta"), "d1/1-3": ("alpha", "gamma")}
    assert [item.extra["pair"] for item in checked.items] == ["against alpha", "2"]
    assert [str(remark) for remark in checked.remarks] == [
        "1 item with 3 systems becomes 2 pairs, those that are named, each a separate item."
    ]


def test_item_that_names_no_pair_makes_all_beside_one_that_does(
    check: Callable[[str], Checked],
) -> None:
    named = add_column("pair", ["1", '"1,2"', "2"])
    rows = named + THREE.partition("\n")[2].replace("d1", "\nd2").replace(".\n", ".,\n")

    checked = check(rows.replace("?\n", "?,\n").replace("\n\n", "\n"))

    assert list(systems_of(checked)) == ["d1/1-2", "d1/2-3", "d2/1-2", "d2/1-3", "d2/2-3"]


def test_wide_rows_name_pairs_in_numbered_columns(check: Callable[[str], Checked]) -> None:
    checked = check(
        "dialogue,output1,system1,pair1,output2,system2,pair2,output3,system3,pair3\n"
        'user: hi,Hello.,alpha,"a,b",Good day.,beta,a,Yes?,gamma,b\n'
    )

    assert systems_of(checked) == {
        "row-0001/1-2": ("alpha", "beta"),
        "row-0001/1-3": ("alpha", "gamma"),
    }


def test_pair_of_a_whole_wide_row_is_kept_as_metadata(check: Callable[[str], Checked]) -> None:
    checked = check("dialogue,pair,output1,system1,output2,system2\nuser: hi,p7,Hi.,a1,Yo.,b1\n")

    assert checked.faults == []
    assert (checked.mapping["pair"], checked.items[0].extra) == ("", {"pair": "p7"})


@pytest.mark.parametrize(
    ("cells", "place", "words"),
    [
        (["1", "2", "2"], "line 2", "Pair “1” of item “d1” has 1 output (“alpha” in line 2)"),
        (["1", "1", "1"], "line 2", "Pair “1” of item “d1” has 3 outputs"),
        (["1", "1", ""], "line 4", "in no pair, but others are"),
        (["x,y", "x,y", "z"], "line 2", "Pairs “x” and “y” of item “d1” are of the same two"),
    ],
)
def test_names_that_make_no_pairs_are_refused_with_their_lines(
    check: Callable[[str], Checked], cells: list[str], place: str, words: str
) -> None:
    checked = check(add_column("pair", [f'"{cell}"' for cell in cells]))

    assert any(line.startswith(place) and words in line for line in told(checked))
    assert not checked.items


def test_names_without_end_in_one_cell_are_counted_and_not_all_told(
    check: Callable[[str], Checked],
) -> None:
    names = ",".join(f"n{number}" for number in range(1_000))
    cells = [f'"{names}"', "x", "x"]
    rows = [
        f"d1,user: hi,{name},Hi {name}.,{cell}" for name, cell in zip("abc", cells, strict=True)
    ]

    messages = told(check("\n".join([f"{HEADER},pair", *rows])))

    assert len(messages) == 11
    assert "Pair “n9” of item “d1” has 1 output" in messages[9]
    assert messages[10].startswith("line 2 (record 1), pair: 990 more names of pairs in this cell")


# --- gold -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("beta", ["beta", None, "beta"]),
        ("3", [None, "gamma", "gamma"]),
        ("Tie", ["tie", "tie", "tie"]),
        ("", [None, None, None]),
    ],
)
def test_right_answer_of_an_item_is_asked_of_the_pairs_that_hold_it(
    check: Callable[[str], Checked], gold: str, expected: list[str | None]
) -> None:
    checked = check(add_column("gold_completion,gold_why", [f"{gold},Why."] * 3))

    assert checked.faults == []
    assert [item.gold.get("completion") for item in checked.items] == expected
    assert all(
        ("why" in item.gold) == ("completion" in item.gold) for item in checked.items if gold
    )


def test_right_answer_that_names_no_system_of_the_item_is_refused_once(
    check: Callable[[str], Checked],
) -> None:
    checked = check(add_column("gold_completion", ["delta"] * 3))

    assert len(checked.faults) == 1
    assert "The systems are: alpha, beta, gamma." in told(checked)[0]


@pytest.mark.parametrize("kind", ["gold", "attention", "practice"])
def test_control_of_more_than_two_outputs_is_refused(
    check: Callable[[str], Checked], kind: str
) -> None:
    checked = check(add_column("kind,gold_completion", [f"{kind},beta"] * 3))

    assert told(checked) == [
        f"line 2 (record 1), kind: Item “d1” is of kind {kind} and has 3 outputs. Give such an "
        "item 2: its right answer is that of one pair."
    ]


# --- stored, undone, shown ------------------------------------------------------


def load(study: Study, content: str, sha256: str = "1") -> Batch:
    checked = check_file(io.BytesIO(content.encode()), study=study)
    return import_batch(study=study, checked=checked, file_name="a.csv", sha256=sha256, by=None)


def test_pairs_are_stored_undone_and_uploaded_anew_as_any_items(study: Study) -> None:
    batch = load(study, THREE)
    items = list(Item.objects.filter(batch=batch).order_by("pk"))
    outputs = [[one.system.name for one in item.outputs.all()] for item in items]

    again = load(study, THREE).pk == batch.pk
    undo_batch(batch=batch, by=None)
    left = Output.objects.filter(item__batch__isnull=False).count()
    again = load(study, THREE)

    assert outputs == [["alpha", "beta"], ["alpha", "gamma"], ["beta", "gamma"]]
    assert again
    assert not left
    assert Item.objects.filter(batch=again).count() == System.objects.filter(study=study).count()


def test_page_before_the_import_says_how_many_pairs_there_will_be(
    staff_client: Client, study: Study
) -> None:
    rows = "".join(
        f"d{n},user: hi {n},{system},{system} says {n}\n"
        for n in range(37)
        for system in ("s1", "s2", "s3")
    )

    page = send(staff_client, study, f"{HEADER}\n{rows}").content.decode()
    after = press_import(staff_client, study, Upload.objects.get()).content.decode()

    assert "37 items with 3 systems become 111 pairs, each a separate item." in page
    assert "37 items, 3 systems: right so far?" in page
    assert "37 items, 3 systems: 111 outputs to rate" in after


# --- sides ----------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4])
def test_sides_of_an_item_differ_by_one_showing_at_most(study: Study, k: int) -> None:
    load(study, THREE + THREE.partition("\n")[2].replace("d1", "d2"))
    Study.objects.filter(pk=study.pk).update(k=k)
    study.refresh_from_db()

    launch(study)

    for item in Item.objects.main().filter(study=study):
        shown = Counter(
            order_of(study.seed, item, 2, slot.arrangement)[0]
            for slot in Slot.objects.filter(item=item)
        )
        assert sum(shown.values()) == k
        assert abs(shown[0] - shown[1]) == k % 2

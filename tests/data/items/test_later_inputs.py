"""A later file whose inputs the study has: its outputs join them, and are counted with them."""

import io
import json
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.data.forms import SystemNamesForm
from evalsite.data.items.choices import PAIRED
from evalsite.data.items.importer import find_note, import_batch, undo_batch
from evalsite.data.models import Upload
from evalsite.decisions.system_names import rename_system
from evalsite.fieldwork.live_changes import open_batch
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.handout.slots import count_strays
from evalsite.results.report.computation import analyse_study
from evalsite.studies.models import Item, Study
from tests.data.items.test_getting_in import FOLDER
from tests.data.items.test_upload_pages import address
from tests.support.batches import Row, import_rows, write_csv
from tests.support.checking import check_file, check_scores
from tests.support.factories import launch, make_annotator, make_user
from tests.support.imported import check as check_ratings_of
from tests.support.imported import load
from tests.support.instruments import make_built_study
from tests.support.invariants import check_invariants
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db


def make(kind: str, **fields: Any) -> Study:
    return make_built_study(json.loads((FOLDER / f"study_{kind}.json").read_bytes()), **fields)


def rows_of(systems: str, inputs: int = 2, first: int = 1) -> list[Row]:
    return [
        {
            "item": f"q{number}",
            "prompt": f"Question {number}?",
            "system": system,
            "output": f"Answer {number} of {system}.",
        }
        for number in range(first, first + inputs)
        for system in systems.split()
    ]


def check(study: Study, rows: list[Row] | str, **options: Any) -> Any:
    text = rows if isinstance(rows, str) else write_csv(rows)
    return check_file(io.BytesIO(text.encode()), study=study, options=options)


def join(study: Study, rows: list[Row] | str, **options: Any) -> Any:
    """Import a second file; return what its check results."""
    checked = check(study, rows, **options)
    assert [str(fault) for fault in checked.faults] == []
    fields = {"file_name": "later.csv", "sha256": uuid4().hex, "by": None}
    import_batch(study=study, checked=checked, **fields)
    return checked


def codes(checked: Any) -> list[str]:
    return [fault.code for fault in checked.faults]


def note_of(checked: Any) -> str:
    return find_note(checked.import_notes, PAIRED)


def groups_of(study: Study) -> dict[str, list[str]]:
    """Return the ids of the items of each group, in the order in which they came."""
    results: dict[str, list[str]] = {}
    for item in study.items.main().order_by("pk"):
        results.setdefault(item.group, []).append(item.key)
    return results


# --- what joins ---------------------------------------------------------------------------


def test_the_same_ratings_give_the_same_result_in_one_file_and_in_two() -> None:
    results = []
    for files in (["alpha beta gamma"], ["alpha beta", "gamma"]):
        study = make("one", k=4, seed="0" * 32)
        for number, systems in enumerate(files):
            import_rows(study, rows_of(systems, inputs=24), sha256=str(number))
        chance = Random("ratings")
        load(
            study,
            [
                {
                    "participant": f"r{person}",
                    "item": f"q{number}",
                    "system": system,
                    "fluency": str(min(5, chance.randint(1, 5) + (system == "gamma"))),
                    "adequacy": str(chance.randint(1, 4)),
                }
                for number in range(1, 25)
                for person in range(4)
                for system in ("alpha", "beta", "gamma")
            ],
        )
        content, _ = analyse_study(study)
        pairs = [pair for criterion in content["kept"]["criteria"] for pair in criterion["pairs"]]
        results.append([(pair["effect"]["value"], pair["effect"]["details"]) for pair in pairs])

    assert results[0] == results[1]
    assert len(results[0]) == 6
    assert all(0 < details["p"] < 1 for _, details in results[0])


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("id,prompt,alpha,beta\n1,Why?,A.,B.\n", "id,prompt,gamma,delta\n1,Why?,C.,D.\n"),
        ("id,prompt,alpha,beta\n1,Why?,A.,B.\n", "id,prompt,gamma,delta\n2,Why?,C.,D.\n"),
        ("prompt,alpha,beta\nWhy?,A.,B.\n", "prompt,gamma,delta\nWhy?,C.,D.\n"),
        (
            "id,group,prompt,system,output\n1,g,Why?,alpha,A.\n",
            "id,group,prompt,system,output\n2,g,Why?,gamma,C.\n",
        ),
        (
            "id,group,prompt,system,output\n1,g,Why?,alpha,A.\n",
            "id,prompt,system,output\n2,Why?,gamma,C.\n",
        ),
        ('prompt,alpha,beta\n"Caf\u00e9\r\n?",A.,B.\n', 'prompt,c,d\n"Cafe\u0301\n?",C.,D.\n'),
    ],
    ids=["by id", "another id", "no ids", "by group", "no group", "Unicode form and line ends"],
)
def test_equal_inputs_of_two_files_are_one(first: str, later: str) -> None:
    study = make("one")
    join(study, first)

    checked = join(study, later)

    assert len(groups_of(study)) == 1
    assert note_of(checked).startswith("The only input is in the study already; ")


def test_groups_that_both_files_name_are_kept_apart() -> None:
    study = make("one")
    join(study, "id,group,prompt,system,output\n1,g,Why?,alpha,A.\n")

    join(study, "id,group,prompt,system,output\n2,h,Why?,gamma,C.\n")

    assert groups_of(study) == {"g": ["1"], "h": ["2"]}


def test_an_input_of_several_groups_is_joined_by_its_id_alone() -> None:
    study = make("one")
    join(study, "id,group,prompt,system,output\n1,g,Why?,alpha,A.\n2,h,Why?,alpha,A.\n")

    by_text = check(study, "prompt,system,output\nWhy?,gamma,C.\n")
    join(study, "id,prompt,system,output\n2,Why?,gamma,C.\n")

    assert {"inputs_ambiguous", "inputs_new"} <= {remark.code for remark in by_text.remarks}
    assert groups_of(study) == {"g": ["1"], "h": ["2", "2/2"]}


def test_what_joins_belongs_to_the_cluster_of_the_input() -> None:
    study = make("one")
    join(study, "id,cluster,prompt,system,output\n1,talk,Why?,alpha,A.\n")

    join(study, "id,prompt,system,output\n1,Why?,gamma,C.\n")

    assert set(study.items.main().values_list("cluster", flat=True)) == {"talk"}


def test_the_import_says_how_many_inputs_it_found() -> None:
    study = make("one")
    join(study, rows_of("alpha beta", inputs=2))

    checked = join(study, rows_of("gamma", inputs=3))

    assert note_of(checked) == (
        "2 of 3 inputs are in the study already; gamma's outputs join them. 1 input is new."
    )
    assert [remark.code for remark in checked.remarks if "inputs" in remark.code] == []


def test_a_file_of_new_inputs_says_so() -> None:
    study = make("one")
    join(study, rows_of("alpha"))

    checked = join(study, rows_of("alpha", first=7))

    assert note_of(checked) == ""
    assert "inputs_new" in [remark.code for remark in checked.remarks]


def test_the_first_file_says_nothing_of_earlier_ones() -> None:
    checked = check(make("one"), rows_of("alpha"))

    assert checked.import_notes == []
    assert "inputs_new" not in [remark.code for remark in checked.remarks]


# --- what doesn't -------------------------------------------------------------------------


def test_an_id_whose_input_differs_keeps_the_whole_file_out() -> None:
    study = make("one")
    join(study, rows_of("alpha"))
    rows = rows_of("gamma")
    rows[1]["prompt"] = "Question two?"

    checked = check(study, rows)

    (fault,) = checked.faults
    assert (fault.code, fault.column, fault.line) == ("input_differs", "prompt", 3)
    assert "(“Question two?”) than in later.csv (“Question 2?”)" in fault.message


@pytest.mark.parametrize("has_ids", [True, False])
def test_an_output_that_the_study_has_is_left_out_and_counted(has_ids: bool) -> None:
    study = make("one")
    first, later = rows_of("alpha"), rows_of("alpha gamma")
    if not has_ids:
        first, later = [[row | {"item": ""} for row in rows] for rows in (first, later)]
        for row in (*first, *later):
            del row["item"]
    join(study, first)

    checked = join(study, later)

    assert (checked.left_out, checked.outputs) == (2, 2)
    assert note_of(checked).endswith(
        "Left out: 2 outputs that the study has already, with the same text."
    )
    assert study.batches.last().rows == 2


@pytest.mark.parametrize("has_ids", [True, False])
def test_another_output_of_a_system_for_an_input_is_a_fault(has_ids: bool) -> None:
    study = make("one")
    rows = rows_of("alpha", inputs=1)
    if not has_ids:
        del rows[0]["item"]
    join(study, rows)

    checked = check(study, [rows[0] | {"output": "Something else."}])

    assert codes(checked) == ["output_differs"]


def test_an_item_with_an_id_of_its_own_is_another_item_of_the_input() -> None:
    study = make("one")
    join(study, rows_of("alpha", inputs=1))

    checked = join(study, [row | {"item": "again"} for row in rows_of("alpha", inputs=1)])

    assert list(groups_of(study).values()) == [["q1", "again"]]
    assert "inputs_again" in [remark.code for remark in checked.remarks]


def test_an_item_of_another_kind_takes_no_id_of_the_study() -> None:
    study = make("one")
    join(study, rows_of("alpha", inputs=1))
    rows = [row | {"kind": "gold", "gold_fluency": "3"} for row in rows_of("gamma", inputs=1)]

    assert "id_taken" in codes(check(study, rows))


# --- studies that show several outputs ------------------------------------------------------


def test_whom_a_new_system_meets_is_asked() -> None:
    study = make("pair")
    join(study, rows_of("alpha beta"))

    checked = check(study, rows_of("gamma"))

    assert codes(checked) == ["decision_needed"]
    (decision,) = [decision for decision in checked.decisions if not decision.is_made]
    assert [value for value, *_ in decision.choices] == ["every", ["alpha"], ["beta"]]


@pytest.mark.parametrize(
    ("meets", "keys"),
    [("every", ["q1/1-3", "q1/2-3", "q2/1-3", "q2/2-3"]), (["beta"], ["q1/2-3", "q2/2-3"])],
)
def test_earlier_outputs_are_shown_again_beside_the_new_one(meets: Any, keys: list[str]) -> None:
    study = make("pair")
    join(study, rows_of("alpha beta"))

    join(study, rows_of("gamma"), meets=meets)

    later = study.batches.last().items.all()
    assert [item.key for item in later] == keys
    assert len(groups_of(study)) == 2
    for item in later:
        earlier, new = item.outputs.all()
        assert (earlier.system.name in ("alpha", "beta"), new.system.name) == (True, "gamma")
        assert earlier.text == f"Answer {item.key[1]} of {earlier.system.name}."


def test_pairs_that_the_study_has_are_not_made_again() -> None:
    study = make("pair")
    join(study, rows_of("alpha beta", inputs=1))

    join(study, rows_of("alpha beta gamma", inputs=1))
    join(study, rows_of("delta", inputs=1), meets="every")

    assert list(groups_of(study).values()) == [
        ["q1", "q1/1-3", "q1/2-3", "q1/1-4", "q1/2-4", "q1/3-4"]
    ]


def test_an_earlier_system_that_is_not_there_is_named() -> None:
    study = make("pair")
    join(study, rows_of("alpha beta"))

    assert "system_unknown" in codes(check(study, rows_of("gamma"), meets=["delta"]))


def test_the_command_asks_whom_a_new_system_meets(tmp_path: Path) -> None:
    study, path, output = make("pair"), tmp_path / "gamma.csv", StringIO()
    join(study, rows_of("alpha beta"))
    path.write_text(write_csv(rows_of("gamma")))

    with pytest.raises(CommandError):
        call_command("import_batch", str(study.pk), str(path), stdout=output)
    call_command("import_batch", str(study.pk), str(path), "--meets", "alpha", stdout=output)

    assert "--meets every" in output.getvalue()
    assert "gamma's outputs join them" in output.getvalue()
    assert study.items.main().count() == 4


def test_the_page_asks_whom_a_new_system_meets_and_says_what_joined(staff_client: Client) -> None:
    study = make("pair")
    join(study, rows_of("alpha beta"))
    page = staff_client.post(
        address("upload-new", study), {"pasted": write_csv(rows_of("gamma"))}, follow=True
    )
    assert "One thing to decide before" in page.text
    upload = Upload.objects.get()

    page = staff_client.post(
        address("upload-preview", study, upload.pk),
        {"decision-meets": "['beta']"},
        follow=True,
    )
    sentence = "All 2 inputs are in the study already; gamma&#x27;s outputs join them."
    assert sentence in page.text
    page = staff_client.post(address("upload-import", study, upload.pk), follow=True)

    assert f"Imported 2 rows as 2 items. {sentence}" in page.text


# --- ratings ------------------------------------------------------------------------------


def test_ratings_find_an_item_by_the_id_in_the_file_and_the_system() -> None:
    study = make("one")
    join(study, rows_of("alpha", inputs=1))
    join(study, rows_of("gamma", inputs=1))
    rated = {"participant": "r1", "item": "q1", "fluency": "4", "adequacy": "2"}

    refused = check_ratings_of(study, [rated])
    taken = check_ratings_of(study, [rated | {"system": name} for name in ("alpha", "gamma")])

    assert codes(refused) == ["item_unknown"]
    assert [(answer.item.key, answer.item.systems) for answer in taken.answers] == [
        ("q1", "alpha"), ("q1/2", "gamma"),
    ]  # fmt: skip


def test_scores_name_an_output_by_its_number_in_one_item() -> None:
    study = make("one")
    join(study, rows_of("alpha", inputs=1))
    join(study, rows_of("gamma", inputs=1))

    checked = check_scores(io.BytesIO(b"item,BLEU\nq1#1,0.5\nq1/2#1,0.4\n"), study=study)

    assert codes(checked) == []
    assert checked.outputs == 2


# --- launched studies, and undoing ----------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["free", "together", "once"])
def test_a_later_batch_of_a_launched_study_is_dealt_as_its_groups_ask(groups: str) -> None:
    study = make("one", k=2, set_size=20, groups=groups)
    join(study, rows_of("alpha beta", inputs=4))
    launch(study)
    first = claim_set(make_annotator(study))
    join(study, rows_of("gamma", inputs=4))
    batch = study.batches.last()
    assert not Slot.objects.filter(item__batch=batch).exists()

    open_batch(batch=batch, by=make_user())
    run_waiting_jobs()

    me = make_annotator(study)
    dealt = Item.objects.filter(pk__in=claim_set(me).item_ids)
    names = [item.group for item in dealt]
    assert len(names) == len(first.item_ids) + (0 if groups == "once" else 4)
    assert groups != "once" or len(set(names)) == len(names)
    slots = Slot.objects.filter(item__batch=batch)
    assert sorted(slots.values_list("item__key", "no")) == [
        (f"q{number}/3", no) for number in range(1, 5) for no in range(2)
    ]
    assert count_strays(study) == 0
    check_invariants(study)


def test_groups_of_two_files_stay_together_once_launched() -> None:
    study = make("one", k=1, set_size=3, groups="together")
    join(study, rows_of("alpha beta", inputs=4))
    join(study, rows_of("gamma", inputs=4))

    launch(study)

    for _ in range(4):
        items = Item.objects.filter(pk__in=claim_set(make_annotator(study)).item_ids)
        assert len({item.group for item in items}) == 1
        assert len(items) == 3


def test_undoing_a_batch_leaves_the_other_as_it_was() -> None:
    study = make("one")
    join(study, rows_of("alpha beta"))
    join(study, rows_of("gamma"))
    first, later = study.batches.order_by("uploaded_at")
    before = groups_of(study)

    undo_batch(batch=first, by=None)
    assert list(groups_of(study).values()) == [["q1/3"], ["q2/3"]]
    join(study, rows_of("alpha beta"))

    assert groups_of(study).keys() == before.keys()
    undo_batch(batch=later, by=None)
    assert sorted(study.systems.values_list("name", flat=True)) == ["alpha", "beta"]


# --- size ---------------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["one", "pair"])
def test_many_inputs_take_as_many_queries_as_few(kind: str) -> None:
    counts = []
    for inputs in (3, 400):
        study = make(kind)
        join(study, rows_of("alpha beta", inputs=inputs))
        with CaptureQueriesContext(connection) as queries:
            checked = check(study, rows_of("gamma", inputs=inputs), meets="every")
        assert checked.is_importable
        counts.append(len(queries))

    assert counts[0] == counts[1]


# --- systems that were renamed -------------------------------------------------------------


def rename(study: Study, before: str, after: str) -> None:
    rename_system(study, study.systems.get(name=before), after, make_user())


def test_a_file_that_has_the_former_name_of_a_system_means_that_system() -> None:
    study = make("one")
    import_rows(study, rows_of("alpha beta"))
    rename(study, "alpha", "GPT-3")
    rename(study, "GPT-3", "GPT-4")

    checked = join(study, rows_of("alpha gamma", inputs=3))

    assert checked.systems == ["GPT-4", "gamma"]
    assert [remark.code for remark in checked.remarks].count("system_renamed") == 1
    assert {*study.systems.values_list("name", flat=True)} == {"GPT-4", "beta", "gamma"}
    # what the study has already is left out as ever
    assert study.items.main().count() == 8


def test_a_name_that_another_system_has_now_means_that_one() -> None:
    study = make("one")
    import_rows(study, rows_of("alpha beta"))
    rename(study, "alpha", "GPT-4")
    rename(study, "beta", "alpha")

    checked = check(study, rows_of("alpha", first=3))

    assert checked.systems == ["alpha"]
    assert "system_renamed" not in [remark.code for remark in checked.remarks]


def test_a_name_that_was_taken_back_means_its_system() -> None:
    study = make("one")
    import_rows(study, rows_of("alpha"))
    rename(study, "alpha", "GPT-4")
    rename(study, "GPT-4", "alpha")

    assert check(study, rows_of("GPT-4", first=3)).systems == ["alpha"]
    assert check(study, rows_of("alpha", first=3)).systems == ["alpha"]


def test_whoever_chose_a_name_for_a_former_one_is_heard() -> None:
    study = make("one")
    import_rows(study, rows_of("alpha"))
    rename(study, "alpha", "GPT-4")

    checked = check(study, rows_of("alpha", first=3), system_names={"alpha": "alpha"})

    assert checked.systems == ["alpha"]
    assert "system_renamed" not in [remark.code for remark in checked.remarks]


def test_the_page_offers_the_name_that_a_former_one_became() -> None:
    known = SystemNamesForm(None, names=[["alpha", "GPT-4", 2], ["beta", "beta", 2]])
    assert known["name-0"].value() == "GPT-4"

    form = SystemNamesForm({"name-0": "alpha", "name-1": "beta"}, names=known.names)

    assert form.is_valid()
    assert form.renamed == {"alpha": "alpha"}

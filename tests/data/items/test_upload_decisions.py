"""Files as people have them: what is guessed of them, and what only a researcher can decide."""

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.data.importing import LEAVE_OUT
from evalsite.data.items.columns import OF_SYSTEM, guess_mapping
from evalsite.data.items.importer import import_file
from evalsite.data.items.items import CheckedItems
from evalsite.data.models import Upload
from evalsite.data.tables.reader import FileMapping
from evalsite.instruments.installed import installed_protocols
from evalsite.studies.models import Batch
from tests.data.items.test_upload_pages import address, press_import
from tests.support.checking import check_file
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db

WIDE = "worker,when,mr_id,mr,ref1,team1,ref2,team2,ref3,team3\n"
ITEM = "m1,name[A],One.,a1,Two.,b1,Three.,c1\n"
LONG = "item,mr,system,output\n" + "".join(
    f"m{n},name[{n}],{system},Text {n} of {system}.\n" for n in (1, 2, 3) for system in "abc"
)


# no system may be called so
FAULTY = LONG.replace("m2,name[2],b,", "m2,name[2],tie,")


def check(protocol: str, content: str | bytes, **given: Any) -> CheckedItems:
    data = content if isinstance(content, bytes) else content.encode()
    study = given.pop("study", None) or make_study(protocol=protocol, items=0)
    return check_file(io.BytesIO(data), study=study, **given)


def codes(checked: CheckedItems) -> list[str]:
    return [fault.code for fault in checked.faults]


def decisions(checked: CheckedItems) -> dict[str, bool]:
    return {decision.key: decision.is_made for decision in checked.decisions}


# --- columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
@pytest.mark.parametrize("name", ["prompt", "source", "question", "article", "context"])
def test_text_that_is_shown_is_guessed_alike_by_every_protocol(protocol: str, name: str) -> None:
    config = installed_protocols()[protocol]
    wanted = next(column.name for column in config.columns if column.required)

    guess = guess_mapping(["id", name, "system", "generated"], config)

    assert list(guess.values()) == ["item", wanted, "system", "output"]


def test_index_that_pandas_writes_is_left_out() -> None:
    rows = LONG.splitlines()
    content = "\n".join([f",{rows[0]}", *(f"{n},{row}" for n, row in enumerate(rows[1:]))])

    checked = check("magnitude", content)

    assert codes(checked) == []
    assert next(iter(checked.mapping.values())) == LEAVE_OUT
    assert {tuple(item.extra) for item in checked.items} == {()}


def test_columns_of_texts_are_systems_also_beside_others() -> None:
    content = (
        "id,prompt,gpt,llama,ref,domain,bleu\n"
        "1,user: hi there,Hello to you.,Good day to you.,Hi you.,greeting,0.1\n"
        "2,user: who are you,I am a bot.,Just a program.,A bot.,chat,0.2\n"
    )

    checked = check("pairwise", content)

    assert codes(checked) == []
    assert [column for column, field in checked.mapping.items() if field == OF_SYSTEM] == [
        "gpt", "llama",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["ref", "reference", "gold", "target", "human"])
def test_reference_is_asked_about_and_not_taken_for_a_system(name: str) -> None:
    content = f"id,prompt,gpt,llama,{name}\n1,user: x,One text.,Two texts.,The reference.\n"

    checked = check("pairwise", content)

    assert checked.mapping[name] == ""
    assert "reference or a system" in checked.notes[name]
    assert checked.systems == ["gpt", "llama"]


def test_id_of_a_conversation_names_the_item_or_keeps_items_together() -> None:
    config = installed_protocols()["dialogue"]

    alone = guess_mapping(["conversation_id", "context", "model", "reply"], config)
    beside = guess_mapping(["id", "conversation_id", "context", "model", "reply"], config)

    assert list(alone.values()) == ["item", "dialogue", "system", "output"]
    assert list(beside.values()) == ["item", "cluster", "dialogue", "system", "output"]


def test_name_that_two_columns_share_matters_only_where_it_is_used() -> None:
    unused = check("magnitude", LONG.replace("output", "output,note,note", 1).replace(
        ".\n", ".,x,y\n"))  # fmt: skip
    used = check("magnitude", LONG.replace("output", "output,output", 1).replace(".\n", ".,x\n"))

    assert codes(unused) == []
    assert "column_duplicate" in codes(used)


# --- rows that repeat for each rater --------------------------------------------------------


def test_rows_that_repeat_for_each_rater_are_one_fault_with_a_choice() -> None:
    content = WIDE + "".join(f"w{n},{n},{ITEM}" for n in range(3))

    asked = check("magnitude", content)
    taken = check("magnitude", content, options={"take_once": True})

    assert codes(asked) == ["item_repeated"]
    assert "3 rows that differ only in columns “worker” and “when”" in asked.faults[0].message
    assert decisions(asked) == {"take_once": False}
    assert codes(taken) == []
    assert decisions(taken) == {"take_once": True}
    assert [note["code"] for note in taken.import_notes] == ["rows_taken_once"]
    assert (len(taken.items), taken.rows_taken) == (1, 1)
    assert taken.items[0].extra == {}  # one rater's are not the item's


def test_row_that_says_something_else_of_an_item_is_never_a_repeat() -> None:
    content = f"{WIDE}w1,1,{ITEM}w2,2,{ITEM.replace('Two.', 'Another.')}"

    checked = check("magnitude", content, options={"take_once": True})

    assert codes(checked) == ["item_repeated"]


# --- empty outputs and faulty rows ----------------------------------------------------------


def test_output_without_a_text_is_shown_as_empty_once_somebody_says_so() -> None:
    content = LONG.replace("Text 2 of b.", " ")

    asked = check("magnitude", content)
    shown = check("magnitude", content, options={"empty_outputs": "show"})

    assert codes(asked) == ["output_empty"]
    assert "empty_outputs" in decisions(asked)
    assert codes(shown) == []
    assert [output.text for output in shown.items[1].outputs][1] == ""
    assert shown.import_notes[0]["rows"] == [[6, 5, "output_empty"]]


def test_empty_cell_under_a_system_is_an_output_once_somebody_says_so() -> None:
    content = "item,mr,a1,b1,c1\nm1,x,One text., ,Three texts.\n"

    asked = check("magnitude", content)
    shown = check("magnitude", content, options={"empty_outputs": "show"})

    assert codes(asked) == ["output_empty"]
    assert decisions(asked)["empty_outputs"] is False
    assert [output.text for output in shown.items[0].outputs] == ["One text.", "", "Three texts."]


def test_rows_without_a_text_have_a_decision_of_their_own() -> None:
    empty = check("magnitude", LONG.replace("Text 2 of b.", ""))
    both = check("magnitude", FAULTY.replace("Text 1 of b.", ""))
    left = check(
        "magnitude", FAULTY.replace("Text 1 of b.", ""), options={"leave_out_faulty": True}
    )

    assert decisions(empty) == {"empty_outputs": False}
    (offer,) = [one for one in both.decisions if one.key == "leave_out_faulty"]
    assert offer.choices[0][1] == "Leave out 3 rows"
    assert codes(left) == ["output_empty"]


def test_faulty_row_is_left_out_with_all_rows_of_its_item() -> None:
    content = FAULTY

    asked = check("magnitude", content)
    left = check("magnitude", content, options={"leave_out_faulty": True})

    (listed,) = [one for one in asked.decisions if one.key == "leave_out_faulty"]
    assert listed.choices[0][1] == "Leave out 3 rows"
    assert len(listed.rows) == 3
    assert codes(left) == []
    assert [item.key for item in left.items] == ["m1", "m3"]
    assert left.rows_taken == 6
    (note,) = [one for one in left.import_notes if one["code"] == "rows_left_out"]
    assert sorted(note["rows"]) == [
        [5, 4, "same_item"], [6, 5, "system_invalid"], [7, 6, "same_item"],
    ]  # fmt: skip


def test_item_that_lacks_a_system_is_a_fault_whatever_is_left_out() -> None:
    content = LONG.replace("m2,name[2],b,Text 2 of b.\n", "")

    checked = check("magnitude", content, options={"leave_out_faulty": True})

    assert codes(checked) == ["output_count"]


def test_what_was_confirmed_is_kept_with_the_batch(tmp_path: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text(FAULTY)

    batch = import_file(
        study=make_study(items=0),
        path=path,
        by=None,
        mapping=FileMapping.read({}, {"leave_out_faulty": True}),
    )

    assert [note["code"] for note in batch.import_notes] == ["rows_left_out"]
    assert batch.rows == 6


# --- Windows-1252 ---------------------------------------------------------------------------


def test_file_in_windows_1252_is_read_once_somebody_confirmed_its_preview() -> None:
    content = LONG.replace("Text 2 of b.", "An hôtel “by” the sea.").encode("cp1252")

    asked = check("magnitude", content)
    read = check("magnitude", content, options={"encoding": "windows-1252"})

    assert codes(asked) == ["not_utf8"]
    assert decisions(asked) == {"encoding": False}
    assert "hôtel" in asked.decisions[0].choices[0][2]
    assert codes(read) == []
    assert "hôtel" in read.items[1].outputs[1].text
    assert [note["code"] for note in read.import_notes] == ["windows_1252"]


# --- the page -------------------------------------------------------------------------------


def test_choice_on_the_page_is_kept_can_be_undone_and_is_stored(staff_client: Client) -> None:
    study = make_study(items=0)
    file = SimpleUploadedFile("a.csv", FAULTY.encode())
    staff_client.post(address("upload-new", study), {"file": file, "pasted": ""})
    upload = Upload.objects.get()
    decide = address("upload-preview", study, upload.pk)

    staff_client.post(decide, {"decision-leave_out_faulty": "True"})
    made = Upload.objects.get().mapping.options
    staff_client.post(decide, {"decision-leave_out_faulty": ""})
    undone = Upload.objects.get().mapping.options
    staff_client.post(decide, {"decision-leave_out_faulty": "True"})
    page = staff_client.get(address("upload-preview", study, upload.pk)).content.decode()
    press_import(staff_client, study, upload)

    assert made == {"leave_out_faulty": True}
    assert undone == {}
    assert '<option value="True" selected>' in page
    assert Batch.objects.get().import_notes[0]["code"] == "rows_left_out"


@pytest.mark.parametrize(("key", "value"), [("nonsense", "True"), ("leave_out_faulty", "odd")])
def test_choice_that_is_not_offered_changes_nothing(
    staff_client: Client, key: str, value: str
) -> None:
    study = make_study(items=0)
    file = SimpleUploadedFile("a.csv", FAULTY.encode())
    staff_client.post(address("upload-new", study), {"file": file, "pasted": ""})

    staff_client.post(
        address("upload-preview", study, Upload.objects.get().pk), {f"decision-{key}": value}
    )

    assert Upload.objects.get().mapping.options == {}


def test_new_mapping_asks_again_which_rows_are_left_out(staff_client: Client) -> None:
    study = make_study(items=0)
    file = SimpleUploadedFile("a.csv", FAULTY.encode())
    staff_client.post(address("upload-new", study), {"file": file, "pasted": ""})
    upload = Upload.objects.get()
    decide = address("upload-preview", study, upload.pk)
    staff_client.post(decide, {"decision-leave_out_faulty": "True"})

    staff_client.post(address("upload-preview", study, upload.pk), {"column-1": "group"})

    assert Upload.objects.get().mapping.options == {}


# --- the command ----------------------------------------------------------------------------


def test_command_takes_the_same_choices(tmp_path: Any) -> None:
    study, path = make_study(items=0), tmp_path / "a.csv"
    path.write_text(FAULTY.replace("Text 1 of", "hôtel"), "cp1252")

    call_command(
        "import_batch",
        str(study.pk),
        str(path),
        "--encoding=windows-1252",
        "--leave-out-faulty",
    )

    assert {note["code"] for note in Batch.objects.get().import_notes} == {
        "windows_1252", "rows_left_out",
    }  # fmt: skip


@pytest.mark.parametrize("pair", ["output", "output=foo", "words=output"])
def test_mapping_that_can_not_be_is_refused_also_of_a_file_uploaded_earlier(
    tmp_path: Any, pair: str
) -> None:
    study, path = make_study(items=0), tmp_path / "a.csv"
    path.write_text(LONG)
    call_command("import_batch", str(study.pk), str(path))

    with pytest.raises(CommandError, match="--map"):
        call_command("import_batch", str(study.pk), str(path), "--map", pair)

"""Instruments as data: what is refused and why, versions that never change, what is asked."""

import json
from copy import deepcopy
from io import StringIO
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsite.instruments import schema
from evalsite.instruments.checks import read_instrument
from evalsite.instruments.texts import digest_content
from evalsite.studies import instruments
from evalsite.studies.instruments import (
    DraftChanged,
    FaultyInstrument,
    change_draft,
    create_instrument,
    delete_instrument,
    find_faults,
    import_instrument,
    read_file,
    save_version,
    write_file,
)
from evalsite.studies.models import ChangedVersion, Instrument, InstrumentVersion, Item, Study
from evalsite.studies.services import create_study
from evalsite.studies.versions import make_version
from tests.support.factories import make_user
from tests.support.instruments import GALLERY, read_gallery

pytestmark = pytest.mark.django_db

CONTENTS = read_gallery()
FAULTY = sorted((GALLERY / "faulty").glob("*.json"))


# --- files ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_each_faulty_file_is_refused_with_its_code_and_its_place(path: Path):
    code, place = path.stem.partition("_")[2], json.loads(path.read_bytes())["x_fault"]

    with pytest.raises(FaultyInstrument) as refused:
        import_instrument(data=read_file(path.read_bytes()), by=make_user())

    assert (code, place) in {(fault.code, fault.place) for fault in refused.value.faults}
    assert not Instrument.objects.exists()


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"{", b"[" * 100_000, b'{"version": NaN}', b'{"key": "a", "key": "b"}',
     b" " * 500_001, b"[]", b"null", b'"text"'],
    ids=["bytes", "cut", "deep", "nan", "twice", "large", "list", "null", "text"],
)  # fmt: skip
def test_file_that_is_no_instrument_is_refused_in_words(content: bytes):
    with pytest.raises(FaultyInstrument) as refused:
        read_file(content)

    assert refused.value.messages


@pytest.mark.parametrize(
    "content",
    [b'{"x_a": ' + b"[" * 1_000 + b"]" * 1_000 + b"}", b'{"x_a": "' + b"a" * 5_000_000 + b'"}'],
    ids=["1,000 levels", "5 MB"],
)
def test_file_that_is_too_deep_or_too_large_is_refused_before_it_is_built(content, monkeypatch):
    built = []
    monkeypatch.setattr(instruments._DECODER, "decode", built.append)

    with pytest.raises(FaultyInstrument):
        read_file(content)

    assert not built


def _list_places(value: object, place: tuple = ()) -> list[tuple]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list
    ) else ()  # fmt: skip
    return [place] * bool(place) + [
        found for name, part in parts for found in _list_places(part, (*place, name))
    ]


ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**12, "", "x", "\ud800", [], [None], {}, {"a": []}]
)


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_change_of_one_value_is_read_or_refused_but_never_an_error(data: st.DataObject):
    content = deepcopy(data.draw(st.sampled_from(CONTENTS)))
    *way, last = data.draw(st.sampled_from(_list_places(content)))
    holder = content
    for name in way:
        holder = holder[name]
    holder[last] = data.draw(ODD)

    faults = find_faults(content)

    if not faults:
        assert schema.Instrument.model_validate(content).to_data()["criteria"]


@pytest.mark.parametrize("columns", [True, "x", [None], {"sentences": True}, {"sentences": 1.5}])
def test_columns_of_an_example_that_are_none_are_refused(columns: object):
    content = deepcopy(next(one for one in read_gallery() if one["key"] == "factual_checklist"))
    content["practice"][0]["columns"] = columns

    assert "type" in {fault.code for fault in find_faults(content)}


def test_infinity_is_no_number_that_a_file_can_hold():
    content = {**CONTENTS[0], "x_a": [float("inf")]}

    assert [fault.place for fault in find_faults(content)] == ["x_a.0"]


def test_column_of_an_output_may_have_no_label():
    content = deepcopy(next(one for one in read_gallery() if one["key"] == "factual_checklist"))
    [column] = content["item"]["output_columns"]
    del column["label"]

    assert not find_faults(content)
    (read,) = (
        column
        for column in schema.Instrument.model_validate(content).columns
        if column.is_of_output
    )
    assert read.heading == read.name == column["name"]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content["key"])
def test_gallery_is_read_and_written_without_loss(content: dict):
    assert not find_faults(content)
    assert read_instrument(read_instrument(content).to_data()) == read_instrument(content)
    assert read_file(write_file(content).encode()) == content


# --- versions ---------------------------------------------------------------------------


@pytest.mark.both_databases
def test_same_file_again_changes_nothing_and_another_content_is_the_next_version():
    jane, content = make_user(), read_gallery()[0]
    first, is_new = import_instrument(data=content, by=jane)

    again = import_instrument(data=deepcopy(content), by=jane)
    changed, is_changed = import_instrument(data=content | {"title": "Another title"}, by=jane)

    assert is_new
    assert again == (first, False)
    assert is_changed
    assert (first.number, changed.number) == (1, 2)
    assert changed.instrument == first.instrument
    assert first.content == content


def test_file_that_writes_defaults_out_and_uses_old_names_is_the_same_content():
    jane, content = make_user(), next(one for one in read_gallery() if one["key"] == "webnlg")
    first, _ = import_instrument(data=content, by=jane)
    data = deepcopy(content) | {"minutes_per_item": 1, "hooks": {}, "x_page_note": "Read it all."}
    data["practice"][0]["inputs"]["data"] = json.loads(data["practice"][0]["inputs"]["data"])

    version, is_new = import_instrument(data=data, by=jane)

    assert is_new
    assert version.content == content | {"page_note": "Read it all."}
    del data["x_page_note"]
    assert import_instrument(data=data, by=jane) == (first, False)
    assert first.sha256 == digest_content(json.loads(write_file(first.content)))


def test_file_of_somebody_else_becomes_an_instrument_of_ones_own():
    content = read_gallery()[0]
    theirs, _ = import_instrument(data=content, by=make_user("tomas"))

    mine, is_new = import_instrument(data=content, by=make_user())

    assert is_new
    assert mine.instrument != theirs.instrument
    assert list(Instrument.objects.visible_to(make_user())) == [mine.instrument]


@pytest.mark.both_databases
def test_version_never_changes():
    version, _ = import_instrument(data=read_gallery()[0], by=make_user())

    version.title = "Another title"
    with pytest.raises(ChangedVersion):
        version.save()
    with pytest.raises(ChangedVersion):
        InstrumentVersion.objects.update(title="Another title")

    version.refresh_from_db()
    assert version.title == read_gallery()[0]["title"]


def test_drafts_of_two_people_overwrite_nothing_and_become_versions_only_without_fault():
    jane = make_user()
    version, _ = import_instrument(data=read_gallery()[0], by=jane)
    instrument, content = version.instrument, version.content
    faulty, right = content | {"title": ""}, content | {"title": "Mine"}

    opened = instrument.revision
    kept = change_draft(instrument=instrument, draft=faulty, revision=opened, by=jane)
    with pytest.raises(DraftChanged):
        change_draft(instrument=instrument, draft=right, revision=opened, by=jane)
    with pytest.raises(FaultyInstrument):
        save_version(instrument=instrument, revision=kept.revision, by=jane)
    kept = change_draft(instrument=instrument, draft=right, revision=kept.revision, by=jane)
    saved = save_version(instrument=instrument, revision=kept.revision, by=jane)
    again = save_version(instrument=instrument, revision=kept.revision, by=jane)

    assert (saved.number, saved.content["version"]) == (2, 2)
    assert again == saved
    instrument.refresh_from_db()
    assert (instrument.title, instrument.draft) == ("Mine", {})


def test_instrument_is_changed_and_deleted_only_by_those_who_may_and_only_if_unused():
    jane = make_user()
    version, _ = import_instrument(data=read_gallery()[0], by=jane)
    instrument = version.instrument
    Instrument.objects.update(is_visible=True)
    other = make_user("other")

    assert list(Instrument.objects.visible_to(other)) == [instrument]
    with pytest.raises(PermissionDenied):
        change_draft(instrument=instrument, draft={"title": "x"}, revision=0, by=other)
    study = create_study(instrument=version, title="Study", by=jane)
    with pytest.raises(ValidationError, match="Studies use this instrument"):
        delete_instrument(instrument=instrument, by=jane)
    study.delete()
    delete_instrument(instrument=instrument, by=jane)
    assert not Instrument.objects.exists()


# --- in a study -------------------------------------------------------------------------


def test_study_keeps_its_version_whatever_becomes_of_the_instrument():
    jane = make_user()
    version, _ = import_instrument(data=read_gallery()[0], by=jane)
    study = create_study(instrument=version, title="Study", by=jane)
    make_version(study, by=jane)
    labels = [criterion.label for criterion in study.config.criteria]

    changed = deepcopy(version.content)
    changed["criteria"][0]["label"] = "Changed"
    import_instrument(data=changed, by=jane)

    study = Study.objects.get()
    assert [criterion.label for criterion in study.config.criteria] == labels
    assert study.config.to_data() == read_instrument(version.content).to_data()
    assert Item.objects.practice().count() == len(version.content["practice"])


def test_study_in_another_language_asks_what_was_translated():
    jane = make_user()
    content = deepcopy(next(one for one in CONTENTS if len(one["criteria"]) > 1))
    key = content["criteria"][0]["key"]
    content["translations"] = {"de": {f"criteria.{key}.label": "Flüssigkeit"}}
    version, _ = import_instrument(data=content, by=jane)

    study = create_study(instrument=version, title="Studie", by=jane)
    english = study.config.criteria[0].label
    study.language = "de-AT"

    assert english == content["criteria"][0]["label"]
    assert study.config.criteria[0].label == "Flüssigkeit"
    assert study.config.criteria[1].label == content["criteria"][1]["label"]
    assert study.config.language == "de-AT"


def test_command_imports_a_file_and_says_what_is_wrong_with_another():
    make_user(is_superuser=True)
    written = StringIO()

    call_command("import_instrument", GALLERY / "adequacy_fluency.json", stdout=written)
    call_command("import_instrument", GALLERY / "adequacy_fluency.json", stdout=written)
    with pytest.raises(CommandError, match=r"criteria\.helpfulness\.colour is not a key"):
        call_command("import_instrument", GALLERY / "faulty" / "02_unknown_key.json")

    assert "Imported “Translation: adequacy and fluency, version 1”" in written.getvalue()
    assert "Nothing changed" in written.getvalue()
    assert InstrumentVersion.objects.count() == 1


def test_new_instrument_has_an_owner_and_no_version():
    instrument = create_instrument(key="mine", title="Mine", by=make_user(), draft={"title": ""})

    assert instrument.newest is None
    assert [member.role for member in instrument.members.all()] == ["owner"]

"""The README of a bundle says what the bundle holds, and what becomes of it elsewhere."""

import io

import pytest

from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.files.scripts import describe_methods
from evalsite.studies.models import Study
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import bundle_of, close, pack, read_files
from tests.support.factories import launch, make_study, make_user
from tests.support.imported import load, rows_for

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("checks_here"),
]
AS_DRAFT = "This makes a draft without data, with the same items, texts, settings and seed."


def readme_of(bundle: bytes) -> str:
    return read_files(bundle)["README.md"].decode()


def restore(bundle: bytes) -> Study:
    given = {"owner": make_user("new-owner"), "by": "a test", "is_copy": True}
    return restore_bundle(file=io.BytesIO(bundle), **given).study


def make_rated_draft() -> Study:
    """A study that was never launched, with ratings collected elsewhere."""
    study = make_study(items=0, protocol="rrgen", k=2)
    import_rows(study, make_rows(study.config, items=3))
    load(study, rows_for(study, ["w1", "w2"]))
    return study


@pytest.mark.slow
@pytest.mark.parametrize("is_launched", [True, False])
def test_design_alone_is_said_to_become_a_draft_without_data(is_launched):
    study = launch(make_study(items=2)) if is_launched else make_study(items=2)
    bundle = pack(study, has_data=False)

    told = readme_of(bundle)

    assert AS_DRAFT in told
    assert "Its analysis plan is the same, as written at the import." in told
    assert "`analysis.R`" not in told
    assert "with its data" not in told
    assert restore(bundle).state == "draft"


@pytest.mark.slow
def test_readme_says_what_the_scripts_compute_in_the_words_of_the_report():
    readme = readme_of(bundle_of("magnitude"))

    assert describe_methods() in readme
    assert "Rscript analysis.R\npython analysis.py\n" in readme
    assert "--rerun" in readme


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "told"), [("live", "closed"), ("closed", "closed"), ("archived", "archived")]
)
def test_study_that_was_launched_is_said_to_come_back_as_it_does(state, told):
    study = launch(make_study(items=2))
    if state != "live":
        close(study)
        Study.objects.filter(pk=study.pk).update(state=state)
    bundle = pack(study)

    assert f"again on another installation, {told}, with its data:" in readme_of(bundle)
    assert restore(bundle).state == told


@pytest.mark.slow
def test_study_that_was_never_launched_is_said_to_come_back_as_a_draft_with_data():
    bundle = pack(make_rated_draft())

    copy = restore(bundle)

    assert "as a draft, since it was never launched, with its data:" in readme_of(bundle)
    assert (copy.state, copy.ratings_files.count()) == ("draft", 1)


@pytest.mark.parametrize("has_data", [True, False])
def test_readme_names_the_column_with_all_that_was_uploaded_beside_the_texts(has_data):
    files = read_files(pack(launch(make_study(items=2)), has_data=has_data))

    told = files["README.md"].decode()

    assert "other columns of your uploaded files are in `items.csv`, column `extra`" in told
    assert b"extra" in files["data/items.csv"].split(b"\r\n")[0].split(b",")


def test_readme_of_a_bundle_that_ran_still_says_how_to_leave_out_the_data():
    assert "With `--without-data` it makes a draft without data" in readme_of(bundle_of("fluency"))


@pytest.mark.slow
def test_what_was_confirmed_at_an_import_is_in_the_bundle_and_comes_back():
    study = launch(make_study(items=2))
    notes = [{"code": "rows_left_out", "text": "3 faulty rows were left out.", "rows": [[19, 18]]}]
    study.batches.update(import_notes=notes)
    bundle = pack(study)

    copy = restore(bundle)

    assert [batch.import_notes for batch in copy.batches.all()] == [notes]
    assert "3 faulty rows were left out." in readme_of(bundle)


def test_bundle_says_nothing_of_imports_where_nothing_was_confirmed():
    bundle = pack(launch(make_study(items=2)))

    assert b"import_notes" not in read_files(bundle)["study.json"]
    assert "## Imports" not in readme_of(bundle)

"""A report is of one moment: its data, plan, exclusions and fingerprint never disagree."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction

from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.results.models import Report
from evalsite.results.report.computation import compute_report, take_fingerprint, take_snapshot
from evalsite.results.report.files import write_page
from evalsite.studies.models import Item, Study
from evalsite.studies.versions import make_version
from tests.data.files.test_export_cut import meanwhile
from tests.support.factories import answer_item, launch, make_annotator, make_study

pytestmark = pytest.mark.django_db(transaction=True)

REASON = "Slipped"


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    """Two people have answered all three items, a third one two of them."""
    settings.DATA_DIR = tmp_path
    study = launch(make_study(items=3, k=3, set_size=3))
    for score in (90, 110):
        answer(study, 3, score)
    answer(study, 2, 100)
    return study


def answer(study: Study, items: int, score: int) -> None:
    me = make_annotator(study)
    item_set = claim_set(me)
    assert item_set is not None
    for pk in item_set.item_ids[:items]:
        answer_item(me, Item.objects.get(pk=pk), item_set=item_set, score=score)


def exclude_one(study: Study) -> None:
    """Exclude an answer, or take that back."""
    standing = Exclusion.objects.active().filter(study=study)
    if not standing.update(revoked_at=now()):
        first = Annotation.objects.filter(study=study).earliest("pk")
        Exclusion.objects.create(study=study, annotation=first, reason=REASON)


def change_plan(study: Study) -> None:
    AnalysisPlan.objects.update_or_create(
        study=study, defaults={"exclusion_rule": "Too fast", "rule_changed_at": now()}
    )


def rate_again(study: Study) -> None:
    """Give another score to an item of a set that is still open."""
    last = Annotation.objects.filter(study=study).latest("pk")
    score = last.ratings.earliest("pk").value + 1
    answer_item(last.participant, last.item, item_set=last.item_set, score=score)


def change_all(study: Study) -> None:
    """Everything that a report is made of changes in one transaction."""
    with transaction.atomic():
        exclude_one(study)
        change_plan(study)
        rate_again(study)


@contextmanager
def changing_before(is_due: Callable[[int, str], bool], change: Callable[[], Any]) -> Iterator[Any]:
    """Commit the change on another connection before the first statement for which it is due."""
    statements: list[str] = []
    changed: list[bool] = []

    def wrap(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not changed and is_due(len(statements), sql):
            changed.append(True)
            meanwhile(change)
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrap):
        yield statements


def never(number: int, sql: str) -> bool:
    return False


def read_all(study: Study, folder: Path) -> tuple[Any, ...]:
    """Everything that a report is made of, but not when it was read."""
    folder.mkdir()
    snapshot = take_snapshot(study, folder)
    files = {name: path.read_bytes() for name, path in snapshot.paths.items()}
    return snapshot.fingerprint, snapshot.plan, snapshot.exclusions, files


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.torture)])
def test_snapshot_is_of_before_or_after_a_change_whenever_that_happens(
    study: Study, tmp_path: Path, step: int
) -> None:
    with changing_before(never, lambda: None) as statements:
        before = read_all(study, tmp_path / "before")
    for number in range(0, len(statements), step):
        with changing_before(lambda n, sql, at=number: n == at, lambda: change_all(study)):
            found = read_all(study, tmp_path / f"at-{number}")
        after = read_all(study, tmp_path / f"after-{number}")
        assert before != after
        assert found in (before, after)
        before = after


@pytest.mark.slow
def test_fingerprint_and_plan_of_a_report_are_those_of_its_data(study: Study) -> None:
    before = take_fingerprint(study)

    with changing_before(reads_ratings, lambda: change_all(study)):
        report = compute_report(study)

    assert take_fingerprint(study) != before
    assert report.fingerprint == before
    assert report.content["plan"]["exclusion_rule"] == ""
    assert report.content["exclusions"] == []
    assert report.content["kept"]["data"]["left_out"]["excluded"] == 0


@pytest.mark.slow
def test_exclusion_made_while_a_report_is_computed_is_not_in_part_of_it(study: Study) -> None:
    calls: list[int] = []

    def progress(done: int, total: int) -> None:
        if not calls:
            meanwhile(lambda: exclude_one(study))
        calls.append(done)

    report = compute_report(study, progress=progress)

    assert calls
    assert Exclusion.objects.active().count() == 1
    assert report.content["exclusions"] == []
    assert report.content["kept"]["data"]["left_out"]["excluded"] == 0


def reads_ratings(number: int, sql: str) -> bool:
    return "annotation_rating" in sql and "annotation_ratingsfile" not in sql


@pytest.mark.torture
@pytest.mark.slow
def test_report_keeps_its_moment_when_it_is_asked_for_again(study: Study) -> None:
    first = compute_report(study)
    exclude_one(study)
    second = compute_report(study)
    Exclusion.objects.all().delete()

    again = compute_report(study)

    assert again == first != second
    assert list(Report.objects.filter(study=study)) == [first, second]
    assert again.made_at == first.made_at < second.made_at
    assert Report.objects.get(pk=first.pk).made_at == first.made_at


@pytest.mark.slow
def test_page_of_a_report_tells_its_version_and_software_not_the_newest(study: Study) -> None:
    report = compute_report(study)
    report.content["software"] = "0.0.1"
    Study.objects.filter(pk=study.pk).update(organisation="Another lab")
    study.refresh_from_db()
    Study.objects.filter(pk=study.pk).update(version=make_version(study, by=None))
    study.refresh_from_db()

    page = write_page(study, report)

    assert "Evalsite 0.0.1" in page
    assert "those of version 1." in page
    assert "Another lab" not in page


# --- a command and a job at once --------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.slow
def test_report_computed_twice_at_once_is_kept_once(study: Study) -> None:
    others: list[Report] = []

    def progress(done: int, total: int) -> None:
        if not others:
            others.append(None)  # type: ignore[arg-type]
            meanwhile(lambda: others.append(compute_report(study)))

    report = compute_report(study, progress=progress)

    assert report == others[1] == Report.objects.get()
    assert {path.name for path in report.folder.parent.iterdir()} == {str(report.pk)}
    assert list(report.folder.iterdir())


@pytest.mark.slow
@pytest.mark.both_databases
def test_report_that_could_not_be_computed_leaves_no_files(study: Study) -> None:
    def progress(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_report(study, progress=progress)

    assert not Report.objects.exists()
    folder = settings.DATA_DIR / "reports"
    assert not folder.exists() or not list(folder.iterdir())

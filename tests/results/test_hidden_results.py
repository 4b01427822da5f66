"""While systems are hidden, no page and no file names one beside ratings."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.admin import collect_study_views
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.files.jobs import start_export
from evalsite.data.files.services import Choice
from evalsite.data.models import Judge, JudgeFile, JudgeLabel
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import PlanEvent
from evalsite.handout.models import TOP_UP_ACTION, Rating
from evalsite.lib.clock import now
from evalsite.participation.held_items import list_shuffled_outputs
from evalsite.results.models import Report
from evalsite.results.report.computation import KIND, Look, find_first_look
from evalsite.results.report.downloads import FILES as REPORT_FILES
from evalsite.results.report.files import read_document
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, url
from tests.support.factories import make_user
from tests.support.lasting import lasting_rows
from tests.support.planned import ONE_POINT, SCORES, add_person, make_planned_study
from tests.support.reports import keep_report

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
FILES = ("items", "participants", "ratings", "ratings_simple", "annotations", "comments",
         "metrics", "judge_labels")  # fmt: skip
# pages that only a post opens, and that send or show something
SENT = ("export-file", "export-workbook", "export-ready", "export-bundle-file")


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest) -> Iterator[Study]:
    """Three people, one of them excluded, a report, a large file and a bundle."""
    with lasting_rows(request):
        yield make()


@pytest.fixture
def study(made: Study, db: None) -> Study:
    """The study that was made once for all tests, each of which may change it for itself."""
    return Study.objects.get(pk=made.pk)


def make() -> Study:
    study = make_planned_study(rules=[ONE_POINT])
    # people name items after systems
    for item, name in zip(study.items.main(), SCORES, strict=True):
        item.key = f"dialogue 1-{name}"
        item.save()
    people = [add_person(study, note="Hm.") for _ in range(3)]
    exclude(study=study, participants=people[:1], reason="Came twice", by=make_user())
    # a judge that says of each system what people say
    file = JudgeFile.objects.create(study=study, file_name="labels.csv", sha256="0" * 64)
    judge = Judge.objects.create(study=study, name="judge-a")
    JudgeLabel.objects.bulk_create(
        JudgeLabel(
            file=file, judge=judge, criterion="informativeness", item_key=item.key, system=name,
            value=score, reason=f"{name}: {score}",
        )
        for item in study.items.main() for name, score in SCORES.items()
    )  # fmt: skip
    keep_report(study, systems=tuple(SCORES)[:2])
    run_job(start_export(study, Choice(file="ratings"), by=make_user()))
    run_job(start_packing(study, Contents(), by=make_user()))
    return study


def list_addresses(study: Study, *, sent: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The addresses of all pages of the study, with what each parameter can be."""
    jobs = {job.kind: job.pk for job in Job.objects.filter(study_id=study.pk)}
    known: dict[str, list[Any]] = {
        "report_id": [Report.objects.get().pk],
        "part": ["informativeness", "raters"],
        "name": [*REPORT_FILES, "appendix", "ethics", "informativeness-systems", "systems"],
        "kind": ["html", "tex", "py", "csv"],
        "key": ["informativeness"],
        "pseudonym": list(study.participants.values_list("pseudonym", flat=True)),
        "file": list(FILES),
        "item_id": [item.pk for item in study.items.main()[:1]],
        "judge_id": [judge.pk for judge in study.judges.all()],
        "file_id": [file.pk for file in study.judge_files.all()],
        "exclusion_id": [exclusion.pk for exclusion in study.exclusions.all()],
    }
    for view in collect_study_views():
        if (view.name in SENT) != sent:
            continue
        names = PARAMETER.findall(view.path)
        job = {"export-ready": "export", "export-bundle-file": "bundle"}.get(view.name)
        values = known | {"job_id": [jobs.get(job, uuid4())]}
        for chosen in product(*(values.get(name, [1]) for name in names)):
            address = view.path
            for value in chosen:
                address = PARAMETER.sub(str(value), address, count=1)
            yield f"/admin/studies/{study.pk}/{address}", {}
    if not sent:
        for answer in study.annotations.all()[:2]:
            yield f"{url('study-exclude', study)}?annotation={answer.key}", {}
        for query in list_queries(study):
            for name in ("results-comments", "results-items"):
                yield f"{url(name, study)}?{query}", {}
            if query.startswith("order"):  # words that are looked for stand in links
                item = study.items.main()[0]
                yield f"{reverse('admin:results-item', args=[study.pk, item.pk])}?{query}", {}


def list_queries(study: Study) -> Iterator[str]:
    """What can be asked of the pages of comments and items, and what can't while hidden."""
    for order in ("difference", "-difference", "item", "comments", "person", "time"):
        yield f"order={order}&people=everyone"
    for system in study.systems.all():
        yield f"answer=s{system.pk}&people=everyone"
        yield f"q={system.name}"


def read_all(client: Client, study: Study, *, sent: bool) -> Iterator[tuple[str, tuple[int, str]]]:
    for address, _ in list_addresses(study, sent=sent):
        answer = (client.post if sent else client.get)(address)
        content = answer.getvalue() if answer.streaming else answer.content
        yield address, (answer.status_code, content.decode("utf-8", errors="replace"))


def names_systems_beside_ratings(text: str) -> bool:
    has_scores = any(str(one) in text or f"{one:,}" in text for one in SCORES.values())
    # the scores that a made-up report gives to systems
    has_scores |= "105.0" in text or "1.50" in text
    return has_scores and any(re.search(rf"\b{name}\b", text) for name in SCORES)


@pytest.mark.slow
def test_no_page_and_no_file_names_a_system_beside_ratings(study):
    owner = Client()
    owner.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")

    pages = {**dict(read_all(owner, study, sent=False)), **dict(read_all(owner, study, sent=True))}
    revealing = {
        address: (code, text)
        for address, (code, text) in pages.items()
        if code < 300 and names_systems_beside_ratings(text)
    }

    assert set(revealing) == set()
    assert not [address for address, (code, _) in pages.items() if code >= 500]
    assert len(pages) > 60
    # ratings are somewhere, so the test would see them
    assert any("7919" in text for _, text in pages.values())
    # and once revealed, systems stand beside them
    PlanEvent.objects.create(study=study, kind="revealed", answers=9)
    opened = read_all(owner, study, sent=True)
    assert any(names_systems_beside_ratings(text) for _, (_, text) in opened)


def test_asking_for_results_leads_to_the_form_which_only_owners_have(study, staff_client):
    asked = [
        staff_client.get(f"/admin/studies/{study.pk}/files/report/report.html"),
        staff_client.post(f"{url('study-export', study)}ratings_simple.csv"),
    ]
    page = staff_client.get(url("study-results", study)).text
    viewer = member(study, "viewer").get(url("study-results", study)).text

    assert {one.url for one in asked} == {f"{url('study-results', study)}#reveal"}
    assert "Results stay hidden until the study closes" in page
    assert "Reveal results now" in page
    assert "Reveal results now" not in viewer


def test_ratings_without_systems_have_numbers_of_this_download_and_no_texts(study, staff_client):
    address = f"{url('study-export', study)}ratings.csv"

    first, second = (staff_client.post(address).content.decode() for _ in range(2))

    assert first.count("\n") == 1 + Rating.objects.count()
    assert "7919" in first
    assert "Place" not in first
    assert "item-0" not in first
    numbers = [{line.split(",")[2] for line in text.splitlines()[1:]} for text in (first, second)]
    assert numbers == [{str(number) for number in range(1, 10)}] * 2


@pytest.mark.parametrize("name", ["ratings", "annotations"])
def test_files_given_out_while_hidden_have_no_number_that_joins_with_the_items(
    study, staff_client, name
):
    hidden = staff_client.post(f"{url('study-export', study)}{name}.csv").content.decode()
    PlanEvent.objects.create(study=study, kind="revealed", answers=9)
    opened = staff_client.post(f"{url('study-export', study)}{name}.csv")

    own = {"item_no", "group_no"}
    assert not own & set(hidden.splitlines()[0].split(","))
    header = b"".join(opened.streaming_content).decode().splitlines()[0]
    assert own <= set(header.split(","))


def test_one_post_reveals_and_the_report_says_so(study, staff_client):
    page = staff_client.post(
        url("study-results-reveal", study), {"reason": "A talk"}, follow=True
    ).text

    assert "Results are revealed." in page
    assert PlanEvent.objects.get(kind="revealed").reason == "A talk"
    question = reverse("admin:results-question", args=[study.pk, "informativeness"])
    assert "1.50 times" in staff_client.get(question).text


@pytest.mark.slow
def test_a_command_is_not_barred_but_kept_as_a_reveal(study, capsys):
    call_command("analyse", str(study.pk), json=True)

    event = PlanEvent.objects.get(kind="revealed")
    assert (event.reason, event.by) == ("the command analyse", None)
    assert "baseline" in capsys.readouterr().out


def test_comparing_with_a_hidden_study_by_command_reveals_that_one_too(study, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    other = make_planned_study(title="Again")
    add_person(other)

    call_command("analyse", str(other.pk), against=str(study.pk), output=tmp_path / "both.txt")

    assert set(PlanEvent.objects.values_list("study", flat=True)) == {study.pk, other.pk}


def test_held_items_are_read_without_systems_in_an_order_of_their_own(study, staff_client):
    items = list(study.items.main())
    study.items.filter(pk__in=[item.pk for item in items]).update(held_at=now())

    page = staff_client.get(url("study-held", study)).text

    assert not any(re.search(rf"Output of.*{name}", page) for name in SCORES)
    orders = {tuple(list_shuffled_outputs(study, item)) for item in items}
    written = {tuple(item.outputs.values_list("text", flat=True)) for item in items}
    assert orders != written


def test_computing_while_hidden_is_no_look_and_revealing_is_one(study, staff_client):
    Job.objects.create(kind=KIND, study_id=study.pk, state="done", finished_at=now())
    before = find_first_look(study)
    staff_client.post(url("study-results-reveal", study), {})
    AuditEntry.objects.record(TOP_UP_ACTION, by=None, study_id=study.pk, items=2, slots=4)

    look = find_first_look(study)

    assert before is None
    event = PlanEvent.objects.get(kind="revealed")
    assert look == Look(at=event.at, answers=9, asked_later=4, is_revealed=True)
    report = Report.objects.get()
    report.content["collection"] = {"done": 12, "target": 15, "look": look.to_data()}
    told = {getattr(block, "code", ""): block for block in read_document(study, report).blocks}
    assert "with 9 of 15 answers in. 4 answers were asked for after that." in told["looked"].text


@pytest.mark.both_databases
def test_raw_records_leave_out_ratings_of_hidden_studies(study, client):
    client.force_login(
        make_user("root", is_superuser=True), backend="django.contrib.auth.backends.ModelBackend"
    )
    rating = Rating.objects.first()

    hidden = client.get("/admin/annotation/rating/").text
    one = client.get(f"/admin/annotation/rating/{rating.pk}/change/")
    PlanEvent.objects.create(study=study, kind="revealed", answers=9)
    shown = client.get("/admin/annotation/rating/").text

    assert "7919" not in hidden
    assert one.status_code == 404
    assert "7919" in shown

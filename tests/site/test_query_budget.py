"""Each page of a study asks the database at most 15 times, for 2 rows as for more."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from evalsite.admin import collect_study_views
from evalsite.core.accounts import sessions
from evalsite.core.jobs.models import Job
from evalsite.data.files.file_counts import store_counts
from evalsite.data.models import Judge
from evalsite.data.uploads import keep_upload
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.frozen_plans import reveal_results
from evalsite.decisions.models import Approval, Note
from evalsite.decisions.people_figures import store_figures
from evalsite.handout.models import Annotation, RatingsFile, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, PilotComment, Visit
from evalsite.results.models import Report
from evalsite.studies.members import invite_colleague
from evalsite.studies.models import Item, Membership, Study, TeamRole
from tests.site.test_roles import PARAMETER
from tests.site.test_staff_pages import sign_in
from tests.support.experts import invite
from tests.support.factories import add_batch, make_annotator, make_study, make_user
from tests.support.imported import load, rows_for
from tests.support.planned import (
    AT_LEAST_TWO,
    ONE_POINT,
    add_people,
    add_person,
    make_planned_study,
)
from tests.support.reports import keep_report
from tests.support.rounds import make_round
from tests.support.uploads import GOOD

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MOST = 15
# How the names of pages begin that show something else in this state.
STARTS = {
    "hidden": (
        "study-results",
        "results-raters",
        "results-design",
        "study-overview",
        "study-person",
        "study-exclusions",
    ),
    "shown": "",
    "draft": ("setup-", "study-setup", "study-launch", "study-pilot", "study-overview", "batch-"),
}
# everything about one person: one look at a time
MOST_OF = {f"study-person, {state}": 33 for state in ("hidden", "shown", "draft")}


def fill_study(study: Study, rows: int) -> dict[str, object]:
    """Give the study this many rows of each kind; return what addresses of its pages ask for."""
    jane = Membership.objects.filter(study=study).first().user
    add_batch(study, items=rows, first=1000)
    parts: dict[str, object] = {}
    # 30 answers of each of 200 people pass any portion in which answers are read
    people = add_people(study, rows - 1, items=30)
    for number, me in enumerate([*people, add_person(study)]):
        item_set = ItemSet.objects.create(
            study=study, participant=me, number=1, code=f"CODE-{number:04}", finished_at=now()
        )
        parts["approval_id"] = Approval.objects.create(
            study=study, item_set=item_set, state="review", reason="effort", message="No.",
            review_asked_at=now(), review_due_at=now(), decided_at=now(),
        ).pk  # fmt: skip
        parts["pseudonym"] = me.pseudonym
        parts["note_id"] = Note.objects.create(
            study=study, participant=me, text="Hm", author=jane
        ).pk
        item = study.items.main()[number % 2]
        Note.objects.create(study=study, item=item, text="Hm", author=jane)
        if number % 2:
            [exclusion] = exclude(study=study, participants=[me], reason="Too fast", by=None)
            parts["exclusion_id"] = exclusion.pk
        parts["invitation_id"] = invite_colleague(
            study=study, key=uuid4(), role=TeamRole.OWNER, by=jane
        ).pk
        member = make_user(f"member-{study.pk}-{number}")
        parts["member_id"] = Membership.objects.create(study=study, user=member, role="editor").pk
        tester = make_annotator(study, is_pilot=True)
        parts["comment_id"] = PilotComment.objects.create(
            study=study, participant=tester, kind="text", subject="consent", text="Why?"
        ).pk
        make_round(study, "panel", places=5)
        held = study.items.main().last()
        Item.objects.filter(pk=held.pk).update(held_at=now())
    file = load(study, rows_for(study, ["w1"], study.items.main()[:2]))
    RatingsFile.objects.bulk_create(
        RatingsFile(study=study, file_name="w.csv", sha256=f"{n:064}", rows=6, has_persons=True)
        for n in range(rows)
    )
    Report.objects.bulk_create(
        Report(study=study, fingerprint=f"{n}", sha256="5" * 64, content={}) for n in range(rows)
    )
    parts["person_id"] = invite(study, *(f"Ana{n} Costa" for n in range(rows)), by=jane)[0].pk
    parts["report_id"] = keep_report(study).pk
    parts["upload_id"] = keep_upload(
        study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None
    ).pk
    parts["job_id"] = Job.objects.create(
        kind="bundle", study_id=study.pk, params={"has_data": True, "has_free_text": False}
    ).pk
    store_figures(study)
    parts["batch_id"] = study.batches.first().pk
    parts["item_id"] = study.items.main()[0].pk
    parts["judge_id"] = Judge.objects.create(study=study, name="judge-a").pk
    parts["system_id"] = study.systems.all()[0].pk
    return parts | {
        "file_id": file.pk,
        "file": "ratings",
        "part": "raters",
        "name": "appendix",
        "kind": "html",
        "key": "informativeness",
        "platform": "panel",
        "number": 1,
        "time": rows,
    }


def count_queries(
    client: Client, study: Study, parts: dict[str, object], known: set[str]
) -> dict[str, int]:
    """Count the queries of each of these pages that is shown, by its name."""
    counts = {}
    for page in collect_study_views():
        if page.name not in known:
            continue
        captured = [parts[name] for name in PARAMETER.findall(page.path)]
        address = reverse(f"admin:{page.name}", args=[study.pk, *captured])
        asked = 0

        def count(execute: Any, *query: Any) -> Any:
            nonlocal asked
            asked += 1
            return execute(*query)

        # on SQLite Django asks the database how each query is written, if it shall keep them
        with connection.execute_wrapper(count):
            response = client.get(address)
        if response.status_code == 200 and "text/html" in response["Content-Type"]:
            counts[page.name] = asked
    return counts


def reveal(study: Study) -> None:
    reveal_results(study=study, by=study.memberships.first().user)


def take_back_launch(study: Study) -> None:
    study.plan_versions.all().delete()
    study.plan_events.all().delete()
    # nobody is let into a draft: its answers are imported
    Annotation.objects.filter(study=study).exclude(origin="imported").delete()
    Slot.objects.filter(study=study, annotation=None).delete()
    ItemSet.objects.filter(study=study).delete()
    Study.objects.filter(pk=study.pk).update(state="draft", version=None, launched_at=None)


@pytest.mark.parametrize(
    "is_whole", [False, pytest.param(True, marks=pytest.mark.torture)], ids=["suite", "whole"]
)
def test_every_page_of_a_study_takes_few_queries_however_many_rows_it_has(is_whole, monkeypatch):
    """The suite looks at drafts and at hidden results only where pages differ most by them."""
    # that a session is in use is noted once a minute, by whichever page comes then
    monkeypatch.setattr(sessions, "_SEEN_EVERY", timedelta(days=1))
    names = {page.name for page in collect_study_views()}
    make_study(items=1, title="An earlier one")
    counts: list[dict[str, int]] = []
    for rows in (2, 200):
        study = make_planned_study(
            rules=[AT_LEAST_TWO, ONE_POINT], title=f"Of {rows}", pay_per_set="2.00"
        )
        client = sign_in(study.memberships.first().user)
        parts = fill_study(study, rows)
        client.get(reverse("admin:study-overview", args=[study.pk]))
        # as the worker does within a minute
        store_counts(study)
        found = {}
        for state, change in (
            ("hidden", lambda study: None),
            ("shown", reveal),
            ("draft", take_back_launch),
        ):
            change(study)
            # the first look has the results computed
            client.get(reverse("admin:study-results", args=[study.pk]))
            starts = "" if is_whole else STARTS[state]
            known = {name for name in names if name.startswith(starts)}
            if counts:
                known &= {name.removesuffix(f", {state}") for name in counts[0]}
            asked = count_queries(client, study, parts, known)
            found |= {f"{name}, {state}": n for name, n in asked.items()}
        counts.append(found)

    few, many = counts
    assert len(few) > (140 if is_whole else 70)
    assert {name: n for name, n in few.items() if n > MOST_OF.get(name, MOST)} == {}
    assert {name: (n, many.get(name)) for name, n in few.items() if many.get(name) != n} == {}


def test_results_of_few_answers_take_few_queries():
    """Below ten answers no results are computed, and Design counts its places itself."""
    study = make_planned_study(rules=[AT_LEAST_TWO])
    client = sign_in(study.memberships.first().user)
    add_person(study)
    parts = {"key": "informativeness", "item_id": study.items.main()[0].pk}
    names = {
        page.name
        for page in collect_study_views()
        if page.path.startswith("results/") and set(PARAMETER.findall(page.path)) <= parts.keys()
    }

    counts = count_queries(client, study, parts, names)
    assert "results-design" in counts
    assert {name: n for name, n in counts.items() if n > MOST} == {}


def test_people_of_paid_rounds_take_few_queries_too():
    study = make_study(items=0, protocol="rrgen")
    client = sign_in(study.memberships.first().user)
    round_of_ten = make_round(study, "prolific", is_on=False)
    for number in range(3):
        me = make_annotator(study)
        Visit.objects.create(study=study, recruitment=round_of_ten, participant=me)
        ItemSet.objects.create(
            study=study, participant=me, number=1, code=f"CODE-{number:04}", finished_at=now()
        )
    exclude(study=study, participants=[me], reason="Too fast", by=None)
    keep_report(study)
    store_figures(study)

    parts = {"pseudonym": me.pseudonym}
    assert count_queries(client, study, parts, {"study-people"})["study-people"] <= MOST
    assert "1 waiting" in client.get(reverse("admin:study-people", args=[study.pk])).text

"""Who may do what: each page of a study, for each kind of person, by GET and by POST.

The tables below are the contract. A new page fails here until it has a row.
"""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.template import Template
from django.test import Client
from django.urls import reverse

from evalsite.admin import collect_study_views
from evalsite.core.jobs.models import Job
from evalsite.data.models import Judge
from evalsite.data.uploads import keep_upload
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import Approval, Note
from evalsite.handout.models import RatingsFile
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, PilotComment
from evalsite.studies.members import invite_colleague
from evalsite.studies.models import Membership, Study, TeamRole
from tests.site.test_staff_pages import sign_in
from tests.support.experts import invite
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user
from tests.support.imported import load, rows_for
from tests.support.reports import keep_report
from tests.support.uploads import GOOD

pytestmark = pytest.mark.django_db

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
ALL, EDITORS, OWNERS = TeamRole.VIEWER, TeamRole.EDITOR, TeamRole.OWNER

# Pages to read, and from which role on. Whoever may post to one does so under another name, unless
# the page is in BOTH as well.
READ = {
    ALL: [
        "study-overview", "study-progress", "study-item", "results-design", "study-people",
        "study-person", "study-setup",
        "study-exclusions", "study-results", "setup-plan", "study-flag-limits",
        "study-planner",
        "study-repeat", "study-team", "batch-list", "batch-template", "ratings-list",
        "results-judges", "judge-differences", "judge-certificate",
        "metrics-template", "metrics-missing", "study-export", "export-codebook",
        "export-codebook-csv", "export-script", "export-bundle", "export-anonymous",
        "export-public", "export-dataset", "export-instrument", "export-scores-script",
        "files-all", "report-file",
        "results-question", "results-question-table", "results-raters", "study-document",
        "results-items", "results-item", "results-comments", "study-plan-data",
        "study-repeat-report",
        "study-repeat-table",
    ],
    EDITORS: [
        "study-places-kept",
        "study-places-unanswered", "study-invite", "study-panel", "study-panel-again",
        "invited-change", "study-pay", "pay-table", "pay-review", "pay-decide",
        "people-stop", "people-note", "people-message", "people-pay",
        "setup-read", "setup-work", "setup-quality",
        "setup-preview", "study-instrument", "check-new",
        "study-pilot", "study-launch", "study-held",
        "item-withdraw", "item-put-back",
        "study-questions", "study-question", "study-quotas", "study-earlier",
        "background-question", "check-question", "study-example",
        "study-answers", "study-exclude", "batch-open-confirm", "batch-undo-confirm",
        "upload-new", "upload-preview", "upload-faults", "ratings-undo-confirm",
        "results-file-undo-confirm", "judge-about", "study-about",
    ],
    OWNERS: [
        "study-close-confirm", "study-rules", "output-correct", "system-rename",
        "study-delete-confirm", "study-hand-over", "team-invitation",
        "study-member", "person-erase",
    ],
}  # fmt: skip
# What is done by a post, and from which role on.
POST = {
    ALL: [
        "export-file", "export-workbook", "export-ready",
        "export-bundle", "export-bundle-file", "export-anonymous", "export-public",
        "export-dataset", "export-scores",
        "member-remove",
    ],
    EDITORS: [
        "study-places-take-back", "export-identities", "study-panel", "study-panel-again",
        "export-answers", "study-questions", "study-question", "study-quotas", "study-earlier",
        "block-list", "background-question", "check-question", "study-example",
        "study-invite", "study-open-link", "invited-act", "invited-links", "invited-change",
        "round-pay", "round-pay-file", "round-pay-mark", "pay-decide", "pay-review", "pay-export",
        "people-stop", "people-message",
        "setup-read", "setup-work", "setup-quality",
        "check-new", "check-delete", "study-pilot-link", "study-pilot-use",
        "pilot-comment-settle",
        "study-pilot-take", "study-launch-offer", "study-pause", "study-resume",
        "study-joining", "study-unanswered-take-back",
        "study-top-up", "study-answers-change", "study-places-again", "batch-open", "item-release",
        "people-note", "note-delete", "item-note", "item-withdraw", "item-put-back",
        "study-exclude", "exclusions-take-back",
        "study-results-compute", "study-repeat-choose",
        "study-planner", "study-plan-keep",
        "upload-new", "upload-preview", "upload-correct", "upload-cancel", "upload-import",
        "batch-undo", "ratings-undo", "results-file-undo", "metrics-take", "judge-about",
        "systems-rename", "options-change", "job-restart", "study-instrument", "team-note",
        "study-about",
    ],
    OWNERS: [
        "study-rules", "study-results-reveal", "output-correct", "system-rename",
        "study-launch-start", "study-launch-again", "study-close", "study-archive",
        "study-unarchive", "study-delete", "setup-plan", "study-flag-limits",
        "study-hand-over",
        "team-invite", "invitation-renew", "invitation-revoke", "member-role", "person-erase",
    ],
}  # fmt: skip
# What a member may do for themselves only; for others it takes an owner.
OWN = {("get", "study-member"), ("post", "member-remove")}
# What takes more than the role: identities.
IDENTITIES = {
    ("post", "export-bundle-file"), ("post", "export-identities"),
    ("post", "export-answers"),
    ("post", "round-pay"), ("post", "round-pay-file"), ("post", "round-pay-mark"),
    ("post", "pay-decide"), ("get", "pay-decide"), ("post", "pay-review"), ("get", "pay-review"),
    ("post", "invited-links"), ("get", "people-message"), ("post", "people-message"),
}  # fmt: skip
ALLOWED = (200, 302, 303, 404, 409, 410, 422)  # the role is enough; the rest is the page's own
# Parameters that name a row of the study.
OF_A_ROW = {
    "batch_id", "item_id", "upload_id", "file_id", "job_id", "report_id", "pseudonym",
    "exclusion_id", "member_id", "invitation_id", "person_id",
    "approval_id", "note_id", "comment_id", "system_id", "judge_id",
}  # fmt: skip
KINDS = (
    OWNERS,
    "anonymous",
    "stranger",
    ALL,
    EDITORS,
    TeamRole.EDITOR_WITH_IDENTITIES,
    "administrator",
)


@pytest.fixture
def study() -> Study:
    """A launched study with a row of each kind, so that every address leads somewhere."""
    study = launch(make_study(items=2))
    answer_item(make_annotator(study), study.items.main()[0])
    return study


def find_parts(study: Study) -> dict[str, Any]:
    """What the addresses of the study's pages ask for, by parameter."""
    jane = User.objects.get(username="jane")
    person = study.participants.order_by("pk")[0]
    [exclusion] = exclude(study=study, participants=[person], reason="Too fast", by=None)
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    bundle = Job.objects.create(
        kind="bundle", study_id=study.pk, params={"has_data": True, "has_free_text": False}
    )
    invited = invite_colleague(study=study, key=uuid4(), role=TeamRole.OWNER, by=jane)
    return {
        "batch_id": study.batches.get().pk,
        "item_id": study.items.main()[0].pk,
        "system_id": study.systems.all()[0].pk,
        "upload_id": upload.pk,
        "file_id": load(study, rows_for(study)).pk,
        "job_id": bundle.pk,
        "report_id": keep_report(study).pk,
        "file": "ratings",
        "pseudonym": person.pseudonym,
        "exclusion_id": exclusion.pk,
        "note_id": Note.objects.create(study=study, participant=person, text="Hm", author=jane).pk,
        "part": "raters",
        "name": "informativeness-systems",
        "kind": "svg",
        "number": 0,
        "key": "variety",
        "member_id": Membership.objects.get(study=study, user=jane).pk,
        "invitation_id": invited.pk,
        "approval_id": _ask_for_review(study).pk,
        "comment_id": PilotComment.objects.create(
            study=study, participant=person, kind="text", subject="consent", text="Why?"
        ).pk,
        "judge_id": Judge.objects.create(study=study, name="judge-a").pk,
        "platform": "prolific",
        "time": 1,
        "person_id": invite(study, "Ana Costa", by=jane)[0].pk,
    }


def _ask_for_review(study: Study) -> Approval:
    item_set = ItemSet.objects.create(
        study=study, participant=make_annotator(study), number=1, finished_at=now()
    )
    return Approval.objects.create(
        study=study, item_set=item_set, state="review", reason="effort", message="No.",
        review_asked_at=now(), review_due_at=now(), decided_at=now(),
    )  # fmt: skip


def client_of(kind: str, study: Study) -> Client:
    if kind == "anonymous":
        return Client()
    if kind == "administrator":
        return sign_in(make_user(kind, is_superuser=True))
    user = make_user(f"{kind}-person")
    if kind != "stranger":
        Membership.objects.create(study=study, user=user, **TeamRole(kind).columns)
    return sign_in(user)


def find_least(method: str, name: str) -> TeamRole | None:
    """The least role that may use a page this way; None where the page has no such way."""
    if (method, name) in OWN:
        return OWNERS
    if (method, name) in IDENTITIES:
        return TeamRole.EDITOR_WITH_IDENTITIES
    table = READ if method == "get" else POST
    return next((role for role, names in table.items() if name in names), None)


def is_at_the_edge(kind: str, method: str, name: str) -> bool:
    """Whether this kind is refused, or is the first that is not.

    People who haven't signed in open nothing, and test_query_budget opens all pages as an owner.
    Those between a page's least role and an owner differ from both by their rank alone.
    """
    least = find_least(method, name)
    if kind == "anonymous":
        return True
    if least is None:
        return False
    if kind == "administrator":
        return least.rank >= TeamRole.EDITOR_WITH_IDENTITIES.rank
    return kind == "stranger" or TeamRole(kind).rank <= least.rank


def expect(kind: str, method: str, name: str) -> str:
    """The outcome that the tables promise."""
    if kind == "anonymous":
        return "sign in"
    if kind == "stranger":
        return "not found"
    rank = len(TeamRole) if kind == "administrator" else TeamRole(kind).rank
    least = find_least(method, name)
    if least is not None:
        return "allowed" if rank >= least.rank else "refused"
    # not a way to use this page: refused to whoever may not open it the other way
    other = POST if method == "get" else READ
    needed = next(role for role, names in other.items() if name in names)
    is_own = name in {page for _, page in OWN}
    return "wrong method" if is_own or rank >= needed.rank else "refused"


def describe(response: Any, study: Study) -> str:
    if response.status_code == 302 and "/login/" in response["Location"]:
        return "sign in"
    if response.status_code in (403, 404, 405):
        outcomes = {403: "refused", 404: "not found", 405: "wrong method"}
        return outcomes[response.status_code]
    return "allowed" if response.status_code in ALLOWED else str(response.status_code)


def ask(client: Client, method: str, address: str) -> Any:
    """The answer, with everything that it changed undone."""
    with transaction.atomic():
        response = getattr(client, method)(address)
        if response.streaming:
            response.getvalue()
        transaction.set_rollback(True)
    return response


def list_names(table: dict[TeamRole, list[str]]) -> Iterator[str]:
    for names in table.values():
        yield from names


def test_tables_name_every_page_of_a_study_once():
    pages = {page.name for page in collect_study_views()}

    assert set(list_names(READ)) | set(list_names(POST)) == pages
    for table in (READ, POST):
        names = list(list_names(table))
        assert len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "is_whole"),
    [
        *((kind, False) for kind in KINDS),
        *(pytest.param(kind, True, marks=[pytest.mark.torture]) for kind in KINDS),
    ],
)
def test_page_answers_each_kind_of_person_as_the_tables_say(study, kind, is_whole, monkeypatch):
    """The suite asks for each kind what it is just refused or just allowed."""
    parts = find_parts(study)
    if not is_whole:
        # who may open a page is asked here; test_query_budget looks at each as an owner sees it
        monkeypatch.setattr(Template, "_render", lambda template, context: "")
    client = client_of(kind, study)
    given, promised = {}, {}

    for page in collect_study_views():
        captured = [parts[name] for name in PARAMETER.findall(page.path)]
        address = reverse(f"admin:{page.name}", args=[study.pk, *captured])
        for method in ("get", "post"):
            if not (is_whole or is_at_the_edge(kind, method, page.name)):
                continue
            outcome = describe(ask(client, method, address), study)
            wanted = expect(kind, method, page.name)
            # a page of some part that this study has none of: the role was enough to look for it
            if wanted == "allowed" and outcome == "not found":
                outcome = "allowed"
            given[method, page.name], promised[method, page.name] = outcome, wanted

    assert len(given) > 20
    assert {key: one for key, one in given.items() if one != promised[key]} == {}


@pytest.mark.parametrize("kind", ["editor", "editor-with-identities"])
def test_editors_change_the_plan_until_the_launch(kind):
    draft, live = make_study(items=2), launch(make_study(items=2, title="Another"))
    user = make_user("editor-person")
    for study in (draft, live):
        Membership.objects.create(study=study, user=user, **TeamRole(kind).columns)
    client = sign_in(user)

    given = [
        client.post(reverse("admin:setup-plan", args=[study.pk])).status_code
        for study in (draft, live)
    ]

    assert given == [422, 403]


@pytest.mark.both_databases
@pytest.mark.slow
def test_ids_of_other_studies_are_found_by_nobody(study):
    parts = find_parts(study)
    other = make_study(items=0, title="Another", by=make_user("zoe"))
    client = sign_in(User.objects.get(username="zoe"))
    scoped = [
        page for page in collect_study_views() if OF_A_ROW & set(PARAMETER.findall(page.path))
    ]

    given = {
        (method, page.name): ask(
            client,
            method,
            reverse(
                f"admin:{page.name}",
                args=[other.pk, *(parts[one] for one in PARAMETER.findall(page.path))],
            ),
        ).status_code
        for page in scoped
        for method in ("get", "post")
    }

    assert isinstance(parts["invitation_id"], UUID)
    # to take away what isn't there changes nothing, and says so
    gone = {
        ("post", name)
        for name in ("member-remove", "batch-undo", "ratings-undo", "results-file-undo")
    }
    assert {given.pop(key) for key in gone} == {302}
    assert {key: one for key, one in given.items() if one not in (404, 405)} == {}
    assert Membership.objects.filter(pk=parts["member_id"]).exists()
    assert RatingsFile.objects.filter(pk=parts["file_id"]).exists()

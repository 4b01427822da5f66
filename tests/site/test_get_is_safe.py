"""Looking at a page changes nothing: only posts hand out work, or change anything else."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import RoutePattern, URLResolver
from django.utils import timezone

from evalsite.core.jobs.models import Job
from evalsite.data.bundle.uploaded import keep_bundle
from evalsite.data.models import MetricFile, Upload
from evalsite.data.uploads import keep_upload
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.models import Approval, Note
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation.saving import save_draft
from evalsite.people.models import ItemSet, Participant
from evalsite.people.platforms import installed_platforms
from evalsite.studies.instruments import import_instrument
from evalsite.studies.members import invite_colleague
from evalsite.studies.models import Item, Membership, Study, TeamRole
from tests.support.experts import invite
from tests.support.factories import (
    answer_item,
    make_annotator,
    make_participant,
    make_study,
    make_user,
    mint_link,
)
from tests.support.imported import load, rows_for, write_csv
from tests.support.instruments import read_gallery
from tests.support.reports import keep_report
from tests.support.rounds import make_round
from tests.support.tabs import Tab, make_live
from tests.support.uploads import GOOD

pytestmark = pytest.mark.django_db

# all pages once more by the other methods that change nothing: in `make torture`
METHODS = (
    "get",
    pytest.param("head", marks=pytest.mark.torture),
    pytest.param("options", marks=pytest.mark.torture),
)
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# rows that not only the live study has
OF_OTHERS = {"batch_id", "upload_id", "file_id"}
FINE = (200, 301, 302, 400, 403, 404, 405)


def make_people(study: Study) -> list[Participant]:
    """One of each kind: new, ready, in a set, with a lapsed set, finished, stopped, withdrawn."""
    lapsed = make_annotator(study)
    with standing_at(now() - timedelta(hours=5)):
        claim_set(lapsed)
    working, done = make_annotator(study), make_annotator(study)
    item = Item.objects.get(pk=claim_set(working).item_ids[0])
    save_draft(participant=working, item=item, values={"informativeness-1": "70"})
    claim_set(done)
    Tab(done).finish()
    gone = {"stopped_at": now(), "withdrawn_at": now()}
    return [
        make_participant(study),
        make_annotator(study),
        lapsed,
        working,
        done,
        make_annotator(study, stopped_at=now()),
        make_annotator(study, **gone),
    ]


def routes(patterns: list[Any] | None = None, start: str = "/") -> Iterator[str]:
    """Every route of the site, such as `/p/<token>/sets/<int:number>/review/`."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if not isinstance(one.pattern, RoutePattern):
            continue  # the admin's own catch-all, and its lists of an app's tables
        route = f"{start}{one.pattern}"
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, route)
        else:
            yield route


def fill(route: str, values: dict[str, list[Any]]) -> Iterator[str]:
    """The route's addresses, with each of the values in place of each parameter."""
    names = PARAMETER.findall(route)
    for chosen in product(*(values[name] for name in names)):
        address = route
        for value in chosen:
            address = PARAMETER.sub(str(value), address, count=1)
        yield address


def fill_in_turn(route: str, values: dict[str, list[Any]]) -> Iterator[str]:
    """The addresses where one other parameter at most isn't the first value: of the live study.

    Of the others those with the rows that are theirs.
    """
    firsts = {name: found[:1] for name, found in values.items()}
    each_study = firsts | {"study_id": values["study_id"]}
    seen = dict.fromkeys(fill(route, each_study))
    for name in PARAMETER.findall(route):
        start = each_study if name in OF_OTHERS else firsts
        seen |= dict.fromkeys(fill(route, start | {name: values[name]}))
    yield from seen


def look(client: Client, method: str, address: str) -> tuple[str, int]:
    """The address with the status of its answer, which was read to its end."""
    response = getattr(client, method)(address)
    if response.streaming:
        response.getvalue()
    return address, response.status_code


def our_models() -> list[type[Model]]:
    return [model for model in apps.get_models() if model.__module__.startswith("evalsite.")]


def everything() -> dict[str, list[dict]]:
    """Every row of every table of ours."""
    return {
        model._meta.label: list(model._base_manager.order_by("pk").values())
        for model in our_models()
    }


# --- participants -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_looking_at_any_page_of_a_participant_takes_no_work_and_changes_nothing(method):
    study = make_live(items=9)
    tokens = [mint_link(me).split("/")[2] for me in make_people(study)]
    values = {"token": tokens, "number": [1, 2, 9], "place": [0, 1, 2, 3, 9]}
    values["study_id"] = [study.pk]
    pages = [route for route in routes() if not route.startswith(("/admin/", "/account/"))]
    before = everything()
    client = Client(raise_request_exception=True)

    seen = [look(client, method, address) for page in pages for address in fill(page, values)]

    assert len(seen) > 100
    assert [one for one in seen if one[1] not in FINE] == []
    assert everything() == before
    assert not client.cookies


def test_every_table_of_the_site_is_compared():
    names = {model.__name__ for model in our_models()}

    assert {
        *("Answer", "Annotation", "AuditEntry", "Consent", "Draft", "Item", "ItemSet", "Job"),
        *("Participant", "ParticipantLink", "Rating", "Revision", "Slot", "Study", "Upload"),
    } <= names


# --- staff ------------------------------------------------------------------------------


def make_staff_pages() -> dict[str, list[Any]]:
    """Studies in every state with rows in every page, and what their addresses hold."""
    live, draft, waiting = make_live(items=3), make_study(items=2), make_study(items=2)
    make_people(live)
    upload = keep_upload(study=draft, file_name="a.csv", chunks=[GOOD.encode()], by=None)
    rated = make_study(items=1)
    text = write_csv(rows_for(rated))
    ratings = keep_upload(study=rated, file_name="b.csv", chunks=[text.encode()], by=None)
    Upload.objects.filter(pk=ratings.pk).update(purpose=Upload.Purpose.RATINGS)
    file = load(rated, rows_for(rated, ["w2"]))
    scores = MetricFile.objects.create(study=rated, file_name="c.csv", sha256="c" * 64)
    launch_study(study=waiting, by=make_user())
    Job.objects.update(created_at=timezone.now() - timedelta(hours=1))
    for me in (make_annotator(live), make_annotator(live)):
        reported = live.items.main().first()
        answer_item(me, reported, outcome="reported", reason="other", rows=())
    report = keep_report(live)
    person = live.participants.first()
    [exclusion] = exclude(study=live, participants=[person], reason="Too fast", by=None)
    jane = Membership.objects.get(study=live)
    invitation = invite_colleague(study=live, key=uuid4(), role=TeamRole.OWNER, by=jane.user)
    studies = [live, draft, waiting, rated]
    moment = timezone.now()
    item_set = ItemSet.objects.create(
        study=live, participant=person, number=9, code="ABCD-EFGH", finished_at=moment
    )
    approval = Approval.objects.create(
        study=live,
        item_set=item_set,
        state=Approval.State.REVIEW,
        reason="checks",
        message="Two checks failed.",
        review_text="I read them.",
        review_asked_at=moment,
        review_due_at=moment,
    )
    [expert] = invite(live, "Ada Example")
    built, _ = import_instrument(data=read_gallery()[0], by=jane.user)
    bundle = keep_bundle(SimpleUploadedFile("study.zip", b"PK"), by=jane.user)
    rounds = [make_round(live, platform.key) for platform in installed_platforms().values()]
    return {
        "study_id": [study.pk for study in studies],
        "batch_id": [study.batches.get().pk for study in studies],
        "item_id": [live.items.main().first().pk],
        "upload_id": [upload.pk, ratings.pk],
        "file_id": [file.pk, scores.pk],
        "job_id": [Job.objects.first().pk],
        "file": ["ratings", "annotations", "participants"],
        "report_id": [report.pk],
        "pseudonym": [person.pseudonym, "nobody"],
        "exclusion_id": [exclusion.pk],
        "note_id": [Note.objects.create(study=live, item=live.items.main()[0], text="Hm").pk],
        "approval_id": [approval.pk],
        "comment_id": [1],
        "person_id": [expert.pk],
        "platform": ["prolific", "panel", "gone"],
        "time": [1, 2],
        "member_id": [jane.pk],
        "invitation_id": [invitation.pk],
        "part": ["informativeness", "raters"],
        "name": ["informativeness-systems", "appendix", "other", "magnitude", built.pk.hex],
        "kind": ["svg", "pdf", "html", "exe", "R", "approve", "protocol", "version"],
        "instrument_id": [built.instrument.pk, uuid4()],
        "bundle_id": [UUID(bundle.subject), uuid4()],
        "key": ["first_language", "nothing"],
        "rest": ["", "balance/"],
        "number": [*(one.number for one in rounds), 99],
        "content_type_id": [1],
        "id": [make_user().pk],
    }


def with_object(route: str, values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The values, with the first row of the table that a stock page of the admin is about."""
    app, model = route.split("/")[2:4] if "object_id" in route else ("", "")
    if (app, model) not in {(one._meta.app_label, one._meta.model_name) for one in our_models()}:
        return values | {"object_id": [1]}
    first = apps.get_model(app, model)._base_manager.first()
    return values | {"object_id": [first.pk if first else 1]}


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_looking_at_any_page_of_staff_changes_nothing(method):
    values = make_staff_pages()
    pages = [route for route in routes() if route.startswith("/admin/")]
    root = make_user("root", is_superuser=True)
    client = Client(raise_request_exception=True)
    client.force_login(root, backend="django.contrib.auth.backends.ModelBackend")
    before = everything()

    seen = [
        look(client, method, address)
        for page in pages
        for address in fill_in_turn(page, with_object(page, values))
    ]

    assert len(seen) > 100
    assert [one for one in seen if one[1] not in FINE] == []
    assert everything() == before


# --- what a post does -------------------------------------------------------------------


def test_only_a_post_to_start_takes_a_set():
    study = make_live(items=9)
    home = mint_link(make_annotator(study))
    client = Client()

    assert client.get(home, follow=True).status_code == 200
    assert not Slot.objects.leased().exists()

    client.post(f"{home}start/")

    assert Slot.objects.leased().count() == 3


def test_nothing_is_handed_out_before_consent():
    study = make_live(items=3)
    home = mint_link(make_participant(study, is_eligible=True, practised_at=now()))

    response = Client().post(f"{home}start/")

    assert response.headers["Location"] == f"{home}consent/"
    assert not Slot.objects.leased().exists()

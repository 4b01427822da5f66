"""The stock pages of the admin, and signing in."""

from datetime import UTC, datetime
from itertools import product
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import UUIDField
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.people.models import ParticipantLink
from evalsite.studies.models import Item
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user

OURS = sorted(
    (model for model in admin.site._registry if model.__module__.startswith("evalsite.")),
    key=lambda model: model._meta.label,
)
PASSWORD = "a long enough one"


def stock(model, page: str, *args) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)


@pytest.fixture
def superuser_client(db) -> Client:
    client = Client()
    client.force_login(
        make_user("root", is_superuser=True), backend="django.contrib.auth.backends.ModelBackend"
    )
    return client


def test_data_tables_are_registered_but_not_the_links(db):
    names = {model.__name__ for model in OURS}

    assert names >= {
        "Study", "Batch", "Item", "Output", "Participant", "Annotation", "Rating", "Slot",
        "AuditEntry", "Job",
    }  # fmt: skip
    assert ParticipantLink not in admin.site._registry


@pytest.mark.one_case
@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_stock_page_is_for_superusers_to_read(superuser_client, staff_client, model):
    make_study()

    assert superuser_client.get(stock(model, "changelist")).status_code == 200
    assert superuser_client.get(stock(model, "add")).status_code == 403
    assert staff_client.get(stock(model, "changelist")).status_code == 403


def test_stock_page_of_an_item_cannot_change_or_delete_it(superuser_client):
    study = make_study(items=1)
    item = study.items.main().get()

    shown = superuser_client.get(stock(Item, "change", item.pk))
    changed = superuser_client.post(stock(Item, "change", item.pk), {"key": "other"})
    deleted = superuser_client.post(stock(Item, "delete", item.pk), {"post": "yes"})

    assert shown.status_code == 200
    assert (changed.status_code, deleted.status_code) == (403, 403)
    assert Item.objects.get(pk=item.pk).key == item.key


# --- what others may not know of -----------------------------------------------------------

EVERY_MODEL = sorted(admin.site._registry, key=lambda model: model._meta.label)
OF_ONE_ROW = ("change", "delete", "history")


def make_one_of_each() -> None:
    """Make a row of every model that has a stock page."""
    study = launch(make_study(items=1))
    answer_item(make_annotator(study), study.items.main().get())
    Job.objects.create(study_id=study.pk, kind="export")
    Group.objects.create(name="Team")
    DBTaskResult.objects.create(
        task_path="a.b", args_kwargs={}, backend_name="default", run_after=timezone.now()
    )


def test_the_table_below_has_a_row_of_every_model_with_a_stock_page(db):
    make_one_of_each()

    assert [model.__name__ for model in EVERY_MODEL if not model.objects.exists()] == []


@pytest.mark.one_case
@pytest.mark.parametrize("page", OF_ONE_ROW)
def test_stock_page_does_not_tell_other_staff_whether_a_row_exists(db, page):
    make_one_of_each()
    stranger = Client()
    stranger.force_login(make_user("stranger"), backend="django.contrib.auth.backends.ModelBackend")

    for model, send in product(EVERY_MODEL, (stranger.get, stranger.post)):
        is_uuid = isinstance(model._meta.pk, UUIDField)
        there = stock(model, page, model.objects.first().pk)
        gone = stock(model, page, uuid4() if is_uuid else 987654)
        answers = [send(address) for address in (there, gone)]
        assert [answer.status_code for answer in answers] == [404, 404], model
        assert answers[0].text == answers[1].text, model


def test_password_page_of_a_user_does_not_tell_other_staff_whether_the_user_exists(staff_client):
    user = make_user("other")

    for pk in (user.pk, 987654):
        address = reverse("admin:auth_user_password_change", args=[pk])
        assert staff_client.get(address).status_code == 404


def test_administrators_still_see_the_history_of_a_row(superuser_client):
    item = make_study(items=1).items.get(key="item-001")

    assert superuser_client.get(stock(Item, "history", item.pk)).status_code == 200
    assert superuser_client.get(stock(Item, "history", 987654)).status_code == 404


def test_stock_page_of_what_is_not_there_is_a_404(superuser_client):
    assert superuser_client.get(stock(Item, "change", 987654)).status_code == 404


def test_stock_page_of_a_study_leads_to_where_it_opens(superuser_client):
    draft, live = make_study(items=2), launch(make_study(items=2, title="Another"))

    urls = [
        superuser_client.get(stock(apps.get_model("studies.Study"), "change", study.pk)).url
        for study in (draft, live)
    ]

    assert urls == [
        reverse("admin:study-setup", args=[draft.pk]),
        reverse("admin:study-overview", args=[live.pk]),
    ]


def test_log_names_studies_and_tells_the_time_as_all_other_pages_do(superuser_client):
    study = make_study(title="Descriptions of places")
    AuditEntry.objects.filter(study_id=study.pk).update(
        created_at=datetime(2026, 11, 22, 8, 51, tzinfo=UTC)
    )
    gone = uuid4()
    AuditEntry.objects.record("study deleted", by=None, study_id=gone)

    page = superuser_client.get(stock(AuditEntry, "changelist")).text

    assert ">Descriptions of places</td>" in page
    assert str(study.pk) not in page
    assert f">{gone}</td>" in page
    assert "22 November 2026, 08:51 UTC" in page


def test_stock_list_takes_the_same_queries_for_many_rows(
    superuser_client, django_assert_max_num_queries
):
    make_study(items=2)
    with django_assert_max_num_queries(20) as few:
        superuser_client.get(stock(Item, "changelist"))
    make_study(items=40)

    with django_assert_max_num_queries(len(few.captured_queries)):
        superuser_client.get(stock(Item, "changelist"))

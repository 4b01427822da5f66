"""Files in the shapes people have go in without an edit: what to say of each is a choice or two."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Count
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.data.importing import aim_at_study, check_source
from evalsite.data.items.importer import ITEMS, import_file
from evalsite.data.tables.reader import FileMapping
from evalsite.handout.models import Rating
from evalsite.studies.models import Item, Output, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, follow
from tests.support.factories import make_study, make_user

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@dataclass(frozen=True)
class OwnFile:
    """A file, what it becomes, and what its researcher has to say on each way in."""

    name: str
    protocol: str
    items: int
    systems: int
    options: dict[str, Any] = field(default_factory=dict)
    mapping: dict[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    buttons: Sequence[str] = ()

    def __str__(self) -> str:
        return self.name


OWN_FILES = [
    OwnFile("batches/rankme_wide.csv", "magnitude", items=100, systems=3),
    OwnFile("batches/rankme_long.csv", "magnitude", items=100, systems=3),
    OwnFile(
        "ratings/stp2_rankME_inf.csv",
        "magnitude",
        items=100,
        systems=3,
        options={"take_once": True},
        arguments=["--take-once"],
        buttons=["Take each once"],
    ),
    OwnFile("batches/marco.csv", "pairwise", items=68, systems=3),
    OwnFile("batches/systems_as_columns.xlsx", "magnitude", items=8, systems=3),
    OwnFile(
        "batches/json_dump.json",
        "pairwise",
        items=15,
        systems=3,
        mapping={"ref": "output_of_this_system"},
        arguments=["--map", "ref=output_of_this_system"],
    ),
    OwnFile("batches/huggingface_messages.jsonl", "dialogue", items=12, systems=3),
    OwnFile(
        "batches/pandas_index_windows_1252.csv",
        "rrgen",
        items=8,
        systems=2,
        options={"encoding": "windows-1252"},
        arguments=["--encoding", "windows-1252"],
        buttons=["Read as Windows-1252"],
    ),
]


@pytest.fixture(params=OWN_FILES, ids=str)
def own_file(request: pytest.FixtureRequest) -> OwnFile:
    return request.param


def count_items(study: Study) -> tuple[int, int]:
    """The items of the study's batches, and the systems of their outputs."""
    items = Item.objects.filter(study=study, batch__isnull=False)
    outputs = Output.objects.filter(item__in=items)
    return items.count(), outputs.aggregate(n=Count("system", distinct=True))["n"]


@pytest.mark.django_db
def test_a_file_as_people_have_it_has_no_faults(own_file: OwnFile) -> None:
    study = make_study(protocol=own_file.protocol, items=0)
    with (FIXTURES / own_file.name).open("rb") as source:
        checked = check_source(
            ITEMS,
            source,
            target=aim_at_study(study),
            mapping=FileMapping.read(own_file.mapping, own_file.options),
        )

    assert [str(fault) for fault in checked.faults] == []
    assert len(checked.items) == own_file.items


@pytest.mark.django_db
def test_the_command_takes_a_file_as_people_have_it(own_file: OwnFile) -> None:
    study = make_study(protocol=own_file.protocol, items=0)

    call_command(
        "import_batch",
        str(study.pk),
        str(FIXTURES / own_file.name),
        *own_file.arguments,
        stdout=StringIO(),
    )

    assert count_items(study) == (own_file.items, own_file.systems)


# one that is taken as it is, and one of each for which something has to be said
@pytest.mark.one_case
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("own_file", OWN_FILES, ids=str)
def test_a_file_as_people_have_it_goes_from_upload_to_import_in_a_browser(
    page: Page, live_server: Any, own_file: OwnFile
) -> None:
    watch = Watch(page)
    user = make_user()
    sign_in(page, live_server.url, user)
    study = make_study(protocol=own_file.protocol, items=0, by=user)
    page.goto(f"{live_server.url}{reverse('admin:batch-list', args=[study.pk])}")
    choose_files(page, FIXTURES / own_file.name)
    page.wait_for_selector("text=Cancel")

    for answer in own_file.buttons:
        with page.expect_navigation():
            page.locator(f"select:has(option:text-is('{answer}'))").select_option(answer)
    for column, contains in own_file.mapping.items():
        field = page.get_by_label(f"{column} holds", exact=True)
        if not field.is_visible():
            page.locator(f"details:has([id='{field.get_attribute('id')}']) > summary").click()
        with page.expect_navigation():
            field.select_option(contains)
    expect(page.get_by_text("What people will see")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    follow(page, "button:has-text('Import')")

    page.locator("details.fold:has-text('Undo') > summary").click()
    expect(page.get_by_role("link", name=f"Undo {Path(own_file.name).name}")).to_be_visible()
    assert count_items(study) == (own_file.items, own_file.systems)
    assert watch.found == []


# --- ratings that were collected elsewhere ----------------------------------------------------

RATINGS = FIXTURES / "ratings" / "stp2_rankME_inf.csv"


def make_rated_batch(**fields: Any) -> Study:
    study: Study = make_study(protocol="magnitude", items=0, **fields)
    import_file(study=study, path=FIXTURES / "ratings" / "rankme_batch.csv", by=None)
    return study


@pytest.mark.django_db
def test_the_command_takes_ratings_as_they_were_published() -> None:
    study = make_rated_batch()

    call_command(
        "import_ratings", str(study.pk), str(RATINGS), "--persons", "yes", stdout=StringIO()
    )

    assert Rating.objects.filter(study=study).count() == 900


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_ratings_as_they_were_published_go_from_upload_to_import_in_a_browser(
    page: Page, live_server: Any
) -> None:
    watch = Watch(page)
    user = make_user()
    sign_in(page, live_server.url, user)
    study = make_rated_batch(by=user)
    page.goto(f"{live_server.url}{reverse('admin:ratings-list', args=[study.pk])}")
    choose_files(page, RATINGS)
    page.wait_for_selector("text=Cancel")

    expect(page.get_by_role("heading", name="Answers per item")).to_be_visible()
    expect(page.get_by_role("heading", name="Faults")).to_have_count(0)
    page.check("#id_has_persons_0")
    follow(page, "button:has-text('Import')")

    expect(page.get_by_role("link", name=f"Undo {RATINGS.name}")).to_be_visible()
    assert Rating.objects.filter(study=study).count() == 900
    assert watch.found == []

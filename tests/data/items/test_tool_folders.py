"""Each folder of tool outputs goes in as it is: dropped on the page, and by command."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.data.files.services import Choice, write_file
from evalsite.data.tables.tools import load_formats
from evalsite.studies.models import Batch, Study
from tests.data.tables.test_formats import FOLDER
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, follow
from tests.support.factories import make_study, make_user


@dataclass(frozen=True)
class Dropped:
    """What is dropped, and what has to be said of it: to the page and to the command."""

    name: str
    # how many presses and choices follow the drop
    clicks: int
    buttons: Sequence[str] = ()
    arguments: Sequence[str] = ()
    columns: dict[str, str] = field(default_factory=dict)
    protocol: str = "pairwise"

    def __str__(self) -> str:
        return self.name

    @property
    def paths(self) -> list[Path]:
        return sorted(FOLDER.glob(self.name))


_FIRST: Any = {"buttons": ["The first of each is taken"], "arguments": ["--samples=first"]}
_FRAME: Any = {"columns": {"passage": "dialogue", "question": "-"}}
# a CSV has the variables of a prompt, and not the prompt
_VARIABLES: Any = {"columns": {"passage": "dialogue", "question": "dialogue"}}
DROPPED = [
    Dropped("lines", 1),
    Dropped("promptfoo/results.json", 1),
    Dropped("promptfoo/results.csv", 3, **_VARIABLES),
    Dropped("promptfoo", 4, **_FIRST, **_VARIABLES),
    Dropped("lm_eval", 1),
    Dropped("inspect/*.eval", 1),
    Dropped("inspect/*.json", 1),
    Dropped(
        "openai_batch",
        3,
        buttons=["Show “(no output)” instead", "It isn't shown, but kept as metadata"],
        arguments=["--system-prompts=leave-out", "--empty-outputs=show"],
    ),
    Dropped("alpaca_eval", 1),
    Dropped(
        "fastchat",
        2,
        buttons=["Only the first turn is taken"],
        arguments=["--turns=first"],
    ),
    *(
        Dropped(f"pandas/{name}", 3, **_FRAME)
        for name in ("columns.json", "index.json", "records.json", "split.json", "table.json")
    ),
    Dropped("pandas/frame.parquet", 3, **_FRAME),
    Dropped(
        "json_in_cells.csv",
        4,
        columns={
            "inputs.question": "-",
            "inputs.passage": "dialogue",
            "outputs.answer": "output_of_this_system",
        },
        protocol="fluency",
    ),
]


# further orients of one frame, and logs of which others are dropped
_ALIKE = {
    "inspect/*.json",
    "pandas/columns.json",
    "pandas/frame.parquet",
    "pandas/index.json",
    "pandas/records.json",
    "pandas/table.json",
}
IN_BROWSER = [
    pytest.param(one, marks=[pytest.mark.torture] if one.name in _ALIKE else []) for one in DROPPED
]


def make_empty(dropped: Dropped, by: Any = None) -> Study:
    study: Study = make_study(protocol=dropped.protocol, items=0, by=by)
    return study


def export_items(study: Study) -> str:
    """The bytes of items.csv, without the ids that differ from study to study."""
    target = io.BytesIO()
    write_file(study, Choice(file="items"), target)
    batch = Batch.objects.get(study=study)
    return target.getvalue().decode().replace(str(study.pk), "").replace(str(batch.pk), "")


def import_by_command(dropped: Dropped) -> str:
    study = make_empty(dropped)
    mapping = [f"--map={column}={use}" for column, use in dropped.columns.items()]
    paths = map(str, dropped.paths)
    call_command(
        "import_batch", str(study.pk), *paths, *dropped.arguments, *mapping, stdout=StringIO()
    )
    return export_items(study)


@pytest.mark.one_case
@pytest.mark.django_db
@pytest.mark.parametrize("dropped", DROPPED, ids=str)
def test_command_imports_what_a_tool_wrote(dropped: Dropped) -> None:
    items = import_by_command(dropped)

    assert Batch.objects.get().items.main().count() == 6
    assert "The answer is noon." in items


def drop(page: Page, paths: Sequence[Path]) -> None:
    """Drop files or a folder on the page, as from a window of files."""
    client = page.context.new_cdp_session(page)
    data = {"items": [], "files": [*map(str, paths)], "dragOperationsMask": 1}
    with page.expect_navigation():
        for kind in ("dragEnter", "dragOver", "drop"):
            client.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    page.wait_for_selector("text=Cancel")
    work(page)


def work(page: Page) -> None:
    """Do what the page waits for if its files are large."""
    if page.get_by_role("link", name="Look again").count():
        call_command("db_worker", "--batch", "--interval", "0")
        page.reload()


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dropped", IN_BROWSER, ids=str)
def test_what_is_dropped_is_imported_in_a_few_clicks(
    page: Page, live_server: Any, dropped: Dropped
) -> None:
    watch, user, clicks = Watch(page), make_user(), 1
    sign_in(page, live_server.url, user)
    study = make_empty(dropped, by=user)
    page.goto(f"{live_server.url}{reverse('admin:batch-list', args=[study.pk])}")

    drop(page, dropped.paths)
    if dropped.buttons:
        expect(page.get_by_role("heading", name="Decisions")).to_be_visible()
    for button in dropped.buttons:
        follow(page, f'button:text-is("{button}")')
        work(page)
        clicks += 1
    for column, use in dropped.columns.items():
        with page.expect_navigation():
            page.get_by_label(column, exact=True).select_option(use)
        clicks += 1
    expect(page.get_by_role("heading", name="What people will see")).to_be_visible()
    expect(page.get_by_role("heading", name="Faults")).to_have_count(0)
    follow(page, "button:has-text('Import')")
    work(page)
    page.wait_for_selector("text=Undo")

    assert export_items(study) == import_by_command(dropped)
    assert study.items.main().count() == 6
    is_known = dropped.name.partition("/")[0] in {one.key for one in load_formats()}
    assert clicks == dropped.clicks <= (4 if is_known else 6)
    assert watch.found == []

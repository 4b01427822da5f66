"""From signing in to a draft that can be launched, in a browser, counted page by page."""

import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.core.accounts.models import fill_in_profile
from evalsite.fieldwork.setup import describe_setup
from evalsite.handout.models import Slot
from evalsite.people.models import Expert
from evalsite.studies.models import Study
from tests.site.test_guides_browser import ANSWERS, write_promptfoo
from tests.site.test_setup_browser import COUNT
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, follow, read_clipboard
from tests.support.factories import make_user
from tests.support.planned import add_person, make_planned_study
from tests.support.queues import run_waiting_jobs
from tests.support.stored_reports import Rated, answer_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PASSWORD = "a long pass phrase"
# words and fields of the plan of the pages: at most a tenth more, and at most one field more
PLANNED = {
    "outputs": (182, 6),
    "instrument": (152, 5),
    "read": (301, 5),
    "work": (225, 5),
    "quality": (202, 1),
    "plan": (226, 6),
    "invite": (192, 5),
    "links": (192, 5),
    "prolific": (228, 4),
    "prolific is on": (228, 4),
}
NAMES = "Ana Ruiz <ana@example.org>\nBen Otte <ben@example.org>\nChiara Conti"
# 60 lines each
TEXTS = {
    "source.de.txt": "Der Zug hält heute nicht in Bonn. Wagen",
    "reference.en.txt": "The train does not stop in Bonn today. Coach",
    "nmt-base.en.txt": "The train holds today not in Bonn. Wagon",
    "nmt-large.en.txt": "The train is not stopping in Bonn today. Carriage",
}


@dataclass
class Walk:
    """One person's way through pages: what they press, and what each page asks of them."""

    page: Page
    rows: list[tuple[str, int, int, int]] = field(default_factory=list)
    clicks: int = 0

    def look(self, name: str) -> None:
        """Count the page that is open: its words and the fields in sight; clicks come later."""
        words, fields = self.page.evaluate(COUNT)
        self.rows.append((name, words, fields, self.clicks))

    def type(self, selector: str, text: str) -> None:
        self.clicks += 1
        self.page.fill(selector, text)

    def choose(self, selector: str, label: str) -> None:
        self.clicks += 1
        self.page.select_option(selector, label=label)

    def press(self, selector: str) -> None:
        self.clicks += 1
        self.page.click(selector)

    def go(self, selector: str) -> None:
        self.clicks += 1
        follow(self.page, selector)

    def find_excess(self) -> dict[str, tuple[int, int]]:
        """Return the pages with more words or fields than the plan allows."""
        counts = {name: (words, fields) for name, words, fields, _ in self.rows if name in PLANNED}
        return {
            name: (words, fields)
            for name, (words, fields) in counts.items()
            if words > 1.1 * PLANNED[name][0] or fields > PLANNED[name][1] + 1
        }

    def write(self) -> str:
        ends = [clicks for *_, clicks in self.rows[1:]] + [self.clicks]
        lines = [
            f"{name:12} {words:5} words {fields:3} fields {end - begin:3} actions"
            for (name, words, fields, begin), end in zip(self.rows, ends, strict=True)
        ]
        return "\n".join(lines)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, text in TEXTS.items():
        lines = "".join(f"{text} {number}.\n" for number in range(1, 61))
        (tmp_path / name).write_text(lines, encoding="utf-8")
    return [tmp_path / name for name in TEXTS]


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()


def walk_to_read(page: Page, base: str, files: list[Path]) -> Walk:
    """Sign in, drop the files, and make a study with the first instrument."""
    user = make_user("jane", email="jane@example.org")
    user.set_password(PASSWORD)
    user.save()
    fill_in_profile(user, {"organisation": "Language Lab"})
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{base}{reverse('admin:index')}")
    walk = Walk(page)
    walk.look("sign in")
    walk.type("#id_login", "jane")
    walk.type("#id_password", PASSWORD)
    walk.go("main button[type=submit]")
    walk.look("studies")
    walk.clicks += 1
    choose_files(page, files)
    walk.look("outputs")
    walk.go("main button.main")
    walk.look("instrument")
    walk.go("main button.main")
    walk.look("read")
    return walk


def test_colleagues_can_be_given_a_study_after_five_pages(page, live_server, files):
    watch = Watch(page)

    walk = walk_to_read(page, live_server.url, files)
    walk.press("#id_has_notice_0")
    walk.go("button[value=invite]")

    print(walk.write())  # noqa: T201
    study = Study.objects.get()
    assert study.has_notice
    assert study.items.main().count() == 120
    assert describe_setup(study).problems == []
    assert len(walk.rows) <= 5
    # three to sign in; the files, Continue, Create, the notice, Save and invite people
    assert walk.clicks == 8
    assert walk.find_excess() == {}
    assert watch.found == []


@pytest.mark.torture
def test_three_colleagues_get_their_links(page, live_server, files):
    watch = Watch(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    walk = walk_to_read(page, live_server.url, files)
    walk.press("#id_has_notice_0")
    walk.go("button[value=invite]")
    walk.look("invite")
    walk.type("#id_names", NAMES)
    page.wait_for_selector("#live-launch:has-text('3 people')")
    walk.go("button[value=launch]")
    walk.look("launch")
    walk.go("main button.main")
    run_waiting_jobs()
    study = Study.objects.get()
    # where the page of the launch leads by itself once its job is done
    page.goto(f"{live_server.url}{reverse('admin:study-launch', args=[study.pk])}")
    walk.look("links")
    walk.press(".invited tr:nth-child(3) [data-copy]")

    print(walk.write())  # noqa: T201
    study.refresh_from_db()
    assert study.is_launched
    assert study.k == 3
    assert Expert.objects.filter(study=study).count() == 3
    assert page.locator(".invited tbody tr").count() == 3
    assert page.url.endswith(reverse("admin:study-invite", args=[study.pk]))
    assert len(walk.rows) <= 8
    # three to sign in, four to the notice and on; names, add and launch, launch, copy
    assert walk.clicks <= 12
    assert walk.find_excess() == {}
    assert watch.found == []


def walk_to_links(page: Page, live_server: Any, tmp_path: Path) -> Walk:
    """Go from the results of promptfoo to a study of five people with a planned margin."""
    walk = walk_to_read(page, live_server.url, [write_promptfoo(tmp_path / "results.json")])
    walk.press("#id_has_notice_0")
    walk.go("button[value=invite]")
    walk.look("invite")
    walk.type("#id_names", "Ana Ruiz\nBen Otte\nChiara Conti\nDora Bell\nEli Stone")
    page.wait_for_selector("#live-launch:has-text('5 people')")
    walk.go("button[value=launch]")
    walk.look("launch")
    walk.go("main a:has-text('Write one')")
    walk.look("plan")
    walk.choose("[name=question-0-system]", list(ANSWERS)[1])
    walk.choose("[name=question-0-relation]", "is not worse than")
    walk.choose("[name=question-0-other]", next(iter(ANSWERS)))
    walk.type("[name=question-0-margin]", "20")
    page.wait_for_selector(".adds b")
    walk.go("main button.main")
    walk.look("launch, with the plan")
    walk.go("main button.main")
    run_waiting_jobs()
    study = Study.objects.get()
    page.goto(f"{live_server.url}{reverse('admin:study-launch', args=[study.pk])}")
    walk.look("links")
    return walk


@pytest.mark.torture
def test_two_prompts_are_compared_with_a_plan(page, live_server, tmp_path):
    watch = Watch(page)

    walk = walk_to_links(page, live_server, tmp_path)

    print(walk.write())  # noqa: T201
    study = Study.objects.get()
    assert study.is_launched
    assert study.k == 5
    assert Expert.objects.filter(study=study).count() == 5
    assert page.url.endswith(reverse("admin:study-invite", args=[study.pk]))
    assert len(walk.rows) <= 10
    assert walk.find_excess() == {}
    assert watch.found == []


# --- from the last answer to what leaves the site ---------------------------------------------


def close_in_menu(walk: Walk) -> None:
    """Close the study from the menu of its header, and let the worker compute its results."""
    walk.press(".study details.menu summary")
    walk.go(".study a:has-text('Close')")
    walk.go("main button.main")
    run_waiting_jobs()


def test_a_closed_study_becomes_a_table_in_a_paper(page, live_server):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    user = make_user("jane", is_superuser=True)
    study = make_planned_study(hides_results=False, by=user)
    for _ in range(4):
        add_person(study)
    sign_in(page, live_server, user)
    page.goto(f"{live_server.url}{reverse('admin:study-overview', args=[study.pk])}")
    watch = Watch(page)
    walk = Walk(page)

    close_in_menu(walk)
    closed = walk.clicks
    walk.go(".places a:has-text('Results')")
    walk.look("summary")
    walk.press("[data-copy=paper-tex]")
    page.wait_for_selector("#paper-copied:has-text('Copied')")
    copied = read_clipboard(page)

    print(walk.write())  # noqa: T201
    # what is copied is the text of the fold, and a paper takes it as it is
    assert copied == page.text_content("#paper-tex")
    assert copied.startswith("% Needs \\usepackage{booktabs,graphicx}.\n\\begin{table}")
    assert copied.endswith(r"\end{table}")
    assert walk.clicks - closed == 2
    assert watch.found == []


@pytest.mark.torture
def test_promptfoo_becomes_a_gate_in_ci(page, live_server, tmp_path):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    walk = walk_to_links(page, live_server, tmp_path)
    launched, study = walk.clicks, Study.objects.get()
    first, second = ANSWERS
    # others answer in the place of those who were invited
    Slot.objects.update(state=Slot.State.FREE, participant=None, lease_until=None)
    rated = Rated(instrument="", worth={first: 0.0, second: 0.1}, people=5)
    for number in range(rated.people):
        answer_all(study, rated, number)
    page.goto(f"{live_server.url}{reverse('admin:study-overview', args=[study.pk])}")

    close_in_menu(walk)
    walk.go(".places a:has-text('Results')")
    walk.look("summary")
    (card,) = page.query_selector_all(".decide")
    outcome = card.get_attribute("class").split()[-1]
    walk.press(".decide summary:has-text('Use this in CI')")
    walk.press("[data-copy=gate-1]")
    page.wait_for_selector("#gate-1-copied:has-text('Copied')")
    command = read_clipboard(page)
    walk.go(".decide a:has-text('Get the bundle')")
    walk.go(".get a:has-text('Create…')")
    walk.go("main button.main")
    run_waiting_jobs()
    page.reload()
    with page.expect_download() as download:
        walk.press("main td button")
    download.value.save_as(tmp_path / download.value.suggested_filename)

    print(walk.write())  # noqa: T201
    program, gate, bundle, *options = shlex.split(command)
    assert (program, gate) == ("evalsite", "gate")
    assert bundle == download.value.suggested_filename
    assert "--plan-hash" in options
    command = [sys.executable, "-m", "evalsite", gate, str(tmp_path / bundle), *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == {"yes": 0, "no": 1, "open": 2}[outcome], ended.stderr
    # three to close; Results, the fold, copy; Get the bundle, Create, Create the bundle, Download
    assert walk.clicks - launched == 10


@pytest.mark.torture
def test_study_with_pay_and_a_check_is_set_up_page_by_page(page, live_server, files):
    watch = Watch(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    walk = walk_to_read(page, live_server.url, files)
    walk.type("#id_answers_kept_for", "10 years")
    walk.go("button[value=continue]:visible")
    walk.look("work")
    walk.type("#id_pay_per_set", "3.00")
    walk.go("button[value=continue]:visible")
    walk.look("quality")
    walk.go("main a[href*='/checks/']")
    walk.look("make a check")
    walk.go("main button.main")
    walk.look("quality, with it")

    study = Study.objects.get()
    assert not study.has_notice
    assert study.answers_kept_for == "10 years"
    assert study.pay_per_set == Decimal("3.00")
    assert study.items.filter(kind="attention").count() == 1
    assert describe_setup(study).problems == []
    assert len(walk.rows) <= 9
    walk.go(".do a[href$='/launch/']")
    walk.look("launch")
    walk.go("main button.main")
    run_waiting_jobs()
    page.goto(f"{live_server.url}{reverse('admin:study-launch', args=[study.pk])}")
    walk.look("links")
    walk.press("summary:has-text('A panel')")
    walk.go("form[action$='/prolific/'] button")
    walk.look("prolific")
    walk.press("[data-copy=plink]")
    walk.type("#id_places", "40")
    walk.go("button[value=on]")
    walk.look("prolific is on")

    print(walk.write())  # noqa: T201
    study.refresh_from_db()
    recruitment = study.recruitments.get(platform="prolific")
    assert (recruitment.is_on, recruitment.places) == (True, 40)
    assert len(walk.rows) <= 14
    assert walk.find_excess() == {}
    assert watch.found == []

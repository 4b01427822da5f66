"""Every setting of a study is where `settings_and_places.csv` says: in sight, or under More.

The table is the plan of the pages of Set up. What it calls gone has no field.
"""

import csv
import re
from pathlib import Path

import pytest
from django.urls import reverse

from evalsite.studies.models import Study
from evalsite.studies.settings import SETTINGS, Place
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).with_name("settings_and_places.csv")
# what each field or link of a row sends or leads to, by page
PAGES = {
    "Items": "batch-list",
    "What people read": "setup-read",
    "Work": "setup-work",
    "Quality": "setup-quality",
    "Plan": "study-analysis-plan",
}
WHERE = {
    ("Items", "Names of systems"): ["system-"],
    ("Items", "Undo an import, files as uploaded"): ["url batch-undo-confirm"],
    ("Items", "Metrics"): ["url metrics-list"],
    ("Items", "Protocol's own options (standard of magnitude, sheet or page, pairs)"): [
        "option-standard_score", "option-screen"
    ],
    ("What people read", "Organisation"): ["organisation"],
    ("What people read", "Contact e-mail"): ["contact_email"],
    ("What people read", "Consent as notice or page"): ["has_notice"],
    ("What people read", "`[REPLACE: how long]`"): ["answers_kept_for"],
    ("What people read", "`[REPLACE: ethics]`"): ["ethics_approval"],
    ("What people read", "Consent text"): ["consent"],
    ("What people read", "Minimum age"): ["minimum_age"],
    ("What people read", "Ask to share answers"): ["asks_to_share"],
    ("What people read", "Names and IDs deleted after"): ["identity_days"],
    ("What people read", "Recognise in later studies"): ["recognise_days"],
    ("What people read", "Answers can be withdrawn until"): ["withdrawable_until"],
    ("What people read", "Responsible, complaints"): ["responsible", "complaints"],
    ("What people read", "What people will do (summary)"): ["summary"],
    ("What people read", "Content warning"): ["content_warning"],
    ("What people read", "Language"): ["language"],
    ("What people read", "Instructions"): ["instructions"],
    ("What people read", "Practice before rating"): ["is_practice_on"],
    ("What people read", "Check of the instructions"): ["is_check_on"],
    ("What people read", "Check questions (question, answers, right, why)"): [
        "url study-questions"
    ],
    ("What people read", "Aids"): ["is_aided"],
    ("What people read", "Background questions (8 fields each)"): ["url study-questions"],
    ("Work", "Answers per item (k)"): ["k"],
    ("Work", "Items in a set"): ["set_size"],
    ("Work", "Minutes per set"): ["minutes_per_set"],
    ("Work", "Pay per set, currency"): ["pay_per_set", "currency"],
    ("Work", "Target per hour"): ["pay_target"],
    ("Work", "Bonus, amount, condition"): ["bonus"],
    ("Work", "Most sets per participant"): ["max_sets"],
    ("Work", "Most items per participant"): ["max_items"],
    ("Work", "Items of a group"): ["groups"],
    ("Work", "Order of items"): ["item_order"],
    ("Work", "Minutes a place is kept"): ["lease_minutes"],
    ("Work", "Opening, closing date"): ["opens_at", "closes_at"],
    ("Work", "Close when all answers are in"): ["closes_when_full"],
    ("Quality", "A check after every … items"): ["checks_per_person"],
    ("Quality", "Make a check (item, kind, texts, answers, why)"): ["url check-new"],
    ("Quality", "Screening question: question, answers, rule"): ["label", "choices", "answers"],
    ("Quality", "Screening: help, kind, numbers, several"): ["url study-question"],
    ("Quality", "Words for people who can't take part; words before they start"): [
        "url study-questions"
    ],
    ("Quality", "Eligibility of a protocol (magnitude)"): ["is_eligibility_on"],
    ("Quality", "Quotas"): ["url study-quotas"],
    ("Quality", "People of earlier studies"): ["url study-earlier"],
    ("Quality", "Flags: 18 limits"): ["url study-flag-limits"],
    ("Quality", "Hidden repeats in percent, least distance"): ["repeat_percent"],
    ("Quality", "Qualification, pass mark"): ["is_qualification_on", "pass_mark"],
    # a content warning makes skipping free
    ("Quality", "Skipping"): ["url setup-read"],
    ("Plan", "Hypothesis: system, relation, other, criterion, margin"): [
        "question-0-system", "question-0-relation", "question-0-other", "question-0-criterion",
        "question-0-margin",
    ],
    ("Plan", "Primary criterion"): ["primary"],
    ("Plan", "Smallest difference that matters"): ["smallest"],
    ("Plan", "Separate error for each pair"): ["has_own_errors"],
    ("Plan", "Stop collecting when"): ["stopping"],
    ("Plan", "Exclusion rules (3 fields a condition)"): [
        "condition-0-measure", "condition-0-comparison", "condition-0-threshold"
    ],
    ("Plan", "Further rules in own words"): ["exclusion_rule"],
    ("Plan", "Hide results"): ["hides_results"],
}  # fmt: skip
# not where the table says yet
ELSEWHERE = {
    ("What people read", "Examples"): None,
    ("Quality", "Phones refused"): None,
    ("Plan", "Reason for a change after launch"): None,
}  # fmt: skip


def read_rows() -> list[tuple[str, str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [(row["page"], row["today"], row["version 2"]) for row in csv.DictReader(file)]
    return [row for row in rows if row[0] in PAGES]


def is_set_on_a_page(place: str) -> bool:
    """Whether the second version of the pages has a field or a link for it."""
    return not place.startswith("gone") or "More" in place


@pytest.fixture
def pages(staff_client) -> dict[str, str]:
    """Each page of Set up, of drafts that have between them all that it may show."""
    texts: dict[str, str] = {}
    for number, protocol in enumerate(("magnitude", "dialogue", "fluency")):
        study = make_study(items=2, protocol=protocol, title=f"Study {number}")
        for name in PAGES.values():
            address = reverse(f"admin:{name}", args=[study.pk])
            html = staff_client.get(address).text
            if name == "study-analysis-plan":
                # the row of a rule comes with a button
                html += staff_client.post(address, {"do": "add-rule"}).text
            texts[name] = texts.get(name, "") + html.replace(str(study.pk), "STUDY")
    return texts


def find(html: str, needle: str) -> bool:
    """Whether a page has a field whose name begins so, or a link to this page of the study."""
    if not needle.startswith("url "):
        return f'name="{needle}' in html
    blank = "00000000-0000-0000-0000-000000000000"
    name = needle.removeprefix("url ")
    ids = {"batch-undo-confirm": [blank], "study-question": ["question"]}.get(name, [])
    route = reverse(f"admin:{name}", args=[blank, *ids])
    return bool(re.search(route.replace(blank, '[^/"]+').replace("question/", ""), html))


def test_every_setting_that_the_table_shows_can_be_set_on_its_page(pages):
    missing, known = [], []
    for page, row, place in read_rows():
        if not is_set_on_a_page(place) or (page, row) in ELSEWHERE:
            continue
        needles = WHERE.get((page, row), [])
        known.append((page, row))
        html = pages[PAGES[page]]
        missing += [(page, row, needle) for needle in needles if not find(html, needle)]
        if not needles and not place.startswith(("link", "-")):
            missing.append((page, row, "nothing is said of it"))

    assert missing == []
    assert len(known) > 50


def test_what_is_elsewhere_for_now_is_there(pages):
    for place in filter(None, ELSEWHERE.values()):
        name, needle = place
        assert find(pages[name], needle)


def test_fields_in_sight_are_no_more_than_the_plan_of_the_pages():
    # 5 on What people read with a consent page, 5 on Work, and the checks on Quality; who may take
    # part is asked in sight only where the protocol has a rule
    in_sight = [setting for setting in SETTINGS.values() if setting.place == Place.SIGHT]
    count = {page: sum(setting.page == page for setting in in_sight) for page in ("read", "work")}
    quality = [setting.name for setting in in_sight if setting.page == "quality"]

    assert count == {"read": 5, "work": 5}
    assert quality == ["checks_per_person", "is_eligibility_on"]


def test_every_declared_setting_is_a_column_of_a_study_and_declared_once():
    columns = {field.name for field in Study._meta.get_fields()}

    assert set(SETTINGS) <= columns
    assert all(setting.label for setting in SETTINGS.values())

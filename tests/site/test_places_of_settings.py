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
from tests.builder.test_choosing import TRANSLATIONS, keep, page_of
from tests.builder.test_new_uploads import TEXTS, drop
from tests.builder.test_ratings_pages import drop as drop_ratings
from tests.support.factories import make_study
from tests.support.planned import make_planned_study
from tests.support.rounds import make_round, panel_of

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).with_name("settings_and_places.csv")
# what each field or link of a row sends or leads to, by page
PAGES = {
    "New study": "study-new",
    "Items": "batch-list",
    "What people read": "setup-read",
    "Work": "setup-work",
    "Quality": "setup-quality",
    "Plan": "setup-plan",
    "Invite": "study-invite",
}
WHERE = {
    ("New study", "Instrument"): ["instrument", "url study-instrument"],
    ("New study", "Title"): ["title"],
    ("New study", "File, pasted rows, folder"): ["file", "pasted", "paths"],
    ("New study", "Meaning of each column (one select each)"): ["column-0"],
    ("New study", "Role of each file"): ["role-0"],
    ("New study", "System of each file"): ["system-0"],
    ("New study", "Empty outputs, rows left out, joins"): ["decision-empty_outputs"],
    ("New study", "Comment box"): ["gallery-adequacy_fluency-comments"],
    ("New study", "Also show an input"): ["gallery-arena_preference-added"],
    ("New study", "-"): ["random_part"],
    ("New study", "Encoding, separator, decimal mark"): ["separator", "decimal"],
    ("Items", "Names of systems"): ["system-"],
    ("Items", "Undo an import, files as uploaded"): ["url batch-undo-confirm"],
    ("Items", "Metrics"): ["url results-judges"],
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
    ("What people read", "Examples"): ["url study-example"],
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
    ("Quality", "Phones refused"): ["refuses_phones"],
    ("Plan", "Reason for a change after launch"): ["reason"],
    ("Plan", "Hide results"): ["hides_results"],
    ("Invite", "Experts: names"): ["names"],
    ("Invite", "Experts: what each rates, column"): ["rates", "column", "numbers"],
    ("Invite", "Due date, reminders"): ["due_on", "is_reminded"],
    ("Invite", "-"): ["open-is_from_one_place"],
    ("Invite", "Open link: places, minutes, reward, typed IDs, phones"): [
        "open-places", "open-refuses_phones"
    ],
    ("Invite", "Prolific: places"): ["places"],
    ("Invite", "Prolific: minutes, reward, per minute"): ["url setup-work"],
    ("Invite", "Prolific: 6 outcomes, codes, links"): ["code_no_consent", "code_no_place"],
    ("Invite", "Submissions per person, further sets as bonus, typed IDs, phones"): [
        "sets_per_person", "has_further_sets", "takes_typed_ids", "refuses_phones"
    ],
    ("Invite", "Panel: parameter, pattern, links"): [
        "setting_parameter", "setting_form", "link_completed"
    ],
    ("Invite", "Second round"): ["url study-panel-again"],
}  # fmt: skip
# on a page that isn't one of Set up, as the table says
BEYOND = {
    ("Quality", "Phones refused"): "study-invite",
    ("Work", "Most items per participant"): "study-invite",
}


def read_rows() -> list[tuple[str, str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [(row["page"], row["today"], row["version 2"]) for row in csv.DictReader(file)]
    return [row for row in rows if row[0] in PAGES]


def is_set_on_a_page(place: str) -> bool:
    """Whether the second version of the pages has a field or a link for it."""
    return not place.startswith("gone") or "More" in place


@pytest.fixture
def pages(staff_client, researcher, settings, tmp_path) -> dict[str, str]:
    """Each page of Set up, of drafts that have between them all that it may show."""
    settings.DATA_DIR = tmp_path
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"
    texts: dict[str, str] = {}
    for number, protocol in enumerate(("magnitude", "dialogue", "fluency")):
        study = make_study(items=2, protocol=protocol, title=f"Study {number}")
        for name in list(PAGES.values())[1:]:
            address = reverse(f"admin:{name}", args=[study.pk])
            html = staff_client.get(address).text
            if name == "setup-plan":
                # the row of a rule comes with a button
                html += staff_client.post(address, {"do": "add-rule"}).text
            texts[name] = texts.get(name, "") + html.replace(str(study.pk), "STUDY")
    live = make_planned_study(hides_results=False)
    texts["setup-plan"] += staff_client.get(reverse("admin:setup-plan", args=[live.pk])).text
    for key in ("prolific", "panel"):
        texts["study-invite"] += staff_client.get(panel_of(make_round(live, key))).text
    # the pages of New study, and the draft's own link to another instrument
    empty = TRANSLATIONS.replace("Today it rains.", "")
    texts["study-new"] = "".join(
        [
            staff_client.get(reverse("admin:study-new")).text,
            drop(staff_client, TEXTS).text,
            drop(staff_client, {"empty.csv": empty}).text,
            staff_client.get(page_of(keep(TRANSLATIONS, researcher))).text,
            drop_ratings(staff_client, "item;system;clarity\n1;a;3,5\n1;b;4,0\n").text,
            texts["batch-list"],
        ]
    )
    return texts


def find(html: str, needle: str) -> bool:
    """Whether a page has a field whose name begins so, or a link to this page of the study."""
    if not needle.startswith("url "):
        return f'name="{needle}' in html
    blank = "00000000-0000-0000-0000-000000000000"
    name = needle.removeprefix("url ")
    ids = {
        "batch-undo-confirm": [blank], "study-question": ["question"], "study-example": [1],
        "study-panel-again": ["prolific", 2],
    }.get(name, [])  # fmt: skip
    route = reverse(f"admin:{name}", args=[blank, *ids])
    return bool(re.search(route.replace(blank, '[^/"]+').replace("question/", ""), html))


def test_every_setting_that_the_table_shows_can_be_set_on_its_page(pages):
    missing, known = [], []
    for page, row, place in read_rows():
        if not is_set_on_a_page(place):
            continue
        needles = WHERE.get((page, row), [])
        known.append((page, row))
        html = pages[BEYOND.get((page, row), PAGES[page])]
        missing += [(page, row, needle) for needle in needles if not find(html, needle)]
        if not needles and not place.startswith("link"):
            missing.append((page, row, "nothing is said of it"))

    assert missing == []
    assert len(known) > 60


def test_fields_in_sight_are_no_more_than_the_plan_of_the_pages():
    # 5 on What people read with a consent page, 5 on Work, and the checks on Quality; who may take
    # part is asked in sight only where the protocol has a rule
    in_sight = [setting for setting in SETTINGS.values() if setting.place == Place.SIGHT]
    count = {page: sum(setting.page == page for setting in in_sight) for page in ("read", "work")}
    quality = [setting.name for setting in in_sight if setting.page == "quality"]

    assert count == {"read": 5, "work": 5}
    assert quality == ["checks_per_person", "is_eligibility_on"]


def test_every_declared_setting_is_a_field_of_a_study_and_declared_once():
    columns = {field.name for field in Study._meta.get_fields()}

    assert set(SETTINGS) <= columns
    assert all(setting.label for setting in SETTINGS.values())

"""The settings of a study, each declared once: its page of Set up, its field and its words."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from evalsite.studies.models import Study
from evalsite.studies.set_size import FEWEST
from evalsite.studies.summary_lines import format_money


class Place(StrEnum):
    """Where a page of Set up shows a setting."""

    SIGHT = "sight"
    MORE = "more"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: the column of `Study` with this name, and all that pages say of it."""

    name: str
    page: str  # of Set up
    label: str
    help: str = ""
    place: Place = Place.MORE
    group: str = ""  # its heading under More
    least: int | Decimal | None = None
    most: int | None = None
    lines: int = 0  # of its box, where it is a text of more than a line
    is_frozen: bool = False  # from launch on
    is_shown: bool = False  # to participants: after launch a change makes the next version
    # its value in the line that stands beside More
    words: Callable[[Study], str] | None = None


# the pages of Set up, by key, in the order of the navigation
PAGES = {
    "items": "Items",
    "read": "What people read",
    "work": "Work",
    "quality": "Quality",
    "plan": "Plan",
}

_ORDERS: dict[str, str] = {
    Study.ItemOrder.RANDOM: "random and balanced",
    Study.ItemOrder.UPLOADED: "as uploaded",
    Study.ItemOrder.BLOCKED: "related items together",
}
_GROUPS: dict[str, str] = {
    Study.Groups.FREE: "to anyone",
    Study.Groups.TOGETHER: "to one person",
    Study.Groups.ONCE: "to different people",
}

INSTRUCTIONS, FIRST_PAGE, CONSENT = "Instructions", "First page", "Words of the consent"

_READ = (
    Setting(
        name="organisation",
        page="read",
        label="Run by",
        place=Place.SIGHT,
        is_shown=True,
    ),
    Setting(
        name="contact_email",
        page="read",
        label="E-mail for questions",
        place=Place.SIGHT,
    ),
    Setting(
        name="has_notice",
        page="read",
        label="What people agree to",
        place=Place.SIGHT,
        is_shown=True,
    ),
    Setting(
        name="answers_kept_for",
        page="read",
        label="Answers are kept for",
        help="For example “10 years”. People have to know it before they agree.",
        place=Place.SIGHT,
        is_shown=True,
    ),
    Setting(
        name="ethics_approval",
        page="read",
        label="Ethics approval",
        help="Leave it empty if there is none. The sentence goes too.",
        place=Place.SIGHT,
        is_shown=True,
    ),
    Setting(
        name="instructions",
        page="read",
        label="Instructions",
        help="Markdown. Empty: the instrument’s own words, which stand below.",
        group=INSTRUCTIONS,
        lines=6,
        is_shown=True,
    ),
    Setting(
        name="is_practice_on",
        page="read",
        label="Practice first",
        help="Practice items come first, each with an explanation. They never count.",
        group=INSTRUCTIONS,
        is_frozen=True,
    ),
    Setting(
        name="is_check_on",
        page="read",
        label="Check that people understood",
        help=(
            "Questions about the instructions, two tries. Who misses both doesn’t go on; nobody is "
            "rejected for it, and their minutes are paid as a bonus."
        ),
        group=INSTRUCTIONS,
        is_frozen=True,
    ),
    Setting(name="is_aided", page="read", label="Aids", group=INSTRUCTIONS, is_frozen=True),
    Setting(
        name="title",
        page="read",
        label="Title",
        group=FIRST_PAGE,
        is_shown=True,
    ),
    Setting(
        name="summary",
        page="read",
        label="What people will do",
        help="In two sentences.",
        group=FIRST_PAGE,
        lines=3,
        is_shown=True,
    ),
    Setting(
        name="content_warning",
        page="read",
        label="Content warning",
        help=(
            "Say what may upset people. They then see an item only when they ask for it, and can "
            "skip any without losing pay."
        ),
        group=FIRST_PAGE,
        lines=2,
        is_shown=True,
    ),
    Setting(
        name="language",
        page="read",
        label="Language of your texts",
        help="A code such as en, de or pt-BR. Screen readers need it to pronounce them.",
        group=FIRST_PAGE,
        is_shown=True,
    ),
    Setting(
        name="consent",
        page="read",
        label="Your own words",
        help="Markdown. They come before the sentences that follow your settings.",
        group=CONSENT,
        lines=4,
        is_shown=True,
    ),
    Setting(
        name="minimum_age",
        page="read",
        label="Minimum age",
        help="People confirm it when they agree. Empty: nobody is asked.",
        group=CONSENT,
        least=1,
        most=120,
        is_frozen=True,
    ),
    Setting(
        name="identity_days",
        page="read",
        label="Names and IDs are deleted after",
        help="Days after the study closes, from 1 to 180.",
        group=CONSENT,
        least=1,
        most=180,
        is_shown=True,
    ),
    Setting(
        name="recognise_days",
        page="read",
        label="People are recognised in later studies for",
        help=(
            "Days. A code made from the platform ID of everyone who agrees is kept this long, so "
            "that later studies can keep people out or require them. 0 keeps none."
        ),
        group=CONSENT,
        most=3650,
        is_frozen=True,
    ),
    Setting(
        name="withdrawable_until",
        page="read",
        label="Answers can be withdrawn until",
        help="That day included. Empty: until the study closes.",
        group=CONSENT,
        is_shown=True,
    ),
    Setting(
        name="responsible",
        page="read",
        label="Responsible for the data",
        help="Empty: who runs the study.",
        group=CONSENT,
        is_shown=True,
    ),
    Setting(
        name="complaints",
        page="read",
        label="Complaints go to",
        help="Empty: the e-mail for questions.",
        group=CONSENT,
        is_shown=True,
    ),
    Setting(
        name="asks_to_share",
        page="read",
        label="Ask if answers may be published",
        help="A box that nobody has to tick. Without it, nothing of a person is published.",
        group=CONSENT,
        is_frozen=True,
    ),
)

_WORK = (
    Setting(
        name="k",
        page="work",
        label="Answers per item",
        place=Place.SIGHT,
        least=1,
        most=100,
        is_frozen=True,
    ),
    Setting(
        name="set_size",
        page="work",
        label="Items in a set",
        place=Place.SIGHT,
        least=1,
        most=200,
        is_frozen=True,
    ),
    Setting(
        name="minutes_per_set",
        page="work",
        label="Minutes people are told",
        place=Place.SIGHT,
        least=1,
        most=480,
        is_shown=True,
    ),
    Setting(
        name="pay_per_set",
        page="work",
        label="Pay for a set",
        help="Empty: nobody is paid.",
        place=Place.SIGHT,
        is_shown=True,
    ),
    Setting(
        name="currency",
        page="work",
        label="Currency",
        place=Place.SIGHT,
        is_shown=True,
    ),
    Setting(
        name="max_sets",
        page="work",
        label="Sets per person",
        help="Empty: no limit.",
        least=1,
        is_frozen=True,
        words=lambda study: f"sets per person: {study.max_sets or 'no limit'}",
    ),
    Setting(
        name="max_items",
        page="invite",
        label="Most pages per person",
        help="Empty: no limit. Checks and pages shown twice aren’t counted.",
        least=1,
        is_frozen=True,
        words=lambda study: f"at most {study.max_items:,} pages" if study.max_items else "",
    ),
    Setting(
        name="item_order",
        page="work",
        label="Order",
        is_frozen=True,
        words=lambda study: f"order: {_ORDERS[study.item_order]}",
    ),
    Setting(
        name="groups",
        page="work",
        label="Items that share an input",
        is_frozen=True,
        words=lambda study: f"pages with one input: {_GROUPS[study.groups]}",
    ),
    Setting(
        name="lease_minutes",
        page="work",
        label="Minutes a page is kept for a person",
        help="At most, once they have begun. Then it goes to someone else.",
        least=10,
        most=1440,
        is_frozen=True,
    ),
    Setting(
        name="pay_target",
        page="work",
        label="Your target per hour",
        help="Only your team sees it.",
        least=Decimal("0.01"),
    ),
    Setting(
        name="bonus",
        page="work",
        label="Bonus for people who finish all their sets",
        help="Empty: none. It needs a number of sets per person.",
        least=Decimal("0.01"),
        is_frozen=True,
        words=lambda study: (
            f"bonus: {format_money(study.bonus, study.currency) if study.bonus else 'none'}"
        ),
    ),
    Setting(
        name="opens_at",
        page="work",
        label="Opens",
        help="Empty: at launch.",
        words=lambda study: "opens on a date" if study.opens_at else "opens at launch",
    ),
    Setting(
        name="closes_at",
        page="work",
        label="Closes",
        help="Empty: when you close it.",
        words=lambda study: "closes on a date" if study.closes_at else "",
    ),
    Setting(
        name="closes_when_full",
        page="work",
        label="Close when all answers are in",
        words=lambda study: (
            "closes when all answers are in"
            if study.closes_when_full
            else ("" if study.closes_at else "closes by hand")
        ),
    ),
)

_QUALITY = (
    Setting(
        name="checks_per_person",
        page="quality",
        label="Checks per person",
        place=Place.SIGHT,
        least=0,
        most=3,
        is_frozen=True,
    ),
    Setting(
        name="is_eligibility_on",
        page="quality",
        label="Ask who may take part",
        place=Place.SIGHT,
        is_frozen=True,
    ),
    Setting(
        name="repeat_percent",
        page="quality",
        label="Pages shown twice",
        help=(
            "With the outputs in another order, to see how steady people are. It takes "
            f"{FEWEST} pages a person, and never counts in results."
        ),
        most=50,
        is_frozen=True,
        words=lambda study: f"pages shown twice: {'yes' if study.repeat_percent else 'none'}",
    ),
    Setting(
        name="is_qualification_on",
        page="quality",
        label="A test before the work",
        help=(
            "Practice items with right answers, asked with two tries. Without such items it asks "
            "questions on the instructions. People who fail get no work."
        ),
        is_frozen=True,
        words=lambda study: (
            f"test: passed with {study.pass_mark}%" if study.is_qualification_on else "test: none"
        ),
    ),
    Setting(
        name="pass_mark",
        page="quality",
        label="Pass mark in percent",
        least=1,
        most=100,
        is_frozen=True,
    ),
)

_PLAN = (
    Setting(
        name="hides_results",
        page="plan",
        label="Hide results until the study is closed",
        help=(
            "No page or file then gives systems with their answers. An owner can show them "
            "earlier, and the report says so."
        ),
        place=Place.SIGHT,
        is_frozen=True,
    ),
)

SETTINGS = {setting.name: setting for setting in (*_READ, *_WORK, *_QUALITY, *_PLAN)}


def list_settings(page: str, place: Place | None = None) -> list[Setting]:
    """Return the settings of a page, in its order; `place`: only those shown there."""
    return [
        setting
        for setting in SETTINGS.values()
        if setting.page == page and place in (None, setting.place)
    ]


def name_page(setting: str) -> str:
    """Return the name of the address at which this setting is changed."""
    return f"setup-{SETTINGS[setting].page}"


def describe_more(page: str, study: Study) -> str:
    """Return the line beside More: the values of settings that aren't in sight."""
    stated = [setting.words(study) for setting in list_settings(page, Place.MORE) if setting.words]
    line = " · ".join(filter(None, stated))
    return line[:1].upper() + line[1:]

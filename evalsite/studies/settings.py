"""The settings of a study, each declared once: its page of Set up, its value and its words."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from evalsite.lib.money import format_money

if TYPE_CHECKING:
    from evalsite.studies.models import Study

# with fewer items a person, nobody is asked twice: each pair of answers would be a large part
FEWEST = 24


class ItemOrder(models.TextChoices):
    RANDOM = "random", "random for each participant"
    UPLOADED = "uploaded", "as uploaded"
    BLOCKED = "blocked", "blocked: related items follow one another"


class Groups(models.TextChoices):
    FREE = "free", "free: any items in a set"
    TOGETHER = "together", "together: items of a group follow one another"
    ONCE = "once", "once: a participant meets a group once"


class Licence(models.TextChoices):
    CC_BY = "CC-BY-4.0", "CC BY 4.0: free to use, with your names"
    CC_BY_SA = "CC-BY-SA-4.0", "CC BY-SA 4.0: the same, and what is made of it stays free"
    CC0 = "CC0-1.0", "CC0: free to use"


class Place(StrEnum):
    """Where a page of Set up shows a setting."""

    SIGHT = "sight"
    MORE = "more"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: an attribute of `Study` with this name, and all that pages say of it."""

    name: str
    page: str  # of Set up
    label: str
    help: str = ""
    place: Place = Place.MORE
    group: str = ""  # its heading under More
    # how it is read, checked and entered; none: `Study` has a column of this name
    kind: type[models.Field] | None = None
    default: Any = None
    choices: type[models.TextChoices] | None = None
    longest: int | None = None
    pattern: tuple[str, str] | None = None  # that its text has, and what to say of another
    least: int | Decimal | None = None
    most: int | None = None
    lines: int = 0  # of its box, where it is a text of more than a line
    is_frozen: bool = False  # from launch on
    is_shown: bool = False  # to participants: after launch a change makes the next version
    # its value in the line that stands beside More
    words: Callable[[Any], str] | None = None

    @property
    def column(self) -> str:
        """Return the column that stores it; pages with an item don't read `texts`.

        A setting that comes to the page "read", or leaves it, takes its values along: migrate them.
        """
        if self.kind is None:
            return self.name
        is_read = self.page == "read" and not issubclass(self.kind, models.BooleanField)
        return "texts" if is_read or self.page in ("team", "about") else "settings"

    def make_field(self) -> models.Field:
        """Return the field that checks its values and enters them in forms."""
        assert self.kind is not None
        options: dict[str, Any] = {
            "default": self.default,
            "blank": self.default in (None, ""),
            "null": self.default is None,
            "max_length": self.longest,
            "choices": self.choices and self.choices.choices,
            "validators": [
                *([] if self.pattern is None else [RegexValidator(*self.pattern)]),
                *([] if self.least is None else [MinValueValidator(self.least)]),
                *([] if self.most is None else [MaxValueValidator(self.most)]),
            ],
        }
        if issubclass(self.kind, models.DecimalField):
            options |= {"max_digits": 8, "decimal_places": 2}
        return self.kind(**options)


_flag = partial(Setting, kind=models.BooleanField, default=False)
_line = partial(Setting, kind=models.CharField, default="", longest=200)
_text = partial(Setting, kind=models.TextField, default="")
_whole = partial(Setting, kind=models.PositiveIntegerField, least=0)
_amount = partial(Setting, kind=models.DecimalField, least=0)

# the pages of Set up, by key, in the order of the navigation
PAGES = {
    "items": "Items",
    "read": "What people read",
    "work": "Work",
    "quality": "Quality",
    "plan": "Plan",
}

_ORDERS: dict[str, str] = {
    ItemOrder.RANDOM: "random and balanced",
    ItemOrder.UPLOADED: "as uploaded",
    ItemOrder.BLOCKED: "related items together",
}
_GROUPS: dict[str, str] = {
    Groups.FREE: "to anyone",
    Groups.TOGETHER: "to one person",
    Groups.ONCE: "to different people",
}

INSTRUCTIONS, FIRST_PAGE, CONSENT = "Instructions", "First page", "Words of the consent"

_READ = (
    _line(
        name="organisation",
        page="read",
        label="Run by",
        place=Place.SIGHT,
        longest=120,
        is_shown=True,
    ),
    Setting(
        name="contact_email",
        page="read",
        label="E-mail for questions",
        place=Place.SIGHT,
        kind=models.EmailField,
        default="",
    ),
    _flag(
        name="has_notice",
        page="read",
        label="What people agree to",
        place=Place.SIGHT,
        is_shown=True,
    ),
    _line(
        name="answers_kept_for",
        page="read",
        label="Answers are kept for",
        help="For example “10 years”. People have to know it before they agree.",
        place=Place.SIGHT,
        longest=120,
        is_shown=True,
    ),
    _line(
        name="ethics_approval",
        page="read",
        label="Ethics approval",
        help="Leave it empty if there is none. The sentence goes too.",
        place=Place.SIGHT,
        is_shown=True,
    ),
    _text(
        name="instructions",
        page="read",
        label="Instructions",
        help="Markdown. Empty: the instrument’s own words, which stand below.",
        group=INSTRUCTIONS,
        lines=6,
        is_shown=True,
    ),
    _flag(
        name="is_practice_on",
        page="read",
        label="Practice first",
        help="Practice items come first, each with an explanation. They never count.",
        group=INSTRUCTIONS,
        default=True,
        is_frozen=True,
    ),
    _flag(
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
    _flag(
        name="is_aided",
        page="read",
        label="Aids",
        group=INSTRUCTIONS,
        is_frozen=True,
    ),
    Setting(
        name="title",
        page="read",
        label="Title",
        group=FIRST_PAGE,
        is_shown=True,
    ),
    _text(
        name="summary",
        page="read",
        label="What people will do",
        help="In two sentences.",
        group=FIRST_PAGE,
        lines=3,
        is_shown=True,
    ),
    _text(
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
        kind=models.CharField,
        default="en",
        longest=35,
        pattern=(
            r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z",
            "Enter a language code, such as en, de or pt-BR.",
        ),
        is_shown=True,
    ),
    _text(
        name="consent",
        page="read",
        label="Your own words",
        help="Markdown. They come before the sentences that follow your settings.",
        group=CONSENT,
        lines=4,
        is_shown=True,
    ),
    _whole(
        name="minimum_age",
        page="read",
        label="Minimum age",
        help="People confirm it when they agree. Empty: nobody is asked.",
        group=CONSENT,
        least=1,
        most=120,
        is_frozen=True,
    ),
    _whole(
        name="identity_days",
        page="read",
        label="Names and IDs are deleted after",
        help="Days after the study closes, from 1 to 180.",
        group=CONSENT,
        default=90,
        least=1,
        most=180,
        is_shown=True,
    ),
    _whole(
        name="recognise_days",
        page="read",
        label="People are recognised in later studies for",
        help=(
            "Days. A code made from the platform ID of everyone who agrees is kept this long, so "
            "that later studies can keep people out or require them. 0 keeps none."
        ),
        group=CONSENT,
        default=0,
        most=3650,
        is_frozen=True,
    ),
    Setting(
        name="withdrawable_until",
        page="read",
        label="Answers can be withdrawn until",
        help="That day included. Empty: until the study closes.",
        group=CONSENT,
        kind=models.DateField,
        is_shown=True,
    ),
    _line(
        name="responsible",
        page="read",
        label="Responsible for the data",
        help="Empty: who runs the study.",
        group=CONSENT,
        is_shown=True,
    ),
    _line(
        name="complaints",
        page="read",
        label="Complaints go to",
        help="Empty: the e-mail for questions.",
        group=CONSENT,
        is_shown=True,
    ),
    _flag(
        name="asks_to_share",
        page="read",
        label="Ask if answers may be published",
        help="A box that nobody has to tick. Answers of people who don’t tick it aren’t "
        "published. If you don’t ask, what you publish has everyone’s answers.",
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
    _whole(
        name="set_size",
        page="work",
        label="Items in a set",
        place=Place.SIGHT,
        default=10,
        least=1,
        most=200,
        is_frozen=True,
    ),
    _whole(
        name="minutes_per_set",
        page="work",
        label="Minutes people are told",
        place=Place.SIGHT,
        least=1,
        most=480,
        is_shown=True,
    ),
    _amount(
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
        kind=models.CharField,
        default="GBP",
        longest=3,
        pattern=(r"\A[A-Z]{3}\Z", "Enter three capital letters, such as GBP."),
        is_shown=True,
    ),
    _whole(
        name="max_sets",
        page="work",
        label="Sets per person",
        help="Empty: no limit.",
        least=1,
        is_frozen=True,
        words=lambda study: f"sets per person: {study.max_sets or 'no limit'}",
    ),
    _whole(
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
        kind=models.CharField,
        default=ItemOrder.RANDOM,
        choices=ItemOrder,
        is_frozen=True,
        words=lambda study: f"order: {_ORDERS[study.item_order]}",
    ),
    Setting(
        name="groups",
        page="work",
        label="Items that share an input",
        kind=models.CharField,
        default=Groups.FREE,
        choices=Groups,
        is_frozen=True,
        words=lambda study: f"pages with one input: {_GROUPS[study.groups]}",
    ),
    _whole(
        name="lease_minutes",
        page="work",
        label="Minutes a page is kept for a person",
        help="At most, once they have begun. Then it goes to someone else.",
        default=60,
        least=10,
        most=1440,
        is_frozen=True,
    ),
    _amount(
        name="pay_target",
        page="work",
        label="Your target per hour",
        help="Only your team sees it.",
        least=Decimal("0.01"),
    ),
    _amount(
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
    _flag(
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
    _whole(
        name="checks_per_person",
        page="quality",
        label="Checks per person",
        place=Place.SIGHT,
        default=0,
        # the page offers three; older studies, which a bundle brings, had up to one for each item
        most=500,
        is_frozen=True,
    ),
    _flag(
        name="is_eligibility_on",
        page="quality",
        label="Ask who may take part",
        place=Place.SIGHT,
        default=True,
        is_frozen=True,
    ),
    _whole(
        name="repeat_percent",
        page="quality",
        label="Pages shown twice",
        help=(
            "With the outputs in another order, to see how steady people are. It takes "
            f"{FEWEST} pages a person, and never counts in results."
        ),
        default=0,
        most=50,
        is_frozen=True,
        words=lambda study: f"pages shown twice: {'yes' if study.repeat_percent else 'none'}",
    ),
    _flag(
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
    _whole(
        name="pass_mark",
        page="quality",
        label="Pass mark in percent",
        default=75,
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

_TEAM = (
    _text(
        name="description",
        page="team",
        label="Note for colleagues",
    ),
)

# of Files: what bundles, datasets and the public page say of the data
_ABOUT = (
    _text(
        name="authors",
        page="about",
        label="Authors",
        help="One per line, with an ORCID after the name if there is one: Jane Mori "
        "0000-0002-1825-0097",
    ),
    Setting(
        name="licence",
        page="about",
        label="Licence of the ratings",
        kind=models.CharField,
        default="",
        choices=Licence,
        longest=20,
    ),
    Setting(
        name="homepage",
        page="about",
        label="Public page",
        help="Its address, once it is on the web.",
        kind=models.URLField,
        default="",
        longest=200,
    ),
)

SETTINGS = {
    setting.name: setting for setting in (*_READ, *_WORK, *_QUALITY, *_PLAN, *_TEAM, *_ABOUT)
}


def list_settings(page: str, place: Place | None = None) -> list[Setting]:
    """Return the settings of a page, in its order; `place`: only those shown there."""
    return [
        setting
        for setting in SETTINGS.values()
        if setting.page == page and place in (None, setting.place)
    ]


def name_page(setting: str) -> str:
    """Return the name of the address at which this setting is changed."""
    page = SETTINGS[setting].page
    return f"setup-{page}" if page in PAGES else f"study-{page}"


def describe_more(page: str, study: "Study") -> str:
    """Return the line beside More: the values of settings that aren't in sight."""
    stated = [setting.words(study) for setting in list_settings(page, Place.MORE) if setting.words]
    line = " · ".join(filter(None, stated))
    return line[:1].upper() + line[1:]

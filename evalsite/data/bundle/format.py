"""The format of bundles: file names, format versions, and the fields that each row carries."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import UUID

from evalsite.data.files.columns import (
    ID,
    ISO,
    NUMBER,
    ONE_OF,
    PARTICIPANT,
    TEXT,
    TIME,
    WHOLE,
    YES_NO,
    Column,
    list_files_of,
)
from evalsite.studies.models import Study
from evalsite.studies.settings import SETTINGS

__all__ = ["ID", "NUMBER", "ONE_OF", "TEXT", "TIME", "WHOLE", "YES_NO", "Column"]

FORMAT = "evalsite-bundle"
# 3: the instrument is in the single shape `evalsite.instrument/1`; before, its questions alone
# 4: all that an answer says is in rows of one shape; before, passages and typed numbers were apart
FORMAT_VERSION = 4
# the first format that is read
FIRST_VERSION = 2

# what other apps add to study.json about the software, such as the version of methods
SOFTWARE_FIELDS: dict[str, str] = {}

# the figures of the report of the data in the bundle, if the study's was computed
REPORT = "report/figures.json"


@dataclass(frozen=True)
class BundleReport:
    """The report of a bundle."""

    # what report/figures.json holds: "basis", facts that no row holds, and "figures"
    figures: dict[str, Any]
    # the same as Markdown, with which the README begins
    text: str
    # all that was computed, for the comparison with scripts
    computed: dict[str, Any]


@dataclass(frozen=True)
class ReportSource:
    """Where reports come from."""

    # the kept one of today's data, or None; with the SHA-256 of the bundle's ratings
    find: Callable[[Study, str], BundleReport | None]
    # that of the rows in this database, from its basis; with what the report of all answers found
    compute: Callable[..., BundleReport]
    # the study's analysis plan as Markdown; with the data, what came of it too
    write_plan: Callable[..., str]
    # writes the public page of the study in this database into a new folder
    write_pages: Callable[..., None]
    # writes a dataset of the study, with its card, into a new folder
    write_dataset: Callable[..., Any]


# one at most, put here by the app that makes reports
REPORT_SOURCES: list[ReportSource] = []

README, CHECKSUMS, STUDY = "README.md", "checksums.txt", "study.json"
ANALYSIS_PLAN = "analysis-plan.json"
# the line of each version of the plan, to compare with what was published
PLAN_LINES = "plan.txt"
DATAPACKAGE, CODEBOOK, CODEBOOK_PAGE = "datapackage.json", "codebook.csv", "codebook.html"
# of studies in which errors are marked, in the form of WMT
MQM_FILE = "data/mqm.tsv"
PLAN, EXCLUSIONS = "design/plan.csv", "data/exclusions.csv"
ITEM_ROWS, PEOPLE_ROWS = "records/items.jsonl", "records/participants.jsonl"
ANNOTATION_ROWS, EXCLUSION_ROWS = "records/annotations.jsonl", "records/exclusions.jsonl"
METRIC_ROWS = "records/metrics.jsonl"
# only where something was changed after the launch, and where judges have labelled
CHANGE_ROWS = "records/changes.jsonl"
JUDGE_ROWS = "records/judge_labels.jsonl"
# what a bundle without data holds of data/ and records/
WITHOUT_DATA = frozenset(["items"])
# how the names of answers to questions on the instructions begin; all others are entry answers
ON_INSTRUCTIONS = ("qualification-", "check-")


# what a study without a version shows
DRAFT, DRAFT_CONTENT = "draft", "content.json"


def name_version(number: int | str, file: str = "") -> str:
    """Return versions/2.json, or a readable file beside it such as versions/2/scales.md."""
    return f"versions/{number}/{file}" if file else f"versions/{number}.json"


def name_data(file: str) -> str:
    return f"data/{file}.csv"


def hash_columns(study: Study) -> str:
    """Return what names the column schema: a hash of all tables with their columns, in order."""
    files = list_files_of(study)
    tables = {name: [column.name for column in columns] for name, columns in files.items()}
    tables |= {name: [column.name for column in columns] for name, columns in OWN_FILES.items()}
    return sha256(dump(tables).encode()).hexdigest()


# --- fields of the study and of its plan; those of rows are in tables.py ------------------

STUDY_FIELDS = (
    "protocol", "options", "state", "is_demo", "seed", "created_at", "launched_at", "closed_at",
    "questions", "unused_numbers", "words_per_page",
    *(name for name in SETTINGS if name != "pay_target"),
)  # fmt: skip
# written only where there is something, so that other bundles stay as they were
STUDY_FIELDS_IF_ANY = (
    "questions", "recognise_days", "is_check_on", "minimum_age", "content_warning",
    "asks_to_share", "opens_at", "closes_when_full", "description", "unused_numbers",
    "has_notice", "answers_kept_for", "ethics_approval", "responsible", "complaints",
    "withdrawable_until", "identity_days", "hides_results", "words_per_page", "authors",
    "licence", "homepage",
)  # fmt: skip
# of a bundle for the public: how many people and annotations aren't in it
LEFT_OUT_COUNTS = "left_out"
# of a study: the version of an instrument built on the web from which it was made
BUILT = "built"
ANALYSIS_PLAN_FIELDS = (
    "thresholds", "exclusion_rule", "thresholds_changed_at", "rule_changed_at", "changed_at",
    "primary", "margins", "primary_changed_at", "margins_changed_at",
)  # fmt: skip
# of the plan, what bundles written before lack
LATER_PLAN_FIELDS: dict[str, Any] = {
    "primary": "", "margins": [], "primary_changed_at": None, "margins_changed_at": None,
}  # fmt: skip
# the key of later parts in analysis-plan.json, and those of them that are fields of the plan
FROZEN = "frozen"
FROZEN_FIELDS = ("hypotheses", "smallest", "stopping", "has_own_errors")

# --- files of the bundle's own ------------------------------------------------------------

PLAN_COLUMNS = (
    Column(
        name="item",
        meaning="The item that has this place.",
        type=ID,
        allowed="as item in data/items.csv",
    ),
    Column(
        name="number",
        meaning="Which of the item's places this is.",
        type=WHOLE,
        allowed="1 and more",
        derived="1 to the answers asked for each item; from 1001 on: added later, as a top-up",
    ),
    Column(
        name="position",
        meaning="The place's position in the order in which places are dealt.",
        type=WHOLE,
        allowed="0 and more",
        derived="from the study's seed; items that stay together share a position",
    ),
    Column(
        name="arrangement",
        meaning="The number of the order in which the place shows the outputs, and where groups "
        "stay together the item.",
        type=WHOLE,
        allowed="0 and more",
        derived="from the study's seed",
    ),
    Column(
        name="order",
        meaning="The outputs in the order in which the place shows them.",
        type=TEXT,
        allowed="numbers of the item's outputs from 1, in that order, separated by spaces",
        derived="from arrangement",
    ),
)
EXCLUSION_COLUMNS = (
    Column(
        name="participant",
        meaning="The participant who is left out of analysis.",
        type=PARTICIPANT.type,
        missing="one annotation is left out",
    ),
    Column(
        name="annotation",
        meaning="The annotation that is left out of analysis.",
        type=ID,
        allowed="as annotation in data/annotations.csv",
        missing="a participant is left out, with all annotations",
    ),
    Column(name="reason", meaning="The reason given for it.", type=TEXT),
    Column(
        name="rule",
        meaning="The rule that was applied.",
        type=TEXT,
        missing="no rule, but a decision about this one",
    ),
    Column(name="decided_at", meaning="When it was decided.", type=TIME, allowed=ISO),
    Column(
        name="revoked_at",
        meaning="When the decision was taken back.",
        type=TIME,
        allowed=ISO,
        missing="the exclusion is active",
    ),
)
OWN_FILES: dict[str, tuple[Column, ...]] = {PLAN: PLAN_COLUMNS, EXCLUSIONS: EXCLUSION_COLUMNS}


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What goes into a bundle."""

    has_data: bool = True
    has_free_text: bool = False
    # answers to entry questions: only for people who may see identities
    has_entry_answers: bool = True
    # only people who agreed to share their answers, in a study that asks
    is_public: bool = False
    # names of people, institutions and sites are replaced: `anonymous.py` does it
    is_anonymous: bool = False

    @property
    def is_masked(self) -> bool:
        """Return whether e-mail addresses and long numbers are replaced in what people wrote."""
        return self.is_public and self.has_free_text


def to_plain(value: Any) -> Any:
    """Return the value of a field as JSON holds it."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    return value


def write_order(positions: Sequence[int]) -> str:
    """Write positions of outputs as a table has them: numbers from 1, separated by spaces."""
    return " ".join(str(position + 1) for position in positions)


def write_checksums(sums: Mapping[str, str]) -> str:
    """Write checksums as sha256sum does, sorted by name."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def dump(data: Any) -> str:
    """Write one line of JSON, the same for equal data, without escapes for non-ASCII characters."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False)

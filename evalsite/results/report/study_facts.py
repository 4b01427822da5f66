"""What was evaluated and how the ratings came about, for reports: plain facts, no judgement."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.formats import date_format

import evalsite
from evalsite.annotation.models import RatingsFile
from evalsite.imports.models import MetricFile
from evalsite.protocol import Criterion
from evalsite.quality.exclusions import count_reasons
from evalsite.results.models import Report
from evalsite.studies.models import Batch, Study, StudyVersion
from evalsite.studies.summary_lines import count_of, format_money, list_of
from evalsite.studies.version_cache import read_instrument
from evalsite.studies.versions import shown_content

Rows = list[tuple[str, str]]

_GROUPS = {
    "free": "any items of an input in a set",
    "together": "items of an input follow one another in one set",
    "once": "a participant meets an input in one item only",
}
_ORDERS = {
    "random": "random for each participant",
    "uploaded": "as uploaded",
    "blocked": "what hangs together follows one another",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One criterion as raters were asked it."""

    key: str
    label: str
    definition: str  # Markdown
    question: str
    scale: str  # in words
    answers: tuple[str, ...]  # low to high; empty for magnitudes


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that a report tells beside its figures. `settings` are those that participants met."""

    title: str
    organisation: str
    protocol: str
    origin: str
    language: str
    version: str
    criteria: tuple[Asked, ...]
    data: Mapping[str, Any]  # of the report: counts, systems, moments
    settings: Mapping[str, Any]
    texts: Mapping[str, str]
    has_practice: bool
    exclusions: tuple[tuple[str, int], ...]  # reason, and how often it stands
    import_notes: tuple[str, ...]  # what was left out, merged or decoded at import, by file
    plan: Mapping[str, Any]  # as it stood when the report was made; {} of an older report
    software: str
    methods: str
    seed: int
    draws: int
    sha256: str
    made_at: datetime

    @property
    def is_collected_here(self) -> bool:
        """Whether the settings of the study say how its ratings came about."""
        origins = self.data["origins"]
        return bool(origins["own"] or origins["simulated"])


def collect_facts(study: Study, report: Report) -> Facts:
    """Collect what the report holds, and what its version of the study says."""
    version, found = _find_version(study, report), report.content["kept"]
    if version is None or version == study.version:
        content, asked = shown_content(study), study.config
    else:
        content, asked = version.content, read_instrument(study.pk, version.pk, study.protocol)
    texts = content["texts"]
    wanted = {criterion["key"] for criterion in found["criteria"]}
    return Facts(
        title=texts["title"],
        organisation=texts["organisation"],
        protocol=asked.title,
        origin=asked.source.cite,
        language=texts["language"],
        version="" if version is None else str(version),
        criteria=tuple(
            _describe(one) for one in asked.criteria if one.key in wanted
        ),
        data=found["data"],
        settings=content["settings"],
        texts=texts,
        has_practice=bool(asked.practice) and content["settings"]["is_practice_on"],
        exclusions=_list_reasons(study, report),
        import_notes=_list_import_notes(study, report),
        plan=report.content.get("plan", {}),
        software=f"Evalsite {report.content.get('software', evalsite.__version__)}",
        methods=found["methods_version"],
        seed=found["seed"],
        draws=found["draws"],
        sha256=report.sha256,
        made_at=report.made_at,
    )  # fmt: skip


def _find_version(study: Study, report: Report) -> StudyVersion | None:
    """The version of the study when the report was made; the newest one for an older report."""
    number = report.content.get("version")
    if "version" not in report.content or study.version is None:
        return study.version
    return study.versions.filter(number=number).first()


def _describe(criterion: Criterion) -> Asked:
    return Asked(
        key=criterion.key,
        label=criterion.label,
        definition=criterion.definition,
        question=criterion.question,
        scale=criterion.scale.words(),
        answers=criterion.scale.name_choices(),
    )


def _list_reasons(study: Study, report: Report) -> tuple[tuple[str, int], ...]:
    """As they stood when the report was made; as they stand now for an older report."""
    found = report.content.get("exclusions")
    given = count_reasons(study) if found is None else found
    return tuple((str(reason), int(number)) for reason, number in given)


def _list_import_notes(study: Study, report: Report) -> tuple[str, ...]:
    """List what researchers confirmed at the imports that the report has data of."""
    files: list[Batch | RatingsFile | MetricFile] = [*study.batches.order_by("uploaded_at")]
    files += study.ratings_files.order_by("uploaded_at")
    files += study.metric_files.order_by("uploaded_at")
    return tuple(
        f"{file.file_name}: {note['text']}"
        for file in files
        if file.uploaded_at <= report.made_at
        for note in file.import_notes
    )


# --- in words -----------------------------------------------------------------------------


def describe_evaluated(facts: Facts) -> Rows:
    """What was rated, and by how many, as names and words."""
    data = facts.data
    raters = count_of(data["participants"], "participant" if data["raters_known"] else "rater")
    rows = [
        ("Protocol", facts.protocol),
        ("After", facts.origin),
        ("Criteria", list_of([one.label for one in facts.criteria])),
        ("Systems", list_of(list(data["systems"]))),
        ("Inputs", describe_inputs(facts)),
        ("Ratings", f"{data['ratings']:,}, in {count_of(data['annotations'], 'annotation')}"),
        ("Raters", raters if data["raters_known"] else f"{raters}, not single persons"),
        ("Collected", describe_dates(facts)),
        ("Origin of ratings", describe_origins(facts)),
        ("Left out", describe_left_out(facts)),
        ("Confirmed at import", " ".join(facts.import_notes)),
        ("Organisation", facts.organisation),
        ("Language of the study", facts.language),
    ]
    return [(name, words) for name, words in rows if words]


def describe_inputs(facts: Facts) -> str:
    """ "37, in 15 clusters and 111 items": what was drawn from, and what was shown."""
    data, parts = facts.data, []
    if data["clusters"]:
        parts.append(count_of(data["clusters"], "cluster"))
    parts.append(count_of(data["items"], "item"))
    return f"{data['groups']:,}, in {list_of(parts)}"


def describe_origins(facts: Facts) -> str:
    """ "300 collected with this software, 20 simulated": where ratings are from."""
    words = {
        "own": "collected with this software",
        "imported": "imported: collected elsewhere",
        "simulated": "simulated: no data about anything",
    }
    origins = facts.data["origins"]
    return "; ".join(f"{origins[key]:,} {text}" for key, text in words.items() if origins[key])


def describe_dates(facts: Facts) -> str:
    first, last = (read_day(facts.data.get(key)) for key in ("first_at", "last_at"))
    return first if first == last else f"{first} to {last}"


def read_day(moment: str | None) -> str:
    """The day of a moment as the report holds it, in words; "" where there is none."""
    return date_format(datetime.fromisoformat(moment), "j F Y") if moment else ""


def describe_left_out(facts: Facts) -> str:
    found = facts.data["left_out"]
    words = {
        "excluded": "excluded", "ignored": "ignored by raters", "reported": "reported by raters"
    }  # fmt: skip
    known = [f"{count_of(found[key], 'annotation')} {words[key]}" for key in words if found[key]]
    # reports of earlier versions do not have these
    if again := found.get("rated_twice"):
        known.append(f"{count_of(again, 'second rating')} of an output by the same participant")
    if empty := found.get("no_value"):
        known.append(f"{count_of(empty, 'row')} without a value")
    return "; ".join(known) or "nothing"


def describe_exclusions(facts: Facts) -> str:
    """The reasons of decisions to leave out: “Too fast” (2 decisions); empty where none stands."""
    return ", ".join(
        f"“{reason}” ({count_of(number, 'decision')})" for reason, number in facts.exclusions
    )


def describe_collection(facts: Facts) -> Rows:
    """How work was handed out, checked and paid; nothing where it was done elsewhere."""
    if not facts.is_collected_here:
        return [("Collected elsewhere", "this software does not know how the ratings came about")]
    settings = facts.settings
    rows = [
        ("Ratings wanted of an item", f"{settings['k']}, each by a different person"),
        ("Set", count_of(settings["set_size"], "item")),
        ("A participant gives", describe_caps(facts)),
        ("Items of an input", _GROUPS.get(settings["groups"], settings["groups"])),
        ("Order of items", _ORDERS.get(settings["item_order"], settings["item_order"])),
        ("Practice", describe_practice(facts)),
        ("Checks", describe_checks(facts)),
        ("Repeats", describe_repeats(facts)),
        ("Pay", describe_pay(facts) or "not stated"),
        ("Consent", "asked before any work" if facts.texts["consent"] else "no text is on record"),
        ("Seed of the hand-out", str(settings["seed"])),
        ("Version of texts and settings", facts.version),
    ]
    return [(name, words) for name, words in rows if words]


def describe_caps(facts: Facts) -> str:
    settings, caps = facts.settings, []
    if settings["max_sets"] is not None:
        caps.append(count_of(settings["max_sets"], "set"))
    if settings["max_items"] is not None:
        caps.append(count_of(settings["max_items"], "item"))
    return f"at most {list_of(caps)}" if caps else "as much as there is"


def describe_practice(facts: Facts) -> str:
    if not facts.has_practice:
        return "none"
    if facts.settings["is_qualification_on"]:
        return f"a test before any work; {facts.settings['pass_mark']} % right answers to pass"
    return "practice items with feedback before any work"


def describe_checks(facts: Facts) -> str:
    every = facts.settings["check_every"]
    if every is None:
        return "none"
    return f"a gold or attention item after every {count_of(every, 'item')}"


def describe_repeats(facts: Facts) -> str:
    settings = facts.settings
    if not settings["repeat_percent"]:
        return "none"
    return (
        f"{settings['repeat_percent']} % of the items shown again, hidden, at least "
        f"{settings['repeat_distance']} items later; they count in no result"
    )


def describe_pay(facts: Facts) -> str:
    """ "£3.00 for a set", or "" where nothing is stated."""
    settings = facts.settings
    if settings["pay_per_set"] is None:
        return ""
    words = f"{format_money(Decimal(settings['pay_per_set']), settings['currency'])} for a set"
    if minutes := settings["minutes_per_set"]:
        words += f" of {count_of(minutes, 'minute')}"
    if settings["has_bonus"] and settings["bonus"] is not None:
        words += f", and {format_money(Decimal(settings['bonus']), settings['currency'])} as bonus"
    return words


def describe_making(facts: Facts) -> Rows:
    """What makes the same report again."""
    return [
        ("Computed", f"{date_format(facts.made_at, 'j F Y, H:i')} UTC"),
        ("Software", facts.software),
        ("Version of methods", facts.methods),
        ("Seed of the analysis", str(facts.seed)),
        ("Draws of a bootstrap", f"{facts.draws:,} at most; each figure has its own number"),
        ("SHA-256 of ratings.csv", facts.sha256),
    ]

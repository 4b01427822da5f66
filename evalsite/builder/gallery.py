"""What a new study can ask: installed protocols, the gallery, and instruments of people here."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Count, Prefetch
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.data.bundle.uploaded import find_check, list_checks
from evalsite.instruments import schema
from evalsite.instruments.checks import read_instrument
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.texts import digest_content
from evalsite.lib.limited import read_json
from evalsite.studies.instruments import adopt_instrument, find_faults
from evalsite.studies.models import Instrument, InstrumentVersion
from evalsite.studies.summary_lines import count_of
from evalsite.studies.version_cache import read_built

FOLDER = settings.BASE_DIR / "fixtures" / "instruments"
# what is shipped, by what people evaluate; in this order it is listed, and best fits are chosen
TASKS = {
    "Translation": (
        "adequacy_fluency", "da_sqm", "esa", "mqm", "direct_assessment", "sqm", "post_edit",
    ),
    "Summaries": ("summeval", "summarize_feedback", "factual_checklist"),
    "Chat and prompts": (
        "arena_preference", "helpsteer2_preference", "helpsteer2", "conversation_turns",
    ),
    "Answers with sources": ("attribution",),
    "Text from data": ("webnlg", "accuracy_errors", "magnitude"),
    "Dialogue": ("dialogue", "fluency", "pairwise"),
    "Reviews": ("rrgen",),
    "Any text": ("which_is_better", "quality", "ranking", "best_worst_four"),
}  # fmt: skip
_ORDER = [key for keys in TASKS.values() for key in keys]
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# of "Reasons: compar:IA" the name, not what is taken from it
_FIRST_WORD = re.compile(r"(?:^[A-Z][\w ]*(?:: | after ))?([^\s,()]+)")
_MOST_OF_A_NOTE = 60


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An instrument that a study can be made of. `value` names it in forms and addresses."""

    value: str
    config: schema.Instrument
    note: str = ""

    @property
    def columns(self) -> str:
        """Name the columns that a batch must have."""
        names = ["system", "output"]
        # where an item has one output, each row is an item, named or not
        if self.config.item.outputs.most > 1:
            names.insert(0, "item")
        return ", ".join(names + [column.name for column in self.config.columns if column.required])

    @property
    def is_as_published(self) -> bool:
        return self.value.startswith("protocol:")

    @property
    def shown(self) -> str:
        """Say how many outputs a page shows."""
        if self.config.layout.is_pair:
            return "2 outputs side by side"
        most = self.config.item.outputs.most
        return "1 output on a page" if most == 1 else f"Up to {most} outputs side by side"

    @property
    def try_url(self) -> str:
        kind, _, name = self.value.partition(":")
        return reverse("admin:instrument-try", args=[kind, name, 1])

    @property
    def start_url(self) -> str:
        """Return where a study of it begins."""
        return f"{reverse('admin:new-from')}?instrument={quote(self.value, safe='')}"

    @property
    def text(self) -> str:
        """Return the words in which it is searched: titles, questions and source."""
        config = self.config
        questions = [f"{criterion.label} {criterion.question}" for criterion in config.criteria]
        return " ".join([config.title, config.summary, config.source.cite, self.note, *questions])


@lru_cache(maxsize=1)
def read_gallery() -> dict[str, dict[str, Any]]:
    """Return the shipped instruments by key; those that this version can't ask are left out."""
    contents = {}
    for path in sorted(FOLDER.glob("*.json")):
        data = read_json(path.read_bytes())
        if not find_faults(data):
            contents[data["key"]] = read_instrument(data).to_data()
    return contents


@lru_cache(maxsize=1)
def _list_gallery() -> tuple[Entry, ...]:
    entries = (
        Entry(
            value=f"gallery:{key}",
            config=schema.Instrument.model_validate(content),
            note=name_source(content["source"]),
        )
        for key, content in read_gallery().items()
    )
    return tuple(sorted(entries, key=lambda entry: _ORDER.index(entry.config.key)))


def name_source(source: dict[str, Any]) -> str:
    """Return where an instrument comes from in a few words: "Fabbri 2021, CC BY 4.0"."""
    cite = source["cite"]
    year, author = _YEAR.search(cite), _FIRST_WORD.search(cite)
    named = f"{author[1]} {year[0]}" if year and author else cite[:_MOST_OF_A_NOTE]
    licence = source["licence"]
    return named if licence in ("none", "not known") else f"{named}, {licence}"


def list_protocols() -> list[Entry]:
    return [
        Entry(value=f"protocol:{key}", config=config)
        for key, config in installed_protocols().items()
    ]


def list_gallery() -> list[Entry]:
    return list(_list_gallery())


def list_shipped() -> list[Entry]:
    """Return the gallery, then what is shown as published."""
    return [*list_gallery(), *list_protocols()]


def list_by_task() -> dict[str, list[Entry]]:
    """Return what is shipped by what people evaluate; further protocols of this site come last."""
    shipped = {entry.config.key: entry for entry in list_shipped()}
    tasks = {
        task: [shipped.pop(key) for key in keys if key in shipped] for task, keys in TASKS.items()
    }
    return {
        task: entries for task, entries in {**tasks, "More": [*shipped.values()]}.items() if entries
    }


def list_own(user: Any) -> list[Entry]:
    """Return the newest version of each instrument that this person may use."""
    versions = InstrumentVersion.objects.annotate(uses=Count("studies")).order_by("-number")
    visible = Instrument.objects.visible_to(user)
    shipped = {digest_content(content) for content in read_gallery().values()}
    entries = []
    for instrument in visible.prefetch_related(Prefetch("versions", versions.defer("content"))):
        newest = next(iter(instrument.versions.all()), None)
        if newest is None or newest.sha256 in shipped:
            continue
        uses = sum(version.uses for version in instrument.versions.all())  # type: ignore[attr-defined]
        note = f"Version {newest.number}, {describe_uses(uses)}"
        try:
            config = read_built(newest.pk, "")
        except ValidationError:  # no study can be made of it yet
            continue
        # adapted to a study's file
        if config.based_on and config.based_on.key == config.key:
            continue
        entries.append(Entry(value=f"version:{newest.pk.hex}", config=config, note=note))
    return entries


def list_bundles(user: Any) -> list[Entry]:
    """Return the instruments, built on the web, of the bundles that this person uploaded."""
    return [
        Entry(
            value=f"bundle:{check.subject}",
            config=schema.Instrument.model_validate(check.result["built"]),
            note=f"From the bundle of “{check.result['title']}”",
        )
        for check in list_checks(user)
        if _has_instrument(check)
    ]


def _has_instrument(check: Job) -> bool:
    return bool(check.result.get("built")) and not check.result["problem"]


def _find_bundle(name: str, user: Any) -> Job | None:
    if not re.fullmatch("[0-9a-f]{32}", name):
        return None
    check = find_check(user, UUID(name))
    return check if check is not None and _has_instrument(check) else None


def describe_uses(uses: int) -> str:
    return f"used in {count_of(uses, 'study', 'studies')}" if uses else "not used yet"


def find_entry(value: str, user: Any) -> Entry | None:
    """Return what this value names, if this person may use it."""
    kind, _, name = value.partition(":")
    if kind == "version":
        version = _find_version(name, user)
        try:
            return Entry(value=value, config=read_built(version.pk, "")) if version else None
        except ValidationError:  # no study can be made of it yet
            return None
    if kind == "bundle":
        check = _find_bundle(name, user)
        built = check.result["built"] if check else None
        return Entry(value=value, config=schema.Instrument.model_validate(built)) if built else None
    entries = {"protocol": list_protocols, "gallery": list_gallery}.get(kind)
    return next((entry for entry in entries() if entry.value == value), None) if entries else None


def choose(value: str, user: Any) -> dict[str, Any]:
    """Return what makes a study of this entry: its protocol, or the version of an instrument.

    An entry of the gallery or of a bundle becomes an instrument of this person, unless it is one
    already.
    """
    kind, _, name = value.partition(":")
    if kind == "protocol":
        return {"protocol": name}
    if kind == "gallery":
        return {"instrument": adopt_instrument(data=read_gallery()[name], by=user)}
    if kind == "bundle" and (check := _find_bundle(name, user)):
        version = adopt_instrument(data=check.result["built"], by=user)
        return {"instrument": version, "language": check.result["language"]}
    return {"instrument": _find_version(name, user)}


def _find_version(name: str, user: Any) -> InstrumentVersion | None:
    if not re.fullmatch("[0-9a-f]{32}", name):
        return None
    visible = Instrument.objects.visible_to(user)
    return InstrumentVersion.objects.filter(instrument__in=visible, pk=name).first()

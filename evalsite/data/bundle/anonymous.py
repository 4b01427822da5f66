"""Make an anonymous bundle: load a bundle into a scratch database, replace words, export it again.

So an anonymous bundle is the bundle of a study whose texts never had these words, and is checked
and imported like any other. Inputs, outputs and ids stay as they were rated.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from evalsite.data.bundle.copy import find_basis, load_study, make_finder, write_copy
from evalsite.data.bundle.format import LEFT_OUT_COUNTS, Contents
from evalsite.data.bundle.neutral_words import Replacer
from evalsite.data.bundle.read import Bundle, read_about
from evalsite.data.bundle.verify import run_child, verify_bundle
from evalsite.data.bundle.write import COPY, Packed, measure, write_bundle
from evalsite.data.models import Judge, JudgeFile, JudgeLabel, MetricFile, MetricScore
from evalsite.decisions.models import AnalysisPlan, AnalysisPlanVersion, Exclusion, PlanEvent
from evalsite.handout.models import RatingsFile
from evalsite.instruments.texts import digest_content
from evalsite.lib.limited import open_zip, read_json
from evalsite.people.models import Answer, Consent, Participant
from evalsite.studies.models import (
    LONGEST_TITLE,
    Batch,
    Change,
    InstrumentVersion,
    Item,
    Study,
    StudyVersion,
    System,
)
from evalsite.studies.versions import hash_content, hash_text

Plain = dict[str, Any]
WORDS, REPLACED = "words.json", "replaced.json"
# where researchers' words are kept; inputs, outputs and ids are what people rated
_FIELDS: dict[type[models.Model], tuple[str, ...]] = {
    Study: (
        "title", "organisation", "contact_email", "summary", "consent",
        "instructions", "content_warning", "description", "questions", "options",
        "answers_kept_for", "ethics_approval", "responsible", "complaints",
    ),
    System: ("name",),
    Change: ("before", "after", "reason"),
    Batch: ("file_name", "import_notes"),
    RatingsFile: ("file_name", "import_notes"),
    MetricFile: ("file_name", "import_notes"),
    MetricScore: ("metric",),
    JudgeFile: ("file_name", "import_notes"),
    Judge: ("name", "version", "prompt", "settings"),
    JudgeLabel: ("system", "other_system", "reason"),
    Item: ("extra", "gold"),
    Answer: ("value",),
    Exclusion: ("reason",),
    AnalysisPlan: ("margins", "hypotheses", "exclusion_rule"),
    PlanEvent: ("reason",),
}  # fmt: skip
# the same, with a hash of it beside it
_HASHED = {StudyVersion: hash_content, AnalysisPlanVersion: hash_content}


@dataclass(frozen=True)
class Anonymised:
    """What an anonymous archive holds, how often each word was replaced, and where it is left."""

    packed: Packed
    replaced: Counter[str]
    # how often in each file, by word
    left: dict[str, Counter[str]]

    def list_replaced(self, words: Mapping[str, str]) -> list[tuple[str, str, int]]:
        """List each word with what replaces it, and how often."""
        return [(term, word, self.replaced[term]) for term, word in words.items()]


def write_anonymous(
    study_id: UUID, contents: Contents, words: Mapping[str, str], target: IO[bytes]
) -> Anonymised:
    """Write the archive without these words.

    ValidationError if the archive wouldn't pass the check of bundles.
    """
    with TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-anonymous-") as path:
        folder = Path(path)
        with (folder / "bundle.zip").open("w+b") as source:
            packed = write_bundle(study_id, contents, source)
            (folder / WORDS).write_text(json.dumps(words), encoding="utf-8")
            failure = run_child(source, folder, size=packed.size, task="anonymise")
        if failure is None:
            failure = read_json((folder / "findings.json").read_bytes())["faults"]
        if failure:
            raise _refuse(failure)
        with (folder / COPY).open("rb") as made:
            shutil.copyfileobj(made, target)
        replaced = Counter(read_json((folder / REPLACED).read_bytes()))
    packed = measure(target, files=packed.files, ratings=packed.ratings)
    report = verify_bundle(target)
    target.seek(0)
    if not report.is_sound:
        raise _refuse([str(fault) for fault in report.faults[:3]])
    return Anonymised(packed, replaced, find_left(target, words))


def _refuse(reason: Any) -> ValidationError:
    return ValidationError(
        "The bundle can't be made with these words: one of them may also be a word that the study "
        f"needs, such as the name of a question, or two systems would get one name. ({reason})",
        code="words_needed",
    )


def find_left(file: IO[bytes], words: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Find the words in the files of an archive, as in inputs and outputs."""
    replacer, left = Replacer(words), dict[str, Counter[str]]()
    with open_zip(file) as archive:
        for name in archive.namelist():
            with archive.open(name) as lines:
                for line in lines:
                    for term, count in replacer.count(line.decode()).items():
                        left.setdefault(term, Counter())[name] += count
    file.seek(0)
    return left


# --- in the child process --------------------------------------------------------------------


def make_copy(bundle: Bundle, folder: Path) -> None:
    """Load the bundle into this database, which must be empty, and write it without the words."""
    replacer = Replacer(read_json((folder / WORDS).read_bytes()))
    about = read_about(bundle)
    contents = Contents(
        has_data=about["has_data"],
        has_entry_answers=about.get("has_entry_answers", True),
        is_public=LEFT_OUT_COUNTS in about,
        is_anonymous=True,
    )
    study = load_study(bundle, about, rename=_rename, edit=lambda: _replace_all(replacer))
    basis = find_basis(bundle)
    finder = make_finder(replacer.replace(basis)) if basis else None
    write_copy(study, contents, folder, about.get(LEFT_OUT_COUNTS), finder)
    (folder / REPLACED).write_text(json.dumps(replacer.counts), encoding="utf-8")


def _rename(study_id: UUID) -> UUID:
    """Return another id: the study's own is in the links that participants got."""
    return uuid5(NAMESPACE_URL, f"evalsite-anonymous:{study_id}")


def _replace_all(replacer: Replacer) -> None:
    for study in Study.objects.all():
        study.authors = study.homepage = ""
        study.save(update_fields=["texts"])
    for model, names in _FIELDS.items():
        for row in _list_rows(model, names):
            _replace(row, names, replacer)
    hashes: dict[str, str] = {}
    for model, hash_row in _HASHED.items():
        names = ("content", "reason") if model is AnalysisPlanVersion else ("content",)
        for row in _list_rows(model, names):
            before = row.content.get("texts", {})
            _replace(row, names, replacer)
            after = row.content.get("texts", {})
            hashes |= {hash_text(before[key]): hash_text(after[key]) for key in before}
            model._default_manager.filter(pk=row.pk).update(sha256=hash_row(row.content))
    for version in InstrumentVersion.objects.all():
        content = replacer.replace(version.content)
        # the manager's own update() refuses every change of a version
        models.QuerySet(InstrumentVersion).filter(pk=version.pk).update(
            title=replacer.replace(version.title)[:LONGEST_TITLE],
            content=content,
            sha256=digest_content(content),
        )
    for old, new in hashes.items():
        Consent.objects.filter(text_sha256=old).update(text_sha256=new)
        for name in ("consented_to", "instructions_read"):
            Participant.objects.filter(**{name: old}).update(**{name: new})


def _list_rows(model: type[models.Model], names: tuple[str, ...]) -> Iterator[Any]:
    return model._default_manager.order_by("pk").only("pk", *names).iterator(chunk_size=500)


def _replace(row: Any, names: tuple[str, ...], replacer: Replacer) -> None:
    changed = {}
    for name in names:
        value = getattr(row, name)
        new = replacer.replace(value)
        if new != value:
            longest = row._meta.get_field(name).max_length
            changed[name] = new[:longest] if longest and isinstance(new, str) else new
            setattr(row, name, changed[name])
    if changed:
        type(row)._default_manager.filter(pk=row.pk).update(**changed)

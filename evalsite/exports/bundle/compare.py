"""Load a bundle into an empty database, run fsck, export it again, and compare.

The bytes must be the same where the column schema is. Where the bundle has another one, its cells
are compared in the columns that both have.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

import evalsite
from evalsite.annotation.fsck import find_breaches
from evalsite.exports.bundle.fields import read_fields
from evalsite.exports.bundle.format import (
    ANALYSIS_PLAN,
    BUILT,
    CODEBOOK,
    DATAPACKAGE,
    LATER_PLAN_FIELDS,
    LEFT_OUT_COUNTS,
    README,
    REPORT,
    REPORT_SOURCES,
    SCHEMA_SINCE,
    SOFTWARE_FIELDS,
    STUDY,
    Contents,
    hash_columns,
)
from evalsite.exports.bundle.read import (
    BadBundle,
    Bundle,
    Fault,
    check_criteria,
    parse_json,
    read_about,
    read_checksums,
)
from evalsite.exports.bundle.readme import describe_left_out
from evalsite.exports.bundle.restore import (
    Loader,
    find_protocol,
    list_protocol_remarks,
    read_analysis_plan,
    record_top_up,
    store_plan,
)
from evalsite.exports.bundle.write import Folder, write_files
from evalsite.exports.scripts import read_scripts
from evalsite.protocol import installed_protocols
from evalsite.studies.models import Membership, Study

Plain = dict[str, Any]
_LONGEST = 80
# files that hold rows of the database; all others describe them
_ROWS = re.compile(r"(data|design|records)/.+|versions/[0-9]+\.json")
_DRAFT = "versions/draft/content.json"
# what study.json says of the software that wrote it, not of the study
_OF_SOFTWARE = {"software", "format_version", "columns", "methods", "instrument"}
# the study itself is compared field by field; who was left out can't be counted again
_SAID_ONCE = _OF_SOFTWARE | {"study", LEFT_OUT_COUNTS}
# what depends on people whom a bundle for the public leaves out, by file
_OF_OTHERS = {"data/participants.csv": {"bonus"}, "data/items.csv": {"held"}}
# what a report says of its figures in words, which may become clearer
_SENTENCES = {"text", "notes"}
# checks that need what a bundle of the design doesn't have: reports, imported ratings
_OF_DATA = {"held_against_its_reports", "batch_open_at_the_wrong_time"}
# what is counted from answers, which a bundle of the design doesn't have
_OF_ANSWERS = {"answers_before", "has_imported"}


@dataclass
class Findings:
    """What was checked, what is worth a look, and what is wrong."""

    checks: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def examine_bundle(bundle: Bundle, findings: Findings, folder: Path) -> None:
    """Load a bundle into this database, which must be empty, and compare; write into `folder`."""
    about = read_about(bundle)
    name = about["study"]["protocol"]
    if name not in installed_protocols() and about["study"][BUILT] is None:
        check_criteria(about["instrument"])
        findings.remarks.append(
            f"The protocol “{name}” isn't installed here, so only checksums were checked."
        )
        return
    try:
        config = find_protocol(about["study"])
        with transaction.atomic():
            study = load_exactly(bundle, about)
    except ValidationError as error:
        findings.faults.append(Fault("options_invalid", " ".join(error.messages)))
        return
    except DatabaseError as error:
        findings.faults.append(Fault("row_refused", f"The database refuses this bundle: {error}."))
        return
    for breach in find_breaches(study):
        if about["has_data"] or breach.check.key not in _OF_DATA:
            findings.faults.append(Fault(breach.check.key, f"{breach}."))
    if not findings.faults:
        is_same = not list(list_protocol_remarks(about, config))
        Comparison(bundle, about, study, is_same_protocol=is_same, findings=findings).run(folder)


def load_exactly(
    bundle: Bundle, about: Plain, *, rename: Callable[[UUID], UUID] = lambda study_id: study_id
) -> Study:
    """Store the study as it was when the bundle was made, even without data.

    `rename` gives the id of each study here.
    """
    plan = read_analysis_plan(bundle)
    study_id = rename(UUID(about["study"]["id"]))
    owner = get_user_model().objects.create(username="scratch", is_staff=True, is_superuser=True)
    study = Loader(bundle, about, study_id, has_data=True, is_copy=False, owner=owner).load()
    if plan["repeats"] not in (None, str(study_id)):
        # replaces the study that this one repeats
        original = Study.objects.create(pk=rename(UUID(plan["repeats"])), protocol=study.protocol)
        plan = plan | {"repeats": str(original.pk)}
        Membership.objects.create(study=original, user=owner, role=Membership.Role.VIEWER)
    store_plan(study, plan, owner=owner, has_data=True)
    state = read_fields(Study, ("state", "closed_at"), about["study"])
    Study.objects.filter(pk=study.pk).update(**state)
    record_top_up(study, by="the check")
    return Study.objects.select_related("version").get(pk=study.pk)


class Comparison:
    """Compares the files of a bundle with those that its loaded study exports now."""

    def __init__(
        self,
        bundle: Bundle,
        about: Plain,
        study: Study,
        *,
        is_same_protocol: bool,
        findings: Findings,
    ) -> None:
        self.bundle = bundle
        self.about = about
        self.study = study
        self.findings = findings
        self.is_same_protocol = is_same_protocol
        self.has_schema = about["format_version"] >= SCHEMA_SINCE
        self.is_same_schema = self.has_schema and about.get("columns") == hash_columns(study)
        self.sums = read_checksums(bundle)
        left_out = about.get(LEFT_OUT_COUNTS)
        self.is_public = left_out is not None
        # by file, the columns that can't be made again from what is there
        self.of_others = _OF_OTHERS if left_out and left_out["participants"] else {}

    def run(self, path: Path) -> None:
        """Write all files again into this folder, and compare each with that of the bundle."""
        contents = Contents(
            has_data=self.about["has_data"],
            has_free_text=self.about["has_free_text"],
            has_entry_answers=self.about.get("has_entry_answers", True),
            is_public=self.is_public,
            is_anonymous=self.about.get("is_anonymous", False),
        )
        folder = Folder(path)
        if REPORT in self.bundle.names:
            # reports aren't loaded, but the texts written below mention this file
            folder.write_json(REPORT, self.bundle.read_json(REPORT))
        write_files(self.study.pk, contents, folder)
        again = parse_json((path / STUDY).read_bytes(), STUDY)
        faults = self.findings.faults
        faults += self._compare_study(again)
        faults += self._compare_plan(parse_json((path / ANALYSIS_PLAN).read_bytes(), ANALYSIS_PLAN))
        for name in sorted({*self.bundle.names, *folder.files}):
            if self._has_rows(name):
                faults += self._compare_file(name, folder)
        faults += self._check_package()
        self._add_checks(again["counts"])
        if self.is_public:
            said = describe_left_out(self.about[LEFT_OUT_COUNTS]).replace("**", "")
            self.findings.remarks.append(said)
        if REPORT in self.bundle.names and not faults:
            faults += self._compare_report()
        self._compare_descriptions(folder)

    def _has_rows(self, name: str) -> bool:
        """Return whether a file must equal what is exported now."""
        if name == _DRAFT:
            return self.has_schema and self.is_same_protocol
        return _ROWS.fullmatch(name) is not None

    # descriptions of the study

    def _compare_study(self, again: Plain) -> Iterator[Fault]:
        said, found = dict(self.about), again
        if self.has_schema and (self.is_same_protocol or said["study"]["versions"]):
            yield from compare_values(STUDY, "instrument", said["instrument"], found["instrument"])
        for name in sorted((said.keys() & found.keys()) - _SAID_ONCE):
            yield from compare_values(STUDY, name, said[name], found[name])
        for kind in ("batches", "ratings_files", "metric_files"):
            for file in found["study"][kind]:
                file.setdefault("import_notes", [])
        for name in sorted(said["study"].keys() & found["study"].keys()):
            yield from compare_values(STUDY, name, said["study"][name], found["study"][name])

    def _compare_plan(self, again: Plain) -> Iterator[Fault]:
        said = LATER_PLAN_FIELDS | self.bundle.read_json(ANALYSIS_PLAN)
        has_all = self.about["has_data"] and not self.of_others
        skipped = set() if has_all else _OF_ANSWERS
        for name in sorted(again.keys() - skipped):
            yield from compare_values(ANALYSIS_PLAN, name, said.get(name), again[name])

    # files with rows

    def _compare_file(self, name: str, folder: Folder) -> Iterator[Fault]:
        if name not in folder.files:
            yield Fault("file_unknown", "This bundle can't have such a file.", name)
            return
        if name not in self.bundle.names:
            # an older format may lack it
            if self.is_same_schema:
                yield Fault("file_missing", f"{name} is missing.")
            return
        _, digest = folder.files[name]
        if digest == self.sums[name]:
            return
        different = next(self._find_difference(name, folder), None)
        if different is not None:
            yield different
        elif self.is_same_schema and name not in self.of_others:
            yield Fault("bytes_differ", "It isn't written as Evalsite writes it.", name)
        elif not self.is_same_schema:
            self.findings.remarks.append(f"{name} has other columns than it would have now.")

    def _find_difference(self, name: str, folder: Folder) -> Iterator[Fault]:
        """Find rows with other values in the columns that both files have."""
        if name.endswith(".json"):
            again = parse_json((folder.path / name).read_bytes(), name)
            yield from compare_values(name, "", self.bundle.read_json(name), again)
            return
        pairs = zip_longest(_read_rows(self.bundle, name), _read_rows(_Written(folder), name))
        for line, (old, new) in enumerate(pairs, start=1 if name.endswith(".jsonl") else 2):
            if old is None or new is None:
                message = f"It has {'too many' if new is None else 'too few'} rows."
                yield Fault("rows_missing", message, name, line)
                return
            if self.is_same_schema and old.keys() != new.keys():
                yield Fault("columns", "It has other columns than belong here.", name)
            for column in (old.keys() & new.keys()) - self.of_others.get(name, set()):
                yield from compare_values(name, column, old[column], new[column], line)

    # the figures of the report

    def _compare_report(self) -> Iterator[Fault]:
        """Compute the report of the loaded study, and name each figure that comes out otherwise."""
        methods, methods_here = self.about.get("methods"), SOFTWARE_FIELDS.get("methods")
        if methods != methods_here:
            self.findings.remarks.append(
                f"The figures of {REPORT} weren't computed again: they were made with version "
                f"{methods} of the methods, and this Evalsite has {methods_here}."
            )
            return
        if not self.is_same_schema:
            self.findings.remarks.append(
                f"The figures of {REPORT} weren't computed again: the bundle has other columns "
                "than it would have now."
            )
            return
        said = self.bundle.read_json(REPORT)
        for source in REPORT_SOURCES:
            found = source.compute(self.study)
            faults = list(compare_figures("", said, found))
            yield from faults
            if list(_list_sentences(said)) != list(_list_sentences(found)):
                self.findings.remarks.append(
                    f"Some sentences in {REPORT} aren't what this Evalsite writes of its figures. "
                    "The report was made by an earlier version, or they were changed by hand."
                )
            if not faults:
                self.findings.checks.append("Every figure of its report, computed again.")

    # files that describe others

    def _check_package(self) -> Iterator[Fault]:
        """Compare the data package and the codebook with the tables that are there."""
        package = self.bundle.read_json(DATAPACKAGE)
        tables = [name for name in self.bundle.names if name.endswith(".csv") and "/" in name]
        try:
            named = {one["path"]: one["hash"] for one in package["resources"]}
        except (KeyError, TypeError):
            raise BadBundle("package_invalid", "This isn't a data package.", DATAPACKAGE) from None
        if named != {name: f"sha256:{self.sums[name]}" for name in tables}:
            yield Fault("package_invalid", "It lists other tables than there are.", DATAPACKAGE)
        columns: dict[str, list[str]] = {}
        rows = self.bundle.read_table(CODEBOOK)
        next(rows, None)
        for file, column, *_ in rows:
            columns.setdefault(file, []).append(column)
        for name in tables:
            if next(self.bundle.read_table(name)) != columns.get(name.rpartition("/")[2]):
                yield Fault("columns", f"It has other columns than {CODEBOOK} says.", name)

    def _compare_descriptions(self, folder: Folder) -> None:
        """Remark on texts and scripts that aren't those of the software that made the bundle."""
        software = self.about["software"]
        if software != evalsite.__version__ or not self.has_schema or self.findings.faults:
            return
        scripts = [name for name in read_scripts() if name in self.bundle.names]
        # how many answers were in, and who was left out, can't be told again
        described = [CODEBOOK] if self.is_public else [README, CODEBOOK]
        # texts that other columns were described in are of an earlier state of that version
        others = {name for name in described if name in self.sums and self.is_same_schema}
        differing = [
            name
            for name in (*scripts, *sorted(others))
            if self.sums[name] != folder.files.get(name, (0, ""))[1]
        ]
        for name in differing:
            kind = "the script" if name in scripts else "the text"
            read = " Read it before you run it." if name in scripts else ""
            self.findings.remarks.append(
                f"{name} isn't {kind} of Evalsite {software}, which {STUDY} names.{read}"
            )
        if scripts and not set(scripts) & set(differing):
            self.findings.checks.append(f"{' and '.join(scripts)}: as in Evalsite {software}.")

    # what is said of it

    def _add_checks(self, counts: Plain) -> None:
        checks = self.findings.checks
        items, answers = sum(counts["items"].values()), sum(counts["annotations"].values())
        strays = counts["strays"]
        statuses = ", ".join(f"{n:,} {name}" for name, n in sorted(counts["annotations"].items()))
        numbers = len(self.about["study"]["versions"])
        plural = "" if numbers == 1 else "s"
        checks += [
            f"{numbers} frozen version{plural}."
            if numbers
            else "No version is frozen yet; what would be shown agrees with the study.",
            f"{items:,} items with {counts['outputs']:,} outputs.",
            f"{counts['places']:,} places, drawn again from the seed: "
            f"{f'{strays:,} differ, as recorded' if strays else 'all as drawn'}.",
            f"{answers:,} annotations{f' ({statuses})' if statuses else ''}, "
            "no item with more than k that count.",
            f"{counts['ratings']:,} ratings, {counts['highlights']:,} highlights, "
            f"{counts['revisions']:,} earlier states, {counts['exclusions']:,} exclusions, "
            f"{counts['metrics']:,} scores of metrics.",
            self._describe_plan(),
            "Loaded into an empty database, the study breaks no rule and exports "
            + (
                "the same files, byte for byte."
                if self.is_same_schema
                else "the same values, in the columns that this version has too."
            ),
        ]

    def _describe_plan(self) -> str:
        plan = self.bundle.read_json(ANALYSIS_PLAN)
        if plan["changed_at"] is None:
            return "No analysis plan was written."
        counts = ", ".join(f"{name} {n:,}" for name, n in plan["answers_before"].items())
        return f"The analysis plan; answers that were in when a part last changed: {counts or '-'}."


class _Written(Bundle):
    """Files that were written into a folder, read as those of a bundle."""

    def __init__(self, folder: Folder) -> None:
        self.names = list(folder.files)
        self._path = folder.path

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        with (self._path / name).open("rb") as file:
            yield file


def _read_rows(bundle: Bundle, name: str) -> Iterator[Plain]:
    """Read CSV or JSON lines as one dictionary a row."""
    if name.endswith(".jsonl"):
        yield from (row.values for row in bundle.read_rows(name))
        return
    rows = bundle.read_table(name)
    header = next(rows)
    yield from (dict(zip(header, row, strict=True)) for row in rows)


def compare_values(
    file: str, name: str, said: Any, found: Any, line: int | None = None
) -> Iterator[Fault]:
    """Name what differs, as deep inside objects as possible."""
    if said == found and type(said) is type(found):
        return
    if isinstance(said, dict) and isinstance(found, dict) and said.keys() == found.keys():
        for key in said:
            path = f"{name}.{key}" if name else str(key)
            yield from compare_values(file, path, said[key], found[key], line)
        return
    shown, again = (_shorten(value) for value in (said, found))
    subject = name or "its content"
    yield Fault("values_differ", f"{subject} is {shown}, but {again} by the rows.", file, line)


def compare_figures(name: str, said: Any, found: Any) -> Iterator[Fault]:
    """Name each figure that differs in its first nine digits: no report prints more than that."""
    if isinstance(said, dict) and isinstance(found, dict) and said.keys() == found.keys():
        for key in sorted(said.keys() - _SENTENCES):
            yield from compare_figures(f"{name}.{key}" if name else key, said[key], found[key])
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for place, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from compare_figures(f"{name}[{place}]", one, other)
    elif isinstance(said, float) and isinstance(found, float) and isclose(said, found):
        return
    elif said != found or type(said) is not type(found):
        message = f"{name} is {_shorten(said)}, but {_shorten(found)} when computed again."
        yield Fault("figure_differs", message, REPORT)


def _list_sentences(figures: Any) -> Iterator[Any]:
    """Yield what a report says in words, which `compare_figures` leaves out."""
    if isinstance(figures, dict):
        yield from (figures[key] for key in sorted(figures.keys() & _SENTENCES))
        figures = [figures[key] for key in sorted(figures)]
    if isinstance(figures, list):
        for part in figures:
            yield from _list_sentences(part)


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""Load a bundle into an empty database, run fsck, and compare its ratings and its figures.

ratings.csv must have the same bytes where the column schema is the same. Where the bundle has
another one, its cells are compared in the columns that both have.
"""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

import evalsite
from evalsite.data.bundle.analysis_plan import read_analysis_plan, store_plan
from evalsite.data.bundle.fields import read_fields
from evalsite.data.bundle.figures import Figures, compare_figures, read_figures
from evalsite.data.bundle.format import (
    ANALYSIS_PLAN,
    BUILT,
    CODEBOOK,
    DATAPACKAGE,
    LEFT_OUT_COUNTS,
    PLAN_LINES,
    README,
    REPORT,
    REPORT_SOURCES,
    SOFTWARE_FIELDS,
    STUDY,
    Contents,
    hash_columns,
    name_data,
)
from evalsite.data.bundle.read import (
    BadBundle,
    Bundle,
    Fault,
    check_criteria,
    read_about,
    read_checksums,
)
from evalsite.data.bundle.readme import describe_left_out
from evalsite.data.bundle.restore import (
    Loader,
    find_protocol,
    record_top_up,
)
from evalsite.data.bundle.serialize import read_plan
from evalsite.data.bundle.write import write_data
from evalsite.data.files.scripts import read_scripts
from evalsite.data.fsck import find_breaches
from evalsite.decisions.plan_commitment import describe_versions, list_lines
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.handout.slots import count_strays
from evalsite.instruments.installed import installed_protocols
from evalsite.lib.limited import read_cells
from evalsite.studies.models import Membership, Output, Study
from evalsite.studies.summary_lines import count_of

Plain = dict[str, Any]
_LONGEST = 80
_RATINGS = name_data("ratings")
# checks that need what a bundle of the design doesn't have: reports, imported ratings
_OF_DATA = {"held_against_its_reports", "batch_open_at_the_wrong_time"}


@dataclass
class Findings:
    """What was checked, what is worth a look, and what is wrong."""

    checks: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    plan_versions: list[Plain] = field(default_factory=list)
    computed: Plain | None = None


def check_bundle(bundle: Bundle, findings: Findings, folder: Path) -> None:
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
        find_protocol(about["study"])
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
        Comparison(bundle, about, study, findings).run(folder)


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
    # what has another id can't be what somebody committed to
    is_copy = str(study_id) != about["study"]["id"]
    store_plan(study, plan, owner=owner, has_data=True, is_copy=is_copy)
    state = read_fields(Study, ("state", "closed_at"), about["study"])
    Study.objects.filter(pk=study.pk).update(**state)
    record_top_up(study, by="the check")
    return Study.objects.select_related("version").get(pk=study.pk)


class Comparison:
    """Compares the ratings and the figures of a bundle with those of its loaded study."""

    def __init__(self, bundle: Bundle, about: Plain, study: Study, findings: Findings) -> None:
        self.bundle = bundle
        self.about = about
        self.study = study
        self.findings = findings
        self.is_same_schema = about.get("columns") == hash_columns(study)
        self.sums = read_checksums(bundle)
        self.strays = count_strays(study)

    def run(self, folder: Path) -> None:
        """Write the ratings again into this folder and compare them; compute the figures again."""
        self._add_checks()
        self.findings.faults += self._compare_counts()
        self.findings.faults += self._compare_lines()
        if self.about["has_data"]:
            self.findings.faults += self._compare_ratings(folder / "ratings.csv")
        self.findings.faults += self._check_package()
        if left_out := self.about.get(LEFT_OUT_COUNTS):
            self.findings.remarks.append(describe_left_out(left_out).replace("**", ""))
        if REPORT in self.bundle.names and not self.findings.faults:
            self.findings.faults += self._compare_report()
        self._check_scripts()

    def _compare_counts(self) -> Iterator[Fault]:
        """Count again what was in when the plan was written, and the places that were moved."""
        recorded = self.about["counts"].get("strays")
        if self.strays != recorded:
            message = f"counts.strays is {recorded}, but {self.strays} by the seed."
            yield Fault("values_differ", message, STUDY)
        left_out = self.about.get(LEFT_OUT_COUNTS)
        if not self.about["has_data"] or (left_out and left_out["participants"]):
            return
        plan, current = self.bundle.read_json(ANALYSIS_PLAN), read_plan(self.study)
        for name in ("answers_before", "has_imported"):
            if plan.get(name, current[name]) != current[name]:
                recorded, again = _shorten(plan[name]), _shorten(current[name])
                message = f"{name} is {recorded}, but {again} by the rows."
                yield Fault("values_differ", message, ANALYSIS_PLAN)

    def _compare_lines(self) -> Iterator[Fault]:
        """Compute the lines of the plan again from what the bundle holds."""
        if self.about.get("is_anonymous"):
            return
        self.findings.plan_versions = describe_versions(self.study)
        lines = "".join(f"{line}\n" for line in list_lines(self.study))
        if PLAN_LINES in self.bundle.names and self.bundle.read_text(PLAN_LINES) != lines:
            yield Fault("plan_line_differs", "Its lines aren't those of this study.", PLAN_LINES)

    def _compare_ratings(self, path: Path) -> Iterator[Fault]:
        """Find the first difference, in the columns that both files have."""
        contents = Contents(
            has_free_text=self.about["has_free_text"],
            is_public=LEFT_OUT_COUNTS in self.about,
        )
        with path.open("w+b") as file:
            write_data(self.study, "ratings", contents, file)
            file.seek(0)
            if file_digest(file, "sha256").hexdigest() == self.sums[_RATINGS]:
                return
            file.seek(0)
            rows_here = read_cells(io.TextIOWrapper(file, encoding="utf-8", newline=""))
            rows = self.bundle.read_table(_RATINGS)
            names, names_here = next(rows), next(rows_here)
            if self.is_same_schema and names != names_here:
                yield Fault("columns", "Its columns aren't those that belong here.", _RATINGS)
                return
            for line, (row, again) in enumerate(zip_longest(rows, rows_here), start=2):
                if row is None or again is None:
                    message = f"It has {'too many' if again is None else 'too few'} rows."
                    yield Fault("rows_missing", message, _RATINGS, line)
                    return
                cells, cells_here = (
                    dict(zip(columns, values, strict=True))
                    for columns, values in ((names, row), (names_here, again))
                )
                for name in names:
                    if name in cells_here and cells[name] != cells_here[name]:
                        shown, other = _shorten(cells[name]), _shorten(cells_here[name])
                        message = f"{name} is {shown}, but {other} by the rows."
                        yield Fault("values_differ", message, _RATINGS, line)
                        return
        if self.is_same_schema:
            yield Fault("bytes_differ", "It isn't written as Evalsite writes it.", _RATINGS)
        else:
            self.findings.remarks.append(f"{_RATINGS} has other columns than this version writes.")

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
        kept = read_figures(self.bundle)
        left_out = self.about.get(LEFT_OUT_COUNTS) or {}
        if kept.basis.ratings_sha256 != self.sums[_RATINGS]:
            message = f"basis.ratings_sha256 isn't that of {_RATINGS}."
            yield Fault("values_differ", message, REPORT)
            return
        if (kept.basis.not_sharing or 0) != left_out.get("participants", 0):
            message = f"basis.not_sharing isn't the number in {STUDY}."
            yield Fault("values_differ", message, REPORT)
            return
        basis = kept.basis.to_plain()
        recomputed = next(source.compute(self.study, basis) for source in REPORT_SOURCES)
        again = Figures.model_validate(recomputed.figures)
        faults = list(compare_figures(kept.figures, again.figures))
        yield from faults
        if README not in self.bundle.names or not self.bundle.read_text(README).startswith(
            recomputed.text
        ):
            self.findings.remarks.append(
                f"The report in {README} isn't what this Evalsite writes of its figures. It was "
                "made by an earlier version, or changed by hand."
            )
        if not faults:
            self.findings.computed = recomputed.computed
            self.findings.checks.append("Every figure of its report, computed again.")

    # files that describe others

    def _check_package(self) -> Iterator[Fault]:
        """Compare the data package and the codebook with the tables that are there."""
        package = self.bundle.read_json(DATAPACKAGE)
        tables = [name for name in self.bundle.names if name.endswith(".csv") and "/" in name]
        try:
            named = {resource["path"]: resource["hash"] for resource in package["resources"]}
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
                yield Fault("columns", f"Its columns aren't those that {CODEBOOK} lists.", name)

    def _check_scripts(self) -> None:
        """Remark on scripts that aren't those of the software that made the bundle."""
        software = self.about["software"]
        scripts = {name: text for name, text in read_scripts().items() if name in self.bundle.names}
        if software != evalsite.__version__ or not scripts or self.findings.faults:
            return
        differing = [
            name
            for name, text in scripts.items()
            if self.sums[name] != sha256(text.encode()).hexdigest()
        ]
        self.findings.remarks += [
            f"{name} isn't the script of Evalsite {software}, which {STUDY} names. Read it before "
            "you run it."
            for name in differing
        ]
        if not differing:
            self.findings.checks.append(f"{' and '.join(scripts)}: as in Evalsite {software}.")

    # what is said of it

    def _add_checks(self) -> None:
        study, strays = self.study, self.strays
        numbers = study.versions.count()
        annotations = Annotation.objects.filter(study=study)
        self.findings.checks += [
            f"{count_of(numbers, 'frozen version')}." if numbers else "No version is frozen yet.",
            f"{study.items.count():,} items with "
            f"{Output.objects.stored().filter(study=study).count():,} outputs.",
            f"{Slot.objects.filter(study=study).count():,} places, drawn again from the seed: "
            f"{f'{strays:,} differ, as recorded' if strays else 'all as drawn'}.",
            f"{annotations.count():,} annotations, no item with more than k that count.",
            f"{Rating.objects.without_marks().filter(study=study).count():,} ratings.",
            self._describe_plan(),
            "Loaded into an empty database, the study breaks no rule.",
        ]

    def _describe_plan(self) -> str:
        plan = self.bundle.read_json(ANALYSIS_PLAN)
        if plan["changed_at"] is None:
            return "No analysis plan was written."
        counts = ", ".join(f"{name} {n:,}" for name, n in plan["answers_before"].items())
        if not counts:
            return "The analysis plan."
        return f"The analysis plan; answers that were in when a part last changed: {counts}."


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

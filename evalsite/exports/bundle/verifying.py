"""Checking a bundle without a database: is it whole, and does all of it say the same?"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import IO, Any

import evalsite
from evalsite.annotation.models import RatingsFile
from evalsite.exports.bundle.analysis_plan import (
    compare_answers,
    list_moments,
    open_plan,
    tell_plan,
)
from evalsite.exports.bundle.comparing import Comparison
from evalsite.exports.bundle.examining import Examination, check_systems
from evalsite.exports.bundle.layout import (
    ANALYSIS_PLAN,
    ANNOTATION_ROWS,
    BATCH_FIELDS,
    CHECKSUMS,
    CODEBOOK,
    DATAPACKAGE,
    DRAFT,
    DRAFT_CONTENT,
    EXCLUSION_ROWS,
    FORMAT,
    FORMAT_VERSION,
    ITEM_ROWS,
    METRIC_FILE_FIELDS,
    METRIC_ROWS,
    PEOPLE_ROWS,
    PLAN,
    PLAN_SINCE,
    RATINGS_FILE_FIELDS,
    SCORES_SINCE,
    STUDY,
    STUDY_FIELDS,
    VERSION_FIELDS,
    dump,
    name_data,
    name_version,
)
from evalsite.exports.bundle.opening import BadBundle, Bundle, check_sums, open_bundle
from evalsite.exports.bundle.shapes import Misshapen, read_fields, read_text, read_whole
from evalsite.exports.scripts import read_scripts
from evalsite.imports.models import MetricFile
from evalsite.participants.models import Origin
from evalsite.studies.models import Batch, Study, StudyVersion

Plain = dict[str, Any]
_ALWAYS = {CHECKSUMS, STUDY, CODEBOOK, DATAPACKAGE, PLAN, ITEM_ROWS}
_WITH_DATA = {PEOPLE_ROWS, ANNOTATION_ROWS, EXCLUSION_ROWS} | {
    name_data(name) for name in ("ratings", "annotations", "participants", "exclusions")
}


@dataclass
class Report:
    """What was checked, and what is wrong; with nothing wrong, what the bundle is.

    Remarks tell what to look at that is no fault.
    """

    checks: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    about: Plain = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        return not self.faults


def verify_bundle(file: IO[bytes]) -> Report:
    """Everything about the bundle has been checked, or as much as its faults allow."""
    report = Report()
    try:
        with open_bundle(file) as bundle:
            _verify(bundle, report)
    except BadBundle as error:
        report.faults.append(str(error))
    return report


def _verify(bundle: Bundle, report: Report) -> None:
    report.faults += check_sums(bundle)
    if report.faults:
        # what is not as it was packed is not worth reading
        return
    report.checks.append(f"{len(bundle.names) - 1:,} files are as {CHECKSUMS} says.")
    about = _read_about(bundle)
    contents = _read_versions(bundle, about)
    numbers = len(contents)
    report.checks.append(f"{numbers} frozen version{'' if numbers == 1 else 's'}, each as hashed.")
    if not contents:
        report.faults += _check_draft(bundle, about)
        report.checks.append("No version is frozen: what would be shown now is as the study says.")
    plan = open_plan(bundle, about)
    examined = Examination(bundle, about, contents, list_moments(plan))
    examined.examine(has_data=about["has_data"])
    report.faults += examined.faults
    if report.faults:
        return
    found = examined.tell_counts()
    report.faults += _compare_counts(about["counts"], found)
    report.checks += _tell_counts(found)
    if plan is not None and about["has_data"]:
        report.faults += compare_answers(
            plan, examined.answers_before, examined.origins[Origin.IMPORTED]
        )
    report.checks.append(tell_plan(plan))
    comparison = Comparison(bundle, examined)
    comparison.compare()
    comparison.check_rows(found)
    report.faults += comparison.faults
    tables = ", ".join(f"{name} ({count:,})" for name, count in sorted(comparison.rows.items()))
    report.checks.append(f"The tables say what the records say; rows: {tables}.")
    report.faults += _check_package(bundle)
    _compare_scripts(bundle, about["software"], report)
    report.about = about


# --- study.json and versions ----------------------------------------------------------------


def _read_about(bundle: Bundle) -> Plain:
    about = bundle.read_json(STUDY)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise BadBundle(f"{STUDY} does not say that this is a bundle of Evalsite.")
    number = about.get("format_version")
    if type(number) is not int or not 1 <= number <= FORMAT_VERSION:
        raise BadBundle(
            f"The bundle has format {number}, made by Evalsite {about.get('software')}. "
            f"This Evalsite reads formats 1 to {FORMAT_VERSION}: update it."
        )
    try:
        needed = _list_needed(about)
        _complete(about)
        _check_about(about)
    except Misshapen as error:
        raise BadBundle(f"{STUDY}: {error}.") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadBundle(f"{STUDY} lacks something, or has it of another kind.") from None
    if missing := sorted(needed - set(bundle.names)):
        raise BadBundle(f"{missing[0]} is missing.")
    return about


def _list_needed(about: Plain) -> set[str]:
    """The files without which a bundle of this format is not whole."""
    needed = set(_ALWAYS)
    if about["format_version"] >= PLAN_SINCE:
        needed.add(ANALYSIS_PLAN)
    if about["has_data"]:
        needed |= _WITH_DATA
        if about["format_version"] >= SCORES_SINCE or "metric_files" in about["study"]:
            needed.add(METRIC_ROWS)
    return needed


def _complete(about: Plain) -> None:
    """Where the format is older than scores of metrics, study.json says that there are none."""
    if about["format_version"] < SCORES_SINCE:
        about["study"].setdefault("metric_files", [])
        about["counts"].setdefault("metrics", 0)


def _check_about(about: Plain) -> None:
    """Misshapen where this can't be what a bundle says of its study."""
    # a bundle that says nothing of entry answers has them
    said = {"has_entry_answers": True} | about
    for name in ("has_data", "has_free_text", "has_entry_answers"):
        if not isinstance(said[name], bool):
            raise Misshapen(f"{name} can't be {said[name]!r}")
    study = about["study"]
    read_fields(Study, ("id", *STUDY_FIELDS), study)
    for batch in study["batches"]:
        read_fields(Batch, BATCH_FIELDS, batch)
    for one in study["ratings_files"]:
        read_fields(RatingsFile, RATINGS_FILE_FIELDS, one)
    for one in study["metric_files"]:
        read_fields(MetricFile, METRIC_FILE_FIELDS, one)
    for version in study["versions"]:
        read_fields(StudyVersion, VERSION_FIELDS, version)
    _check_numbers(study)
    check_systems(study["systems"])
    read_text(about["software"])
    if not all(isinstance(one, dict) for one in (about["counts"], about["instrument"])):
        raise Misshapen("counts or instrument are of another kind")


def _check_numbers(study: Plain) -> None:
    """Versions are told apart by their numbers, and a study that was launched has one of them."""
    numbers = [version["number"] for version in study["versions"]]
    is_draft = study["launched_at"] is None
    is_known = study["version"] in numbers or (is_draft and study["version"] is None)
    if not is_known or numbers != sorted(set(numbers)):
        raise Misshapen("its versions are not one after the other")


def _read_versions(bundle: Bundle, about: Plain) -> dict[int, Plain]:
    """The content of each version by its number, each with the hash that the study names."""
    found = {}
    for version in about["study"]["versions"]:
        name = name_version(read_whole(version["number"]))
        text = bundle.read_text(name)
        content = bundle.read_json(name)
        is_same = sha256(text.encode()).hexdigest() == version["sha256"] and dump(content) == text
        if not is_same:
            raise BadBundle(f"{name} has another SHA-256 than the version.")
        if not isinstance(content, dict) or not isinstance(content.get("instrument"), dict):
            raise BadBundle(f"{name} is not the content of a version.")
        found[version["number"]] = content
    return found


def _check_draft(bundle: Bundle, about: Plain) -> Iterator[str]:
    """What a study without a version shows says of it what study.json says."""
    name = name_version(DRAFT, DRAFT_CONTENT)
    content = bundle.read_json(name)
    study = about["study"]
    try:
        said = content["texts"] | content["settings"]
        instructions, instrument = said.pop("instructions"), content["instrument"]
        differing = sorted(key for key, value in said.items() if study[key] != value)
    except (KeyError, TypeError, AttributeError):
        raise BadBundle(f"{name} is not what a study shows.") from None
    if study["instructions"] not in ("", instructions):
        differing.append("instructions")
    if instrument != about["instrument"]:
        differing.append("instrument")
    if differing:
        yield f"{name} says something else than {STUDY}: {', '.join(differing)}."


# --- counts and the package -----------------------------------------------------------------


def _compare_counts(said: Plain, found: Plain) -> Iterator[str]:
    for name, count in found.items():
        if said.get(name) == count:
            continue
        if name == "strays":
            yield (
                f"{count:,} places of {PLAN} stand otherwise than the seed gives them; "
                f"{STUDY} says {said.get(name)}."
            )
        else:
            yield f"{STUDY} counts {name} as {json.dumps(said.get(name))}, but {count} are there."


def _tell_counts(found: Plain) -> Iterator[str]:
    items, answers = sum(found["items"].values()), sum(found["annotations"].values())
    yield f"{items:,} items with {found['outputs']:,} outputs."
    strays = found["strays"]
    yield (
        f"{found['places']:,} places, drawn again from the seed: "
        f"{f'{strays:,} stand otherwise, as recorded' if strays else 'all as drawn'}."
    )
    statuses = sorted(found["annotations"].items())
    told = ", ".join(f"{count:,} {name}" for name, count in statuses)
    yield f"{answers:,} annotations{f' ({told})' if told else ''}, no item with more than k."
    yield (
        f"{found['ratings']:,} ratings, each on its scale and of a known output; "
        f"{found['highlights']:,} highlights, {found['revisions']:,} earlier states, "
        f"{found['exclusions']:,} exclusions, {found['metrics']:,} scores of metrics."
    )


def _check_package(bundle: Bundle) -> Iterator[str]:
    """The data package names every table that is there, and no other."""
    package = bundle.read_json(DATAPACKAGE)
    try:
        named = [resource["path"] for resource in package["resources"]]
    except (KeyError, TypeError):
        raise BadBundle(f"{DATAPACKAGE} is no data package.") from None
    there = [name for name in bundle.names if name.endswith(".csv") and "/" in name]
    if sorted(map(str, named)) != sorted(there):
        yield f"{DATAPACKAGE} names other tables than there are."


def _compare_scripts(bundle: Bundle, software: str, report: Report) -> None:
    """The report says whether the scripts are those of this software, if it made the bundle."""
    scripts = {name: text for name, text in read_scripts().items() if name in bundle.names}
    if software != evalsite.__version__ or not scripts:
        return
    differing = [name for name, text in scripts.items() if bundle.read_text(name) != text]
    for name in differing:
        report.remarks.append(
            f"{name} is not the script of Evalsite {software}, which {STUDY} names. "
            "Read it before you run it."
        )
    if not differing:
        report.checks.append(f"{' and '.join(scripts)}: as in Evalsite {software}.")

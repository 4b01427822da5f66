"""What was found of a judge in one study, as a file; and whether that still holds.

A certificate lapses when the judge changes, when half a year is over, and when a re-audit of fresh
items finds clearly less agreement with people.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

import evalsite
from evalsite.data.files.columns import JUDGE_LABELS
from evalsite.data.files.rows import read_judge_labels
from evalsite.data.models import Judge, JudgeFile
from evalsite.lib.limited import read_cells, read_json
from evalsite.results.models import Report
from evalsite.results.report.computation import describe_instrument
from evalsite.studies.models import Item, Study
from evalsite.studies.versions import hash_content

FORMAT = "evalsite.judge-certificate/1"
HOLDS_FOR = timedelta(days=180)  # hosted models change without a new name
LEAST_ITEMS = 30
LEAST_PEOPLE = 3
_LONGEST = 1_000_000
_LABEL = ("item", "criterion", "system", "value", "system_1", "system_2", "preferred", "order",
          "run")  # fmt: skip
_FINDINGS = (
    "agreement", "stands_in", "bias", "orders", "runs", "corrected", "labels", "rated", "further",
    "people",
)  # fmt: skip


# --- made -----------------------------------------------------------------------------------------


def list_missing(judge: Judge) -> list[str]:
    """List what a certificate needs and nobody has said of this judge."""
    known = {
        "version": judge.version,
        "prompt": judge.prompt_sha256,
        "date": judge.judged_on,
    }
    return [name for name, value in known.items() if not value]


def make_certificate(
    study: Study, report: Report, judge: Judge, *, bundle: str = ""
) -> dict[str, Any]:
    """Return the certificate of this judge as plain data, sealed.

    `bundle`: SHA-256 of the bundle that holds the data. ValidationError: something needed is
    missing, or the report has nothing on this judge.
    """
    if missing := list_missing(judge):
        raise ValidationError(
            f"Say this of {judge} first: {', '.join(missing)}. Without it nobody could tell "
            "whether the judge has changed."
        )
    parts = [
        (criterion, part)
        for criterion in report.content["kept"]["criteria"]
        for part in criterion.get("judges") or ()
        if (part["judge"], part["prompt_version"]) == (judge.name, judge.prompt_version)
    ]
    if not parts:
        raise ValidationError(
            f"The results have nothing on {judge}: compute them again once its labels are in."
        )
    assert judge.judged_on is not None
    people = report.content["kept"]["data"]["participants"]
    criteria = {criterion["key"]: criterion for criterion in describe_instrument(study)}
    main = Item.objects.main().filter(study=study)
    content: dict[str, Any] = {
        "format": FORMAT,
        "identity": {
            "study": study.title,
            "made_on": report.made_at.date().isoformat(),
            "bundle_sha256": bundle,
            "ratings_sha256": report.sha256,
            "labels_sha256": hash_labels(_list_labels(judge)),
            "label_files_sha256": sorted(
                JudgeFile.objects.filter(labels__judge=judge)
                .distinct()
                .values_list("sha256", flat=True)
            ),
            "instrument_sha256": hash_instrument(study),
            "prompt_sha256": judge.prompt_sha256,
            "judge": judge.name,
            "prompt_version": judge.prompt_version,
            "version": judge.version,
            "settings": judge.settings,
            "judged_on": judge.judged_on.isoformat(),
        },
        "population": {
            "language": study.config.language,
            "inputs": main.values("group").distinct().count(),
            "systems": sorted(study.systems.values_list("name", flat=True)),
            "people": people,
        },
        "questions": [
            {
                "instrument": criteria[criterion.get("of", criterion["key"])],
                "key": criterion["key"],
                "label": criterion["label"],
                **{name: part[name] for name in _FINDINGS},
            }
            for criterion, part in parts
        ],
        "limits": [
            f"This judge was compared with {people} people on inputs of this kind. It doesn't show "
            "how the judge rates other systems, questions or languages.",
            "Labels of the judge alone are no result: correct them with people's ratings.",
        ],
        "expires_on": (judge.judged_on + HOLDS_FOR).isoformat(),
        "methods_version": report.content["kept"]["methods_version"],
        "software": evalsite.__version__,
    }
    return content | {"sha256": _seal(content)}


def hash_instrument(study: Study) -> str:
    """Return the SHA-256 of what people were asked: questions, options and instructions."""
    return hash_content(study.config.model_dump(mode="json"))


def hash_labels(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of a judge's labels as judge_labels.csv has them, in whatever order they
    come, without its reasons."""
    cells = ([_read_cell(row, name) for name in _LABEL] for row in rows)
    return hash_content(sorted(map(json.dumps, cells)))


def _read_cell(row: Mapping[str, Any], name: str) -> str:
    """Return a cell; a number as it is written with all of its digits."""
    text = str(row.get(name, ""))
    try:
        return repr(float(text)) if name == "value" else text
    except ValueError:
        return text


def _list_labels(judge: Judge) -> Iterator[dict[str, Any]]:
    for label, _ in read_judge_labels(judge.study, judge=judge):
        yield {column.name: column.get_cell(label) for column in JUDGE_LABELS}


def write_certificate(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    return f"{text}\n".encode()


def _seal(content: Mapping[str, Any]) -> str:
    """Return the fingerprint of a certificate without this field; it uses no keys."""
    body = {name: value for name, value in content.items() if name != "sha256"}
    return sha256(write_certificate(body)).hexdigest()


# --- checked --------------------------------------------------------------------------------------


class FaultyCertificate(ValueError):
    """The file isn't a certificate, or isn't what was made."""


def read_certificate(path: Path) -> dict[str, Any]:
    """Return a certificate; FaultyCertificate says what is wrong with the file."""
    data = path.read_bytes()
    if len(data) > _LONGEST:
        raise FaultyCertificate(f"{path} is too large for a certificate.")
    try:
        content = read_json(data.decode("utf-8-sig"))
    except ValueError as error:
        raise FaultyCertificate(f"{path} isn't JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FaultyCertificate(f"{path} is no certificate of a judge ({FORMAT}).")
    if content.get("sha256") != _seal(content):
        raise FaultyCertificate(f"{path} was changed after it was made: its fingerprint differs.")
    return content


def is_made_from(certificate: Mapping[str, Any], path: Path) -> bool:
    """Return whether these are the labels that the certificate was made from: a file as it was
    added to the study, if there was only that one, or the study's judge_labels.csv.

    ValueError: the file isn't text.
    """
    identity, data = certificate["identity"], path.read_bytes()
    if identity["label_files_sha256"] == [sha256(data).hexdigest()]:
        return True
    cells = read_cells(StringIO(data.decode("utf-8-sig"), newline=""), strict=False)
    names: list[str] = next(cells, [])
    rows = (dict(zip(names, row, strict=False)) for row in cells)
    judge = identity["judge"], identity["prompt_version"]
    mine = (row for row in rows if (row.get("judge"), row.get("prompt_version", "")) == judge)
    return hash_labels(mine) == identity["labels_sha256"]


_USED = {
    "instrument_sha256": "the instrument",
    "prompt_sha256": "the prompt",
    "judge": "the judge",
    "version": "the judge's version",
    "settings": "the settings",
}


def find_lapses(
    certificate: Mapping[str, Any], used: Mapping[str, str], *, today: date
) -> Iterator[tuple[str, str]]:
    """Yield why a certificate doesn't hold for what is in use, as code and sentence.

    `used`: by the names of `identity`, whatever is known of the judge in use.
    """
    identity = certificate["identity"]
    for name, words in _USED.items():
        if name in used and used[name] != identity[name]:
            yield name, f"{words[:1].upper()}{words[1:]} isn't the one of the certificate."
    if today.isoformat() > certificate["expires_on"]:
        yield "expired", f"It expired on {certificate['expires_on']}."


@dataclass(frozen=True)
class Audit:
    """A question of a certificate on fresh items: "holds", "lapsed" or "too_few"."""

    key: str
    label: str
    outcome: str
    sentence: str
    facts: Mapping[str, Any]


def audit(certificate: Mapping[str, Any], labels_path: Path, ratings_path: Path) -> Iterator[Audit]:
    """Yield for each question whether judge and people still agree as the certificate says.

    ValueError: a file doesn't have the documented form.
    """
    from evalsite.analysis.judges import audit_again  # noqa: PLC0415 (numpy stays out of web)
    from evalsite.analysis.ratings import read_bare_table  # noqa: PLC0415
    from evalsite.analysis.report.judges import describe_audit, read_labels  # noqa: PLC0415

    identity = certificate["identity"]
    labels = read_labels(labels_path)
    mine = (labels.judge.isin(["", identity["judge"]])) & (
        labels.prompt_version.isin(["", identity["prompt_version"]])
    )
    table = read_bare_table(ratings_path).results()
    for question in certificate["questions"]:
        key, label = question["key"], question["label"]
        fresh = describe_audit(table, question["instrument"], key, labels[mine])
        r0, n0 = question["corrected"]["r"], question["corrected"]["labelled"]
        facts = {"r0": r0, "n0": n0, **fresh}
        needed = _say_needed(question, fresh)
        if r0 is None or n0 <= LEAST_PEOPLE:
            needed = "the certificate has no correlation for it"
        if needed:
            yield Audit(key, label, "too_few", f"{label} can't be audited: {needed}.", facts)
            continue
        test = audit_again(r0=_within(r0), n0=n0, r1=_within(fresh["r"]), n1=fresh["inputs"])
        facts |= test
        now = f"{label}: correlation {fresh['r']:.2f} on {fresh['inputs']} fresh items, {r0:.2f} "
        now += f"in the certificate (z = {test['z']:.2f})."
        if test["lapses"]:
            yield Audit(key, label, "lapsed", f"{now} The judge agrees clearly less.", facts)
        else:
            passed = f"No loss was found; {fresh['inputs']} items would miss a small one."
            yield Audit(key, label, "holds", f"{now} {passed}", facts)


def _within(r: float) -> float:
    """Return a correlation whose Fisher's z is finite."""
    return max(-0.9999, min(0.9999, r))


def _say_needed(question: Mapping[str, Any], fresh: Mapping[str, Any]) -> str:
    """Return what is missing for a re-audit; "" if nothing is."""
    if fresh["inputs"] < LEAST_ITEMS:
        return (
            f"{fresh['inputs']} items have people's answers and the judge's labels; it takes "
            f"{LEAST_ITEMS}"
        )
    if fresh["people"] < LEAST_PEOPLE:
        return f"{fresh['people']} people rated; it takes {LEAST_PEOPLE}"
    if fresh["r"] is None:
        return "people or the judge gave the same answer everywhere"
    most = question["corrected"]["answers"]
    if round(fresh["answers"], 1) < round(most, 1):
        return f"an output has {fresh['answers']:.1f} answers, in the certificate {most:.1f}"
    return ""

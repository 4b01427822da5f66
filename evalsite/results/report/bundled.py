"""The report that a bundle carries: the figures of its document, and the document as Markdown.

It rests on the rows of the bundle, and on a few facts that no row holds: its `basis`.
"""

from datetime import datetime
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.data.bundle.format import BundleReport, dump
from evalsite.results.analysis_plan.stored import describe_plan
from evalsite.results.document.blocks import Document
from evalsite.results.document.text import render_text
from evalsite.results.models import Report
from evalsite.results.report.computation import analyse_study, find_current, withdraw_claims
from evalsite.results.report.files import make_source
from evalsite.results.report.sections import make_document
from evalsite.results.report.sections.methods import list_deviations, tabulate_plan
from evalsite.studies.models import Study

Plain = dict[str, Any]
_TEST = ("t", "p", "p_corrected", "df")


def find_report(study: Study, sha256: str) -> BundleReport | None:
    """Return the report of the study's data as they are, if it was computed.

    `sha256`: of the ratings.csv that is beside it.
    """
    report = find_current(study)
    if report is None:
        return None
    basis: Plain = {"made_at": report.made_at.isoformat(), "ratings_sha256": sha256}
    if look := (report.content.get("collection") or {}).get("look"):
        basis["look"] = look
    if size := (report.content.get("plan") or {}).get("size"):
        basis["size"] = {name: size[name] for name in ("words", "at", "answers")}
    return _write_report(study, report.content, basis)


def write_plan(study: Study, *, has_data: bool) -> str:
    """Return the plan as Markdown, for a bundle without a report; what came of it with the data."""
    plan = describe_plan(study)
    blocks = [
        *tabulate_plan(plan, criteria=len(study.config.criteria)),
        *(list_deviations(plan) if has_data else ()),
    ]
    return render_text(Document("Analysis plan", blocks).keep("main"))


def compute_report(study: Study, basis: Plain, team: Plain | None = None) -> BundleReport:
    """Compute the report of the rows in this database.

    `team`: the report of everyone's answers; the basis then names what it finds otherwise.
    """
    content, _ = analyse_study(study)
    if team is not None:
        codes = _list_codes(team)
        basis = basis | {
            "differing": [
                list(pair)
                for pair, code in _list_codes(content["kept"]).items()
                if codes.get(pair, code) != code
            ]
        }
    return _write_report(study, content, basis)


def make_bundled_document(study: Study, content: Plain, basis: Plain) -> Document:
    """Return the report without what only the team may see."""
    look = basis.get("look")
    content = content | {
        "plan": {
            **{name: part for name, part in content["plan"].items() if name != "size"},
            **({"size": basis["size"]} if basis.get("size") else {}),
        },
        "collection": {
            **{name: content["collection"][name] for name in ("done", "target")},
            **({"look": look} if look else {}),
        },
    }
    if "not_sharing" in basis:
        content["sharing"] = {
            "left_out": basis["not_sharing"], "differing": basis.get("differing", []),
        }  # fmt: skip
    if look:
        for name in ("kept", "all"):
            if content[name]:
                warnings = withdraw_claims(content[name]["warnings"])
                content[name] = content[name] | {"warnings": warnings}
    report = Report(
        study=study,
        content=content,
        sha256=basis["ratings_sha256"],
        made_at=datetime.fromisoformat(basis["made_at"]),
    )
    return make_document(make_source(study, report)).keep("main", "further")


def _write_report(study: Study, content: Plain, basis: Plain) -> BundleReport:
    document = make_bundled_document(study, content, basis)
    # a report prints some figures in two places
    figures = {dump(plain): plain for plain in map(flatten, document.figures)}
    text = render_text(document.keep("main"))
    return BundleReport({"basis": basis, "figures": list(figures.values())}, text, content["kept"])


def flatten(figure: Figure) -> Plain:
    """Return a figure as plain data: its name, what it is of, its numbers, and no method."""
    test = {name: value for name in _TEST if (value := getattr(figure, name)) is not None}
    ends = {"low": figure.low, "high": figure.high, "level": figure.level}
    has_interval = figure.low is not None or figure.high is not None
    return {
        "name": figure.name,
        "unit": figure.unit,
        "group": dict(figure.group),
        "value": figure.value,
        **(ends if has_interval else {}),
        **({"why": figure.why} if figure.why else {}),
        **({"n": dict(figure.n)} if figure.n else {}),
        **test,
    }


def _list_codes(kept: Plain) -> dict[tuple[str, str, str], str]:
    """Return what was found of each pair of systems on each criterion."""
    return {
        (criterion["key"], pair["system_1"], pair["system_2"]): pair["finding"]["code"]
        for criterion in kept["criteria"]
        for pair in criterion["pairs"]
    }

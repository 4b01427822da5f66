"""The report as one self-contained HTML page, drawings and style included."""

from base64 import b64encode
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from evalsite.lib.markdown import render_markdown
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.results.design.tables import tabulate_design, tabulate_places
from evalsite.results.models import Report
from evalsite.results.report.criterion_view import CriterionView, view_criteria
from evalsite.results.report.limitations import list_limits
from evalsite.results.report.methods import summarise_method
from evalsite.results.report.parts import Part, Picture
from evalsite.results.report.sentences import SENTENCES, write_sentence
from evalsite.results.report.study_facts import (
    collect_facts,
    describe_collection,
    describe_evaluated,
    describe_making,
)
from evalsite.results.report.study_tables import (
    list_further,
    list_main,
    tabulate_changes,
    tabulate_exclusions,
    tabulate_flags,
    tabulate_thresholds,
)
from evalsite.results.report.table import Table
from evalsite.results.report.verdicts import count_changes
from evalsite.studies.models import Study

_MOST_WARNINGS = 5
_MOST_WITH_SYSTEMS = 3  # criteria whose systems have a table in the report
_STYLE = Path(__file__).with_name("report.css")


@dataclass(frozen=True)
class Block:
    """A table and, where there is one, its drawing as the address of an image."""

    table: Table
    image: str = ""
    alt: str = ""
    narrow: str = ""


@dataclass(frozen=True)
class Section:
    """One part of the results as the page shows it."""

    part: Part
    blocks: list[Block]
    warnings: list[str]
    view: CriterionView | None


def write_page(study: Study, report: Report, *, is_further: bool = False) -> str:
    """Return the report or the further analyses as a page that needs no other file."""
    facts, found = collect_facts(study, report), report.content["kept"]
    context = {
        "is_closed": study.state in (Study.State.CLOSED, Study.State.ARCHIVED),
        "facts": facts,
        "is_further": is_further,
        "criteria": [(one, render_markdown(one.definition)) for one in facts.criteria],
        "style": _as_data(_STYLE.read_bytes(), "text/css"),
        "warnings": _warnings(found, None)[: None if is_further else _MOST_WARNINGS],
        "evaluated": describe_evaluated(facts),
        "collection": describe_collection(facts),
        "plan": plan_in_words(facts.plan, criteria=len(facts.criteria)),
        "making": describe_making(facts),
        "method": summarise_method(facts, found),
        "design": tabulate_design(found),
        "places": tabulate_places(found),
        "exclusions": tabulate_exclusions(facts),
        "after_launch": tabulate_changes(facts),
        "has_all": report.content["all"] is not None,
        "flags": tabulate_flags(found),
        "thresholds": tabulate_thresholds(facts),
        "raters": len(found["raters"]["rows"]),
        "changes": (changes := _list_changes(report)),
        "exclusions_sentence": SENTENCES["exclusions_change"](changes=changes)
        if changes
        else SENTENCES["exclusions_change_nothing"](),
        "limits": list_limits(report),
        "sections": [
            _show(report, part) for part in (list_further if is_further else list_main)(report)
        ],
    }  # fmt: skip
    return render_to_string("results/report.html", context)


def _list_changes(report: Report) -> list[dict[str, Any]]:
    """List the criteria of which verdicts change with what is excluded, and how many do."""
    whole = {one["key"]: one for one in (report.content["all"] or {}).get("criteria", ())}
    return [
        {"label": one["label"], "number": number}
        for one in report.content["kept"]["criteria"]
        if one["key"] in whole and (number := count_changes(one, whole[one["key"]]))
    ]


def _show(report: Report, part: Part) -> Section:
    found = report.content["kept"]
    blocks = [_show_block(report, table, picture) for table, picture in part.blocks]
    if len(found["criteria"]) > _MOST_WITH_SYSTEMS:
        # the drawing shows them; the further analyses have the table
        name = f"{part.key}-systems"
        blocks = [
            replace(one, table=replace(one.table, rows=[], sentence=""))
            if one.table.name == name
            else one
            for one in blocks
        ]
    criteria = [one for one in found["criteria"] if one["key"] == part.key]
    views = view_criteria({"criteria": criteria}, None)
    return Section(part, blocks, _warnings(found, part.key), views[0] if views else None)


def _show_block(report: Report, table: Table, picture: Picture | None) -> Block:
    if picture is None:
        return Block(table)
    narrow = embed_drawing(report, f"{picture.name}-narrow") if picture.narrow_url else ""
    return Block(table, embed_drawing(report, picture.name), picture.alt, narrow)


def embed_drawing(report: Report, name: str) -> str:
    """Return the drawing as an address that holds all of it."""
    return _as_data((report.folder / f"{name}.svg").read_bytes(), "image/svg+xml")


def _as_data(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _warnings(found: dict[str, Any], criterion: str | None) -> list[str]:
    return [write_sentence(one) for one in found["warnings"] if one["criterion"] == criterion]

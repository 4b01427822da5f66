"""A study beside the one that it repeats, as blocks made from the plain data of a comparison."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Entry,
    Heading,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import CODES, write_figure, write_value
from evalsite.results.replication.notes import SIDES, write_note
from evalsite.results.report.sections.further import list_figures, name_code, read_own
from evalsite.results.report.sections.words import say_p

Stored = Mapping[str, Any]
_FEW_SYSTEMS = 5
_OUTCOMES = {
    "upheld": "Upheld",
    "reversed": "The other way round",
    "not_again": "No clear difference in the repeat",
    "not_compared": "Not compared in the repeat",
    "new": "Found in the repeat only",
    "open": "No clear difference in either",
}


def list_comparable(comparison: Stored) -> list[Stored]:
    """Return the criteria on which both studies rated a system of the same name."""
    return [criterion for criterion in comparison["criteria"] if criterion["systems"]]


def explain_apart(comparison: Stored) -> str:
    """Return why there is nothing to compare."""
    if not comparison["criteria"]:
        return "The two studies have no question in common with ratings in both."
    return (
        "The two studies have no system in common, so there is nothing to compare. Systems are "
        "matched by name."
    )


def choose_criterion(comparison: Stored, key: str) -> Stored | None:
    """Return the criterion of this key, or the first; None where there is nothing to compare."""
    criteria = list_comparable(comparison)
    chosen = (criterion for criterion in criteria if criterion["key"] == key)
    return next(chosen, criteria[0] if criteria else None)


def make_comparison(comparison: Stored) -> Document:
    """Return all of the comparison."""
    warnings = [
        Sentence(note["code"], write_note(note), "warning") for note in comparison["warnings"]
    ]
    blocks: list[Block] = [*warnings, tabulate_sides(comparison)]
    for criterion in comparison["criteria"]:
        blocks += [Heading(criterion["label"], 2, criterion["key"]), *show_criterion(criterion)]
    return Document("A study and its repeat", blocks)


def show_criterion(criterion: Stored) -> Iterator[Block]:
    """Yield what became of one criterion: the finding, scores, both together, each comparison."""
    note = criterion["finding"]
    yield Sentence(note["code"], write_note(note))
    if not criterion["systems"]:
        return
    yield _tabulate_scores(criterion)
    figures = [criterion["upheld"], *criterion["correlations"], *criterion["agreement"]]
    name, caption = f"{criterion['key']}-together", f"{criterion['label']}: both studies together"
    together = list_figures(name, caption, figures, criterion=criterion["key"])
    yield replace(together, place="main")
    if len(criterion["systems"]) < _FEW_SYSTEMS:
        yield Sentence("few_systems", "With so few systems, their correlation says little.")
    if criterion["pairs"]:
        yield _tabulate_findings(criterion)
    for note in criterion["notes"]:
        yield Sentence(note["code"], write_note(note), place="further")


def tabulate_sides(comparison: Stored) -> Table:
    """Return what each study brought, and what both have."""
    first, second, common = comparison["first"], comparison["second"], comparison["common"]
    rows: list[list[Entry]] = [
        ["Ratings", f"{first['ratings']:,}", f"{second['ratings']:,}", ""],
        ["Participants", _count_people(first), _count_people(second), ""],
        ["Outputs", f"{first['outputs']:,}", f"{second['outputs']:,}", f"{common['outputs']:,}"],
        ["Systems", *(f"{len(side['systems']):,}" for side in (first, second, common))],
    ]
    if common["changed"]:
        rows.append(["With another text or input", "", "", f"{common['changed']:,}"])
    columns = [Column("Counted", is_number=False), *map(Column, (*SIDES.values(), "In common"))]
    return Table("studies", "What was compared", columns, rows)


def _count_people(side: Stored) -> str:
    return f"{side['participants']:,}" if side["raters_known"] else "unknown"


def _tabulate_scores(criterion: Stored) -> Table:
    """Return the score of each system in both studies, how far it moved, and CV*."""
    rows: list[list[Entry]] = []
    for system in criterion["systems"]:
        name = str(system["system"])
        group = {"criterion": criterion["key"], "system": name}
        scores = [_write_score(system[side], group | {"study": side}) for side in SIDES]
        moved = read_own(system["moved"], group)
        rows.append([isolate(name), *scores, moved, read_own(system["cv_star"], group)])
    moved_name = name_code(criterion["systems"][0]["moved"]["name"])
    heads = [*SIDES.values(), f"{moved_name} (95% CI)", CODES["cv_star"][1]]
    columns = [Column("System", is_number=False), *map(Column, heads)]
    caption = (
        f"{criterion['label']}: scores of systems. CV* is how far apart the two scores are, in "
        "percent of their mean."
    )
    return Table(f"{criterion['key']}-scores", caption, columns, rows)


def _write_score(stored: Stored, group: Mapping[str, str]) -> Cell:
    """Return "5.21 (n = 48)"."""
    figure = read_own(stored, group)
    return Cell(f"{write_value(figure)} (n = {figure.n['ratings']:,})", (figure,))


def _tabulate_findings(criterion: Stored) -> Table:
    """Return every two systems that the first study compares, and what the repeat says of them."""
    rows: list[list[Entry]] = []
    for pair in criterion["pairs"]:
        first, second = str(pair["system_1"]), str(pair["system_2"])
        group = {"criterion": criterion["key"], "system_1": first, "system_2": second}
        effects = [_write_effect(pair[side], group | {"study": side}) for side in SIDES]
        rows.append([f"{isolate(first)} : {isolate(second)}", *effects, _OUTCOMES[pair["outcome"]]])
    effect = name_code(criterion["pairs"][0]["first"]["name"]).lower()
    columns = [
        Column("Pair", is_number=False),
        *(Column(f"{study}: {effect}") for study in SIDES.values()),
        Column("Finding", is_number=False),
    ]
    return Table(f"{criterion['key']}-findings", f"{criterion['label']}: findings", columns, rows)


def _write_effect(stored: Stored | None, group: Mapping[str, str]) -> Entry:
    """Return "0.45 (0.21 to 0.69), p = .003"."""
    if stored is None:
        return "–"
    figure: Figure = read_own(stored, group)
    p = say_p(figure.p_corrected)
    return Cell(", ".join(filter(None, (write_figure(figure), p))), (figure,))

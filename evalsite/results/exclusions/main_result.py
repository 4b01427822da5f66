"""What exclusions change: the first criterion of a report with and without them."""

from collections.abc import Sequence

from evalsite.results.document.blocks import Column, Entry, Table, isolate
from evalsite.results.models import Report
from evalsite.results.report.sections.findings import describe_finding
from evalsite.results.report.source import Criterion


def show_main(report: Report | None, *, is_excluding: bool = True) -> Table | None:
    """Return the first criterion of the report; None where there is no report, or none in it.

    `is_excluding` False: nothing is excluded any more, so that all answers alone are shown.
    """
    if report is None or not report.content["kept"]["criteria"]:
        return None
    kept = Criterion(report.content["kept"]["criteria"][0])
    everything = _find_whole(report, kept.key)
    if everything is None:
        return _tabulate(kept.label, [("All answers", kept)])
    if not is_excluding:
        return _tabulate(kept.label, [("All answers", everything)])
    sides = [("Without what is excluded", kept), ("With it", everything)]
    return _tabulate(kept.label, sides)


def _find_whole(report: Report, key: str) -> Criterion | None:
    criteria = (report.content["all"] or {"criteria": ()})["criteria"]
    return next((Criterion(one) for one in criteria if one["key"] == key), None)


def _tabulate(label: str, sides: Sequence[tuple[str, Criterion]]) -> Table:
    """Return the mean of each system, and last what was found."""
    names = dict.fromkeys(name for _, criterion in sides for name in criterion.names)
    rows: list[list[Entry]] = []
    for name in names:
        row: list[Entry] = [isolate(name)]
        for _, criterion in sides:
            known = {str(one["system"]): one for one in criterion.systems}
            row.append(criterion.mean(known[name]) if name in known else "none")
        rows.append(row)
    columns = [Column("System", is_number=False), *(Column(head) for head, _ in sides)]
    found: list[Entry] = ["Finding", *(describe_finding(one)[1] for _, one in sides)]
    return Table("main-result", f"{label}: mean of each system (95% CI)", columns, rows, [found])

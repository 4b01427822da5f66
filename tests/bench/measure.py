"""One run on the database of the environment; `tests.bench` starts it."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from statistics import median
from time import perf_counter

import django

django.setup()

from tests.bench.lines import Line, say, say_row  # noqa: E402 (after setup)
from tests.bench.load import Run, bare_saves, run_load  # noqa: E402
from tests.bench.noise import Probe  # noqa: E402
from tests.bench.pages import count_queries  # noqa: E402
from tests.bench.server import Server  # noqa: E402
from tests.bench.study import SET_SIZE, People, make_live_study  # noqa: E402

CPU_BUDGET = {"sqlite": 8.0, "postgresql": 10.0}
# a study of fewer items is made again for each crowd, so that nobody runs out of work
_LARGE = 10_000
_HEADINGS = (
    "items", "people", "ratings/s", "p50 ms", "p95 ms", "p99 ms", "CPU ms",
    "bare CPU", "ratio", "page CPU", "ratio", "loop CPU", "ratio", "bare/s",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What to measure: so many items and people, each in rounds of so many saves."""

    name: str
    items: list[int]
    people: list[int]
    saves: int
    rounds: int


@dataclass
class Cell:
    """One row of the table: a crowd in a study of so many items, with the two bare pairs.

    `ours` saves only; `loop` starts and finishes its sets too.
    """

    items: int
    people: int
    ours: list[Run]
    bare: list[Run]
    page: list[Run]
    loop: list[Run]

    @property
    def cpu_ms(self) -> float:
        return median(run.cpu_ms for run in self.ours)

    @property
    def per_second(self) -> float:
        return median(run.per_second for run in self.ours)

    def percentile(self, percent: int) -> float:
        return median(run.percentile(percent / 100) for run in self.ours)

    def cells(self) -> list[str]:
        def cpu(runs: list[Run]) -> str:
            return f"{median(run.cpu_ms for run in runs):.1f}"

        return [
            f"{self.items:,}",
            str(self.people),
            f"{self.per_second:.0f}",
            *(f"{self.percentile(percent):.0f}" for percent in (50, 95, 99)),
            cpu(self.ours),
            cpu(self.bare),
            f"{ratio(self.ours, self.bare):.2f}",
            cpu(self.page),
            f"{ratio(self.ours, self.page):.2f}",
            cpu(self.loop),
            f"{ratio(self.loop, self.page):.2f}",
            f"{median(run.per_second for run in self.bare):.0f}",
        ]


def ratio(ours: list[Run], others: list[Run]) -> float:
    """Return how many times the others' processor time a rating costs.

    Rounds are compared with their neighbours, so other work on the machine affects both.
    """
    pairs = zip(ours, others, strict=True)
    return median(one.cpu_ms / other.cpu_ms for one, other in pairs)


def main(plan: Plan) -> None:
    say(f"\n{plan.name}, k = 3, gunicorn 2 x 8 threads, {os.cpu_count()} cores,")
    say(
        f"load {os.getloadavg()[0]:.1f} before the start; {plan.rounds} rounds; rate limits are off"
    )
    probe = Probe()
    study = make_live_study(100)
    with Server() as server:
        people = People(study, server.port)
        lines = query_lines(people)
        say("")
        say_row(_HEADINGS)
        cells = []
        for cell in measure_cells(plan, server, probe, people.claim_ms):
            say_row(cell.cells())
            cells.append(cell)
        claims = sorted(people.claim_ms)
        lines += [
            *budget_lines(plan.name, cells),
            Line("claim of a set, through the ORM, p50", claims[len(claims) // 2], unit="ms"),
            Line("memory of the web processes (PSS)", server.mebibytes(), 200, "MiB"),
        ]
    say("")
    for line in lines:
        say(str(line))
    say(f"Noise: {probe}.")


def measure_cells(
    plan: Plan, server: Server, probe: Probe, claim_ms: list[float]
) -> Iterator[Cell]:
    for items in plan.items:
        study = None
        for crowd in plan.people:
            if study is None or items < _LARGE:
                began = perf_counter()
                study = make_live_study(items)
                seconds = perf_counter() - began
                if items >= _LARGE:
                    say(f"(a study of {items:,} items made and launched in {seconds:.0f} s)")
            people = People(study, server.port)
            yield measure_cell(plan, server, probe, people, crowd, items)
            claim_ms += people.claim_ms


def measure_cell(
    plan: Plan, server: Server, probe: Probe, people: People, crowd: int, items: int
) -> Cell:
    """The bare pairs and ours in turn, so that other work on the machine meets all."""
    cell = Cell(items, crowd, [], [], [], [])
    saves = max(plan.saves, SET_SIZE * crowd)
    each = -(-saves // crowd)
    load = {"port": server.port, "people": crowd, "cpu": server.cpu_seconds}
    for _ in range(plan.rounds):
        probe.time_loop()
        cell.bare.append(run_load([bare_saves(each)] * crowd, **load))
        cell.page.append(run_load([bare_saves(each, "/bare/page/")] * crowd, **load))
        cell.ours.append(run_load(people.work(saves), **load))
        cell.loop.append(run_load(people.loops(saves, crowd), **load))
    return cell


def query_lines(people: People) -> list[Line]:
    queries = count_queries(people)
    bounds = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    asked = [query for query in queries if not query.startswith(bounds)]
    return [
        Line("queries of save + next", len(asked), 14),
        Line("  BEGIN and COMMIT besides", len(queries) - len(asked)),
    ]


def budget_lines(name: str, cells: list[Cell]) -> list[Line]:
    """The budgets of the design, each by the cells that it speaks of."""
    by_place = {(cell.items, cell.people): cell for cell in cells}
    smallest = min(cell.items for cell in cells)
    lines = []
    usual = by_place.get((smallest, 16), cells[0])
    label = f"{usual.people} people, {usual.items:,} items: "
    lines += [
        Line(label + "CPU of save + next", usual.cpu_ms, CPU_BUDGET[name], "ms"),
        Line(label + "against the bare pair", ratio(usual.ours, usual.bare)),
        Line(label + "against the bare pair with this page", ratio(usual.ours, usual.page), 2),
        Line(
            label + "the same, starts and ends of sets included", ratio(usual.loop, usual.page), 2
        ),
    ]
    if name == "postgresql":
        lines += [
            Line(label + "ratings a second", usual.per_second, 150, at_least=True),
            Line(label + "p95", usual.percentile(95), 200, "ms"),
            Line(label + "p99", usual.percentile(99), 400, "ms"),
        ]
    crowded = by_place.get((usual.items, 64))
    if crowded is not None:
        share = crowded.per_second / usual.per_second
        lines.append(Line("ratings a second of 64 people against 16", share, 1, at_least=True))
    grown = by_place.get((max(cell.items for cell in cells), usual.people))
    if grown is not None and grown is not usual:
        label = f"CPU at {grown.items:,} items against {usual.items:,}"
        lines.append(Line(label, grown.cpu_ms / usual.cpu_ms, 1.2))
    return lines


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    main(Plan(**{field.name: asked[field.name] for field in fields(Plan)}))

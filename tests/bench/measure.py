"""One run on the database of the environment; `tests.bench` starts it."""

import os
import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import django

django.setup()

from tests.bench.load import Connection, Run, bare_saves, run_load  # noqa: E402 (after setup)
from tests.bench.pages import count_queries, weigh  # noqa: E402
from tests.bench.server import Server  # noqa: E402
from tests.bench.study import People, make_live_study  # noqa: E402

KIB = 1024
CPU_BUDGET = {"sqlite": 8.0, "postgresql": 10.0}


@dataclass
class Line:
    """One measurement beside its budget."""

    what: str
    measured: float
    budget: float | None = None
    unit: str = ""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        is_met = self.measured >= self.budget if self.at_least else self.measured <= self.budget
        return "met" if is_met else "MISSED"

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        budget = "" if self.budget is None else f"{sign} {self.budget:g}"
        measured = f"{self.measured:.4g} {self.unit}".strip()
        return f"{self.what:<62} {measured:>14} {budget:>9} {self.verdict}".rstrip()


def main(name: str, items: int, saves: int, rounds: int, crowds: list[int]) -> None:
    say(f"\n{name}, {items:,} items, k = 3, gunicorn 2 x 8 threads, {os.cpu_count()} cores,")
    say(f"load {os.getloadavg()[0]:.1f} before the start; {rounds} rounds of {saves} saves;")
    say("rate limits are off")
    began = perf_counter()
    study = make_live_study(items)
    say(f"(study made in {perf_counter() - began:.1f} s)\n")
    with Server() as server:
        people = People(study, server.port)
        lines = [*page_lines(people, server), *query_lines(people)]
        for crowd in crowds:
            lines += load_lines(name, people, server, crowd, saves, rounds)
        claims = sorted(people.claim_ms)
        lines += [
            Line("claim of a set, through the ORM, p50", claims[len(claims) // 2], unit="ms"),
            Line("memory of the web processes (PSS)", server.mebibytes(), 200, "MiB"),
        ]
    for line in lines:
        say(str(line))


def page_lines(people: People, server: Server) -> list[Line]:
    weight = weigh(people, Connection(server.port))
    for address, size in weight.cold.items():
        say(f"  {size:>7,} bytes  {address}")
    return [
        Line("rating page, cold, on the wire", sum(weight.cold.values()) / KIB, 20, "KiB"),
        Line("requests of a cold rating page", len(weight.cold), 4),
        Line("from item to item, on the wire", weight.item_to_item / KIB, 6, "KiB"),
    ]


def query_lines(people: People) -> list[Line]:
    queries = count_queries(people)
    bounds = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    asked = [query for query in queries if not query.startswith(bounds)]
    return [
        Line("queries of save + next", len(asked), 14),
        Line("  BEGIN and COMMIT besides", len(queries) - len(asked)),
    ]


def load_lines(
    name: str, people: People, server: Server, crowd: int, saves: int, rounds: int
) -> list[Line]:
    """The bare pair and ours in turn, so that other work on the machine meets both."""
    bare: list[Run] = []
    ours: list[Run] = []
    each = -(-saves // crowd)
    for _ in range(rounds):
        load = {"port": server.port, "people": crowd, "cpu": server.cpu_seconds}
        bare.append(run_load([bare_saves(each)] * crowd, **load))
        ours.append(run_load(people.work(saves), **load))
    ratios = [one.cpu_ms / other.cpu_ms for one, other in zip(ours, bare, strict=True)]
    of_sixteen = name == "postgresql" and crowd == 16
    label = f"{crowd} at once: "
    return [
        Line(label + "CPU of save + next", cost(ours), CPU_BUDGET[name], "ms"),
        Line(label + "CPU of the bare pair", cost(bare), unit="ms"),
        Line(label + "save + next against the bare pair", median(ratios), 1.6),
        Line(label + "ratings a second", rate(ours), 150 if of_sixteen else None, at_least=True),
        Line(label + "the same of the bare pair", rate(bare)),
        *(
            Line(f"{label}save + next, p{share}", middle(ours, share), budget, "ms")
            for share, budget in (
                (50, None),
                (95, 200 if of_sixteen else None),
                (99, 400 if of_sixteen else None),
            )
        ),
    ]


def cost(runs: list[Run]) -> float:
    return median(run.cpu_ms for run in runs)


def rate(runs: list[Run]) -> float:
    return median(run.per_second for run in runs)


def middle(runs: list[Run], percent: int) -> float:
    return median(run.percentile(percent / 100) for run in runs)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    name, items, saves, rounds, *crowds = sys.argv[1:]
    main(name, int(items), int(saves), int(rounds), [int(crowd) for crowd in crowds])

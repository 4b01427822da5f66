"""What a study detects now, and with further answers: computed beside its report, in the same job.

People to come are taken to answer as many items each as those so far, and none to be excluded.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsite.analysis.families import find_family
from evalsite.handout.models import Slot
from evalsite.results.models import Report
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.set_size import mains_per_set

if TYPE_CHECKING:
    import pandas as pd

_ANSWER = ["participant", "item"]
_SIDES = ("system_1", "system_2")
HUNDRED = 100
# of the sets that the study has planned, as many again are tried at most
_MOST_TIMES = 4

Answer = tuple[str, Any]  # who, and the item (of a new input: with its number)


@dataclass(frozen=True, kw_only=True)
class Option:
    """Answers to come: `key` says which, `sets` how many full sets they take."""

    key: str
    answers: list[Answer]
    sets: int
    count: int = 0  # of new inputs, or of answers per item


def describe_settings(study: Study, target: int) -> dict[str, Any]:
    """Return what the options depend on beside the report."""
    return {
        "target": target,
        "k": study.k,
        "size": mains_per_set(study),
        "groups": study.groups,
    }


class Work:
    """The items of a study, the answers that are still open, and how further ones are dealt."""

    def __init__(self, study: Study, people: int, answers: int) -> None:
        self.study, self.size = study, mains_per_set(study)
        items = list(Item.objects.main().filter(study=study))
        self.items = {entry.pk: entry for entry in items}
        self.order = [entry.pk for entry in self._sort(items)]
        systems: dict[Any, list[str]] = {}
        outputs = Output.objects.filter(item__in=items, system__isnull=False).order_by("position")
        for item, name in outputs.values_list("item", "system__name"):
            systems.setdefault(item, []).append(name)
        self.systems = systems
        self.groups = list(dict.fromkeys(self.items[system].group for system in self.order))
        sets = max(1, round(answers / people / self.size)) if people else 1
        self.load = self.size * sets

    def _sort(self, items: Iterable[Item]) -> list[Item]:
        """The items as they are dealt: groups together, or as far apart as can be."""
        turns: dict[str, int] = {}
        placed = []
        for item in sorted(items, key=lambda item: (item.group_shuffle_key, item.shuffle_key)):
            turns[item.group] = turns.get(item.group, -1) + 1
            placed.append((turns[item.group], item))
        if self.study.groups == Study.Groups.TOGETHER:
            return [entry for _, entry in placed]
        return [entry for _, entry in sorted(placed, key=lambda pair: pair[0])]

    def list_open(self) -> list[Answer]:
        """The answers that are planned and not in: of whom they are held, or by people to come."""
        places = Slot.objects.filter(study=self.study, item__in=self.items).exclude(
            state=Slot.State.DONE
        )
        leased, free = [], []
        rows = places.order_by("no", "pos").values_list("item", "no", "participant__pseudonym")
        at = {item: place for place, item in enumerate(self.order)}
        for item, number, name in rows:
            if name:
                leased.append((name, item))
            else:
                free.append((number, at[item], item))
        return leased + list(self.deal((item for _, _, item in sorted(free)), "open"))

    def deal(self, items: Iterable[Any], name: str) -> Iterator[Answer]:
        """Give the items to new people in turn, nobody the same one twice."""
        person, taken = 0, set[Any]()
        for item in items:
            if len(taken) == self.load or item in taken:
                person, taken = person + 1, set()
            taken.add(item)
            yield f"{name} {person}", item

    def deal_sets(self, sets: int) -> list[Answer]:
        """So many full sets more, over all items in turn."""
        items = (self.order[n % len(self.order)] for n in range(sets * self.size))
        return list(self.deal(items, "more"))

    def deal_inputs(self, count: int) -> list[Answer]:
        """So many new inputs with the systems of those that there are, k answers to each item."""
        like = {group: [system for system in self.order if self.items[system].group == group]
                for group in self.groups[:count]}  # fmt: skip
        of = [like[self.groups[n % len(self.groups)]] for n in range(count)]
        items = [(item, n) for n, entry in enumerate(of) for item in entry]
        if self.study.groups != Study.Groups.TOGETHER:
            turn = {key: n for n, key in enumerate(self.order)}
            items.sort(key=lambda entry: (turn[entry[0]], entry[1]))
        return list(self.deal(items * self.study.k, "new"))

    def list_rows(self, answers: Iterable[Answer], *, compares: bool) -> Iterator[dict[str, str]]:
        """A row for each rating of these answers, as an export has them."""
        for person, item in answers:
            key, new = item if isinstance(item, tuple) else (item, None)
            stored = self.items[key]
            group, cluster = stored.group, stored.cluster
            if new is not None:
                group, cluster = f"{group} new {new}", cluster and f"{cluster} new {new}"
            row = {"participant": person, "group": group, "block": cluster or group}
            systems = self.systems.get(key, [])
            if compares:
                # a system beside itself is no comparison
                if len(set(systems)) == len(systems) == len(_SIDES):
                    yield row | dict(zip(_SIDES, systems, strict=True))
            else:
                yield from (row | {"system": name} for name in systems)


def project(
    study: Study,
    report: Report,
    paths: Mapping[str, Path],
    instrument: list[dict[str, Any]],
    *,
    target: int,
) -> dict[str, Any]:
    """What each criterion detects now and with each option, as plain data."""
    from evalsite.analysis.report.further import read_rated  # noqa: PLC0415 (numpy stays out of web)

    kept = report.content["kept"]
    settings = describe_settings(study, target)
    work = Work(study, kept["data"]["participants"], kept["data"]["annotations"])
    rated = read_rated(paths, instrument)
    most = {True: 0, False: 0}
    for criterion in kept["criteria"]:
        compares = find_family(criterion).compares
        most[compares] = max(most[compares], len(rated[criterion["key"]]))
    planned = work.list_open()
    criteria = [criterion for criterion in kept["criteria"] if criterion["pairs"]]
    return {
        "settings": settings,
        "load": work.load,
        "criteria": {
            criterion["key"]: _Projection(
                work=work,
                criterion=criterion,
                rows=rated[criterion["key"]],
                # where a question isn't asked of all, it won't be asked of all to come either
                share=len(rated[criterion["key"]]) / most[find_family(criterion).compares],
                smallest=report.content["plan"].get("smallest")
                if criterion.get("role") == "primary" or len(criteria) == 1
                else None,
                planned=planned,
                has_own_errors=kept["plan"]["has_own_errors"],
            ).find()
            for criterion in criteria
        },
    }


@dataclass(frozen=True, kw_only=True)
class _Projection:
    work: Work
    criterion: dict[str, Any]
    rows: "pd.DataFrame"
    share: float
    smallest: float | None
    planned: list[Answer]
    has_own_errors: bool

    def find(self) -> dict[str, Any]:
        """Return what is detected now and with each option, or why options aren't known."""
        from evalsite.analysis.report.further import (  # noqa: PLC0415 (numpy stays out of web)
            can_project,
            count_tests,
            is_merged,
            reach_now,
        )

        criterion, now = self.criterion, reach_now(self.criterion)
        projected: dict[str, Any] = {
            "now": now and asdict(now), "smallest": self.smallest, "options": [], "why": "",
            "tests": count_tests(criterion), "used": len(self.rows.drop_duplicates(_ANSWER)),
        }  # fmt: skip
        if now is None or not self.work.order:
            return projected
        if not can_project(criterion, has_own_errors=self.has_own_errors):
            return projected | {"why": "own_errors" if self.has_own_errors else "no_model"}
        merged = is_merged(criterion)
        if merged and self.work.study.k > 1:
            return projected | {"why": "merged"}
        reached = now.detectable
        if self.planned:
            reached = self._add(projected, Option(key="planned", answers=self.planned, sets=0))
        if not merged:
            self._add_more(projected, reached)
        self._add_inputs(projected)
        if self.work.study.has_ended:
            self._add_next(projected, has_more_answers=not merged)
        return projected | {"why": "merged" if merged else ""}

    def _add_more(self, projected: dict[str, Any], reached: float | None) -> None:
        """Add the options with the items that there are."""
        work = self.work
        if self.smallest is not None and (reached is None or reached > self.smallest):
            sets = self._find_fewest(self.smallest)
            if sets:
                self._add(projected, self._more("fewest", sets))
        self._add(projected, self._more("hundred", ceil(HUNDRED / work.size)))
        answers = list(work.deal(work.order, "more"))
        sets = ceil(len(answers) / work.size)
        more = Option(
            key="one_more", answers=self.planned + answers, sets=sets, count=work.study.k + 1
        )
        self._add(projected, more)

    def _add_inputs(self, projected: dict[str, Any]) -> None:
        work = self.work
        for_each = len(work.order) / len(work.groups) * work.study.k
        count = max(1, round(len(work.order) / for_each))
        answers = work.deal_inputs(count)
        sets = ceil(len(answers) / work.size)
        self._add(
            projected, Option(key="inputs", answers=self.planned + answers, sets=sets, count=count)
        )

    def _add_next(self, projected: dict[str, Any], *, has_more_answers: bool) -> None:
        """Add larger designs for a next study, whose people are taken to be like these."""
        work = self.work
        designs = {"twice_inputs": work.deal_inputs(len(work.groups))}
        if has_more_answers:
            designs["twice_answers"] = list(work.deal(work.order * work.study.k, "more"))
        for key, answers in designs.items():
            sets = ceil(len(answers) / work.size)
            self._add(projected, Option(key=key, answers=self.planned + answers, sets=sets))

    def _more(self, key: str, sets: int) -> Option:
        answers = self.planned + self.work.deal_sets(sets)
        return Option(key=key, answers=answers, sets=sets)

    def _add(self, projected: dict[str, Any], option: Option) -> float | None:
        """Add what this option detects, if that can be known; return the difference."""
        reach = self._reach(option)
        if reach is None:
            return None
        projected["options"].append(
            {
                "key": option.key,
                # of others than those that are planned: beside them
                "answers": len(option.answers) - (len(self.planned) if option.sets else 0),
                "sets": option.sets,
                "count": option.count,
                **asdict(reach),
            }
        )
        size: float | None = reach.detectable
        return size

    def _reach(self, option: Option) -> Any:
        import pandas as pd  # noqa: PLC0415 (stays out of web)

        from evalsite.analysis.report.further import reach_with  # noqa: PLC0415

        compares = find_family(self.criterion).compares
        new = list(self.work.list_rows(option.answers, compares=compares))
        asked = [
            row for n, row in enumerate(new) if int((n + 1) * self.share) > int(n * self.share)
        ]
        return reach_with(self.criterion, pd.concat([self.rows, pd.DataFrame(asked)]))

    def _find_fewest(self, smallest: float) -> int | None:
        """Return the fewest sets, beside what is planned, with which this difference is found."""

        def meets(sets: int) -> bool:
            reach = self._reach(self._more("fewest", sets))
            return reach is not None and (reach.detectable or inf) <= smallest

        work = self.work
        most = max(1, _MOST_TIMES * ceil(len(work.order) * work.study.k / work.size))
        low, high = 0, 1
        while not meets(high):
            if high == most:
                return None
            low, high = high, min(high * 2, most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if meets(middle) else (middle, high)
        return high

"""What the sections of a document are made from: a stored report, and facts about its study.

Nothing is computed here. A criterion gives its figures under the codes of documents.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from math import exp, inf, log
from typing import TYPE_CHECKING, Any

from evalsite.analysis.families import Family, find_family, name_unit
from evalsite.analysis.figure import Figure, Unit
from evalsite.analysis.plan import CLEAR, SIGN, Better
from evalsite.lib.rating_columns import name_option
from evalsite.results.document.figures import CODES, make_figure, read_figure

if TYPE_CHECKING:
    from evalsite.instruments.schema import BasedOn

# --- plain facts, which need no site


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One criterion as raters were asked it."""

    key: str
    label: str
    definition: str  # Markdown
    question: str
    scale: str  # in words
    answers: tuple[str, ...]  # low to high; empty for magnitudes
    better: str  # "higher", "lower" or "none"; "" of answers that are neither high nor low


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a report says besides its figures. `settings` are those that participants had."""

    software: str
    methods: str
    seed: int
    made_at: datetime
    data: Mapping[str, Any]  # of the report: counts, systems, moments
    title: str = ""
    own_examples: int | None = None  # examples in place of the instrument's; None: its own
    departures: "BasedOn | None" = None  # how pages differ from those of the chosen instrument
    version: str = ""
    criteria: tuple[Asked, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    has_practice: bool = False
    has_sheet: bool = False  # all items of a set on one page
    offers_sheet: bool = False
    exclusions: tuple[tuple[str, int], ...] = ()  # reason, and its number of active exclusions
    # of each reason: how many people, and the first and last moment of its decisions
    excluded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hourly: Decimal | None = None  # what an hour pays; None: nobody said so
    # who was asked, and who doesn't share; {} if nobody was asked
    sharing: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[dict[str, Any], ...] = ()  # what was changed after the launch
    import_notes: tuple[str, ...] = ()  # what was left out, merged or decoded at import, by file
    # as it stood when the report was made; {} of an older report
    plan: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""

    @property
    def is_collected_here(self) -> bool:
        """Whether the settings of the study say how its ratings came about."""
        origins = self.data["origins"]
        return bool(origins["own"] or origins["simulated"])


# --- a stored report

Stored = Mapping[str, Any]
_MODEL_MEANS = ("model_mean", "model_share")


@dataclass(frozen=True, kw_only=True)
class Source:
    """`kept`: the report without what is excluded; `everything`: with it, None if nothing is."""

    facts: Facts
    content: Stored
    is_closed: bool
    is_everyone: bool = False
    study_id: str = ""

    @property
    def kept(self) -> Stored:
        """Return the report that is shown."""
        return self.content["all"] if self.is_everyone else self.content["kept"]

    @property
    def everything(self) -> Stored | None:
        """Return the other one of the two reports, if anything is excluded."""
        if self.content["all"] is None:
            return None
        return self.content["kept"] if self.is_everyone else self.content["all"]

    @property
    def plan(self) -> Stored:
        return self.content.get("plan") or {}

    @property
    def collection(self) -> Stored:
        """Return how many answers are in and planned, and who met or saw them; {} of a file."""
        return self.content.get("collection") or {}

    @cached_property
    def criteria(self) -> list["Criterion"]:
        """List the criteria, the primary one first."""
        return [Criterion(stored) for stored in self.kept["criteria"]]

    @cached_property
    def other_criteria(self) -> dict[str, "Criterion"]:
        """Return the criteria of the other report, by key."""
        stored = self.everything["criteria"] if self.everything else ()
        return {stored_criterion["key"]: Criterion(stored_criterion) for stored_criterion in stored}

    def find_criterion(self, key: str) -> "Criterion | None":
        return next((criterion for criterion in self.criteria if criterion.key == key), None)

    def list_options(self, key: str) -> list["Criterion"]:
        """List the options of a choice, which are a criterion each."""
        start = name_option(key, "")
        return [criterion for criterion in self.criteria if criterion.key.startswith(start)]


class Criterion:
    """A criterion of a stored report, and its figures as documents know them."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.key = str(stored["key"])
        self.label = str(stored["label"])
        self.role = str(stored.get("role") or "")
        self.better: Better = stored["better"]
        self.family: Family = find_family(stored)

    # --- units

    @property
    def is_by_model(self) -> bool:
        """Return whether systems are compared by their means in the mixed model."""
        return self.stored.get("estimator") == "model"

    @cached_property
    def mean_unit(self) -> Unit:
        systems = self.stored["systems"]
        unit = CODES.get(systems[0]["headline"]["name"], (None,))[0] if systems else None
        if self.family.orders:
            return "statistic"
        return "share" if unit == "share" or self.family.compares else "points"

    @cached_property
    def difference_unit(self) -> Unit:
        if self.family.is_log:
            return "ratio"
        if self.family.orders:
            return "statistic"
        return "difference in shares" if self.mean_unit == "share" else "points"

    @property
    def unit_words(self) -> str:
        """Return what a difference is counted in: "points"; "" of numbers, which have no unit."""
        if self.difference_unit == "difference in shares":
            return "percentage points"
        is_plain = self.family.is_log or self.family.orders
        return "" if is_plain else name_unit(self.stored)

    # --- systems

    @cached_property
    def systems(self) -> list[Stored]:
        """List the systems, best first; those without a figure are last. Where none is better they
        stay in their order."""
        sign = SIGN[self.better]

        def rank(system: Stored) -> tuple[bool, float]:
            value = self.find_estimate(system)["value"]
            return value is None, 0.0 if value is None else -sign * value

        return sorted(self.stored["systems"], key=rank)

    @property
    def names(self) -> list[str]:
        return [str(system["system"]) for system in self.systems]

    def find_estimate(self, system: Stored) -> Stored:
        """Return the stored figure of the system that comparisons are made of.

        Of preferences: the share of answers that it won, ties as half.
        """
        headline: Stored = system["headline"]
        if self.family.compares:
            return next(
                (figure for figure in system["others"] if figure["name"] == "win_share"), headline
            )
        if not self.is_by_model:
            return headline
        averages = system["averages"]
        return next((average for average in averages if average["name"] in _MODEL_MEANS), headline)

    def mean(self, system: Stored) -> Figure:
        stored = self.find_estimate(system)
        return read_figure(stored, "mean", self.group(system), unit=self.mean_unit)

    def net_share(self, system: Stored) -> Figure:
        """Return the share of answers that a compared system won minus the share that it lost."""
        mean = self.mean(system)
        # a tie counts half for either side
        value, low, high = (
            None if end is None else 2 * end - 1 for end in (mean.value, mean.low, mean.high)
        )
        return replace(
            mean, name="net_share", value=value, low=low, high=high, unit="difference in shares"
        )

    def distance(self, system: Stored) -> Figure | None:
        """Return how far the system is from the average of the systems."""
        stored = system.get("from_average")
        if not stored:
            return None
        return read_figure(stored, "distance", self.group(system), unit=self.difference_unit)

    def move_interval(self, mean: Figure, distance: Figure) -> Figure:
        """Return the mean with the interval of the distance, cut where the scale ends."""
        value, middle = mean.value or 0.0, distance.value or 0.0
        low, high = distance.low or 0.0, distance.high or 0.0
        if self.family.is_log:
            return replace(mean, low=value * low / middle, high=value * high / middle)
        points = [answer["value"] for answer in self.stored["answers"]]
        ends = points or self.stored.get("range") or ((0, 1) if mean.unit == "share" else ())
        least, most = (min(ends), max(ends)) if ends else (-inf, inf)
        return replace(
            mean, low=max(least, value + low - middle), high=min(most, value + high - middle)
        )

    def sd(self, system: Stored) -> Figure | None:
        stored = system.get("sd")
        unit: Unit = "statistic" if stored and stored["name"] == "sd_log" else "points"
        return read_figure(stored, "sd", self.group(system), unit=unit) if stored else None

    def count(self, system: Stored) -> Figure:
        return make_figure("n", system["n"], self.group(system))

    def tier(self, system: Stored) -> Figure | None:
        """Return the tier, 1 for the best; None where there is only one, or nothing is better."""
        tiers = {system.get("cluster") for system in self.stored["systems"]} - {None}
        if len(tiers) < 2 or system.get("cluster") is None:
            return None
        return make_figure("tier", system["cluster"], self.group(system))

    def chosen(self, system: Stored) -> list[Figure]:
        """Return the share of each answer that the system was given, the lowest first."""
        counts = system["counts"] or {}
        known = {str(answer["value"]): str(answer["label"]) for answer in self.stored["answers"]}
        total = sum(int(counts.get(value, 0)) for value in known)
        if not total:
            return []
        return [
            make_figure(
                "chosen", int(counts.get(value, 0)) / total,
                self.group(system) | {"answer": label or value}, n={"answers": total},
            )
            for value, label in known.items()
        ]  # fmt: skip

    def placed(self, system: Stored) -> list[Figure]:
        """Return what orders show of the system beside its strength; nothing of other answers."""
        figures = system["others"] if self.family.orders else ()
        return [read_figure(stored, stored["name"], self.group(system)) for stored in figures]

    def group(self, system: Stored) -> dict[str, str]:
        return {"criterion": self.key, "system": str(system["system"])}

    # --- pairs

    @property
    def pairs(self) -> list["Pair"]:
        return [Pair(self, stored) for stored in self.stored["pairs"]]

    @property
    def planned_pairs(self) -> list["Pair"]:
        return [pair for pair in self.pairs if not pair.is_exploratory]

    @property
    def clear_pairs(self) -> list["Pair"]:
        return [pair for pair in self.pairs if pair.is_clear]

    @property
    def is_tested(self) -> bool:
        return any(pair.difference.p_corrected is not None for pair in self.pairs)

    @property
    def family_size(self) -> int:
        """Return for how many comparisons p values are corrected."""
        sizes = (pair.details.get("family") or 0 for pair in self.planned_pairs)
        return max(sizes, default=0)

    @property
    def is_across(self) -> bool:
        """Return whether p values are corrected across all criteria."""
        return any(
            (pair.details.get("family") or 0) > (pair.details.get("family_within") or 0) > 0
            for pair in self.planned_pairs
        )

    @property
    def precision(self) -> Figure | None:
        """Return half the width of the widest 95% interval of a planned comparison; of ratios a
        factor."""
        group = {"criterion": self.key}
        if stored := self.stored.get("precision"):
            return make_figure("precision", stored["half"], group, unit=stored["unit"])
        figures = [pair.difference for pair in self.planned_pairs]
        known = [
            (figure.low, figure.high)
            for figure in figures
            if figure.low is not None and figure.high is not None
        ]
        unit = self.difference_unit
        if unit == "ratio":
            known = [(log(low), log(high)) for low, high in known if low > 0]
        if not known:
            return None
        half = max(high - low for low, high in known) / 2
        return make_figure("precision", exp(half) if unit == "ratio" else half, group, unit=unit)

    # --- agreement and other figures of all of it

    @property
    def coefficients(self) -> list[Stored]:
        """Return the stored figures of agreement on all outputs, without those of single pairs."""
        return [figure for figure in self.stored["agreement"] if not figure.get("group")]

    def find_agreement(self, *names: str) -> Stored | None:
        """Return the first stored figure of agreement with one of these names."""
        return next((figure for figure in self.coefficients if figure["name"] in names), None)

    @property
    def alpha(self) -> Figure | None:
        """Return the main figure of agreement, Krippendorff's alpha."""
        figures = self.stored["agreement"]
        return self.read(figures[0], "alpha") if figures else None

    @property
    def joint(self) -> Figure | None:
        stored = self.stored.get("joint")
        if stored is None or stored["value"] is None:
            return None
        return self.read(stored, "joint_f")

    @property
    def detectable(self) -> Figure | None:
        stored = self.stored.get("detectable")
        if not stored:
            return None
        return read_figure(stored, "detectable", {"criterion": self.key}, unit=self.difference_unit)

    def read(self, stored: Stored, name: str) -> Figure:
        return read_figure(stored, name, {"criterion": self.key})


class Pair:
    """Two systems compared on a criterion."""

    def __init__(self, criterion: Criterion, stored: Stored) -> None:
        self.criterion = criterion
        self.stored = stored
        self.first, self.second = str(stored["system_1"]), str(stored["system_2"])
        self.details: Stored = stored["effect"]["details"]

    @property
    def group(self) -> dict[str, str]:
        return {
            "criterion": self.criterion.key, "system_1": self.first, "system_2": self.second,
        }  # fmt: skip

    @property
    def reason(self) -> str:
        """Return why there is no difference; if both were rated, they share no input."""
        means = [
            self.criterion.mean(system).value
            for system in self.criterion.systems
            if system["system"] in (self.first, self.second)
        ]
        if self.difference.why == "no_data" and None not in means:
            return "no_shared_input"
        return self.difference.why

    @property
    def code(self) -> str:
        return str(self.stored["finding"]["code"])

    @property
    def is_clear(self) -> bool:
        return self.code in CLEAR

    @property
    def is_exploratory(self) -> bool:
        return bool(self.details.get("is_exploratory"))

    @property
    def ahead(self) -> tuple[str, str] | None:
        """Return the system that is clearly ahead and the other; None without one."""
        if not self.is_clear or self.criterion.better == "none":
            return None
        is_first = self.code == self.criterion.better
        return (self.first, self.second) if is_first else (self.second, self.first)

    @property
    def difference(self) -> Figure:
        return read_figure(
            self.stored["effect"], "difference", self.group, unit=self.criterion.difference_unit
        )

    def find_test(self, name: str) -> Figure:
        """Return t, p or p_corrected as a figure of its own."""
        return make_figure(name, self.details.get(name), self.group)

    @property
    def effect(self) -> Figure | None:
        """Return the standardised difference."""
        details = self.details
        if details.get("d") is None:
            return None
        stored = {"value": details["d"], "low": details["d_low"], "high": details["d_high"],
                  "method": "standardised_difference"}  # fmt: skip
        return read_figure(stored, "effect", self.group, unit="statistic")


# --- planned tests ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the plan asked, and what the data answer: "yes", "no", "open" or "untested"."""

    criterion: Criterion
    relation: str  # "not_worse", "equivalent", "better" or "differs"
    system: str
    against: tuple[str, ...]
    outcomes: tuple[str, ...]  # of each other system
    margin: float | None = None
    level: float = 0.05
    stored: Stored | None = None  # of a margin
    tests: tuple[Stored, ...] = ()  # as stored, of each other system

    @property
    def judge(self) -> Stored | None:
        """Return the first test, with the judge that the plan names and, if people alone decide,
        why; None if the plan names none."""
        named = [test for test in self.tests if test.get("judge")]
        unknown = [test for test in named if "why" in test]
        return next(iter([*unknown, *named]), None)

    @property
    def is_judged(self) -> bool:
        """Return whether differences that a judge's labels correct decide."""
        return self.judge is not None and "why" not in self.judge

    @property
    def outcome(self) -> str:
        for name in ("untested", "no", "open"):
            if name in self.outcomes:
                return name
        return "yes"

    @property
    def planned_difference(self) -> Figure | None:
        """Return the difference against which the margin was tested, as the scale reads it."""
        return self._read_difference(self.stored, "planned_difference")

    @property
    def people_difference(self) -> Figure | None:
        """Return people's own, where a judge's labels correct the other."""
        return self._read_difference((self.stored or {}).get("alone"), "people_difference")

    def _read_difference(self, test: Stored | None, code: str) -> Figure | None:
        if test is None or test.get("difference") is None:
            return None
        sign = -1 if test["better"] == "lower" else 1
        numbers = {"value": sign * test["difference"]}
        # differences that are all equal have no interval
        ends = sorted(sign * test[end] for end in ("low", "high") if end in test)
        numbers |= dict(zip(("low", "high"), ends, strict=False))
        if self.criterion.family.is_log:
            numbers = {name: exp(number) for name, number in numbers.items()}
        details = {key: test.get(key) for key in ("p", "p_fail", "p_corrected", "df")}
        stored = {**numbers, "method": test["method"], "details": details,
                  "level": 1 - 2 * test["level"]}  # fmt: skip
        group = {"criterion": self.criterion.key, "system_1": self.system}
        return read_figure(
            stored, code, group | {"system_2": self.against[0]},
            unit=self.criterion.difference_unit,
        )  # fmt: skip


_OUTCOMES = {"pass": "yes", "fail": "no", "undecided": "open", "unclear": "open"}


def list_decisions(criterion: Criterion) -> Iterator[Decision]:
    """Yield what the plan asked of the criterion; hypotheses on one system are one question."""
    joined: dict[tuple[str, ...], list[Stored]] = {}
    for tested in criterion.stored.get("hypotheses") or ():
        judge = (tested.get("judge", ""), tested.get("prompt_version", ""))
        joined.setdefault((tested["system"], tested["relation"], *judge), []).append(tested)
    for (system, relation, *_), tests in joined.items():
        if any("why" in test for test in tests):
            # people decide of all, or of none
            tests = [test | test.get("alone", {}) for test in tests]
        yield Decision(
            criterion=criterion,
            relation=relation,
            system=system,
            against=tuple(str(test["other"]) for test in tests),
            outcomes=tuple(_judge(relation, test["outcome"]) for test in tests),
            tests=tuple(tests),
        )
    for test in criterion.stored.get("margins") or ():
        yield Decision(
            criterion=criterion,
            relation=test["relation"],
            system=test["system"],
            against=(test["other"],),
            outcomes=(_OUTCOMES.get(test["outcome"] or "", "untested"),),
            margin=test["margin"],
            level=test.get("level", 0.05),
            stored=test,
            tests=(test,),
        )


def _judge(relation: str, outcome: str | None) -> str:
    if not outcome:
        return "untested"
    if outcome in _OUTCOMES:
        return _OUTCOMES[outcome]
    is_expected = relation == "differs" or outcome == "better"
    return "yes" if is_expected else "no"

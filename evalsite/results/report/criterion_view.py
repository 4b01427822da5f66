"""What the pages of results draw of a criterion: its systems, pairs and agreement."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import exp, inf
from typing import Any

from evalsite.analysis.direction import CLEAR, Better
from evalsite.analysis.families import find_family
from evalsite.analysis.families.family import Family, name_unit
from evalsite.analysis.figure import make_note
from evalsite.results.document.axis import Axis, Mark, make_axis, make_mark
from evalsite.results.report.agreement_tables import list_main_agreement, write_agreement
from evalsite.results.report.criterion_tables import (
    describe_pairs,
    describe_variances,
    find_estimate,
    find_median,
    find_standardised,
    is_by_model,
    list_ranks,
    name_estimate,
    sort_systems,
    write_corrected,
    write_distance,
    write_distance_ends,
    write_rank,
)
from evalsite.results.report.sentences import Note, write_gate_slices, write_sentence
from evalsite.results.report.verdicts import (
    Verdict,
    find_winner,
    has_other_verdict_alone,
    judge_criterion,
)
from evalsite.results.report.wording import (
    THESE_RATERS,
    describe_interval,
    explain_reason,
    hold_together,
    is_for_these_raters,
    is_share,
    name_figure,
    write_interval,
    write_number,
    write_p,
    write_value,
)

Figure = dict[str, Any]
_SHADES = ("p1", "p12", "p2", "p3", "p4", "p45", "p5")
_LEAST_LABELLED = 8  # percent: a narrower part has no room for its number
_ENDS = ("low", "high")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of the bar of answers: where it begins, how wide it is, in percent."""

    label: str
    shade: str
    start: str
    middle: str
    width: str
    percent: int
    is_labelled: bool


@dataclass(frozen=True, kw_only=True)
class SystemRow:
    name: str
    n: int
    mark: Mark | None
    value: str
    interval: str
    distance: str
    distance_interval: str
    outputs: int
    sd: str
    median: str
    half_width: str
    rank: str
    tier: str
    answers: list[Part]


@dataclass(frozen=True, kw_only=True)
class PairRow:
    first: str
    second: str
    mark: Mark | None
    value: str
    interval: str
    t: str
    df: str
    p_alone: str
    p: str
    effect: str  # standardised
    effect_interval: str
    code: str
    ahead: str  # the system that is clearly ahead
    is_clear: bool
    text: str
    family: int  # comparisons that the correction covers
    is_exploratory: bool  # the plan names other pairs
    is_clear_alone: bool  # before correction only
    is_other_alone: bool  # the pair's own error leads to another verdict
    own_p: str


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    name: str
    kind: str
    mark: Mark | None
    value: str
    interval: str
    is_for_these_raters: bool

    @property
    def full_interval(self) -> str:
        """Return the interval, and whether it is for these people only, where no caption says."""
        if self.interval and self.is_for_these_raters:
            return f"{self.interval}, for these people"
        return self.interval


@dataclass(frozen=True, kw_only=True)
class CriterionView:
    key: str
    label: str
    role: str
    unit: str  # of differences: "points", "percentage points", "ratio", "log odds"
    estimate: str
    is_by_model: bool
    has_distance: bool
    has_tiers: bool
    has_rings: bool
    verdict: Verdict
    axis: Axis
    average: str
    systems: list[SystemRow]
    legend: list[tuple[str, str, str]]
    pair_axis: Axis
    equal: str  # where equality is on the axis of pairs
    pairs: list[PairRow]
    of_pairs: str  # a sentence or two about all of them
    variances: str
    conclusions: list[str]  # beside the pairs: what a study like this one would find
    is_across: bool
    correction: str  # what p values are corrected for
    planned: list[str]  # hypotheses and tests against a margin, in sentences
    agreement_axis: Axis
    agreement: list[AgreementRow]
    agreement_words: str

    @property
    def has_effects(self) -> bool:
        """Return whether differences have a standardised effect."""
        return any(row.effect for row in self.pairs)

    @property
    def has_statistics(self) -> bool:
        return any(row.p_alone for row in self.pairs)

    @property
    def has_spread(self) -> bool:
        return any(row.sd for row in self.systems)

    @property
    def has_medians(self) -> bool:
        return any(row.median for row in self.systems)

    @property
    def columns_after_chart(self) -> int:
        return 2 + self.has_spread + self.has_distance + bool(self.legend)

    @property
    def pair_columns_after_chart(self) -> int:
        return 3 + self.has_statistics + self.has_effects

    @property
    def alpha(self) -> AgreementRow | None:
        """Return the main figure of agreement, if it has a value."""
        return next((one for one in self.agreement[:1] if one.mark), None)


def view_criteria(
    report: Mapping[str, Any], other: Mapping[str, Any] | None
) -> list[CriterionView]:
    """Return what is drawn of each criterion; `other`: the report that rings are from."""
    axes = _share_axes(report["criteria"])
    others = {one["key"]: one for one in other["criteria"]} if other else {}
    return [
        _view_criterion(one, others.get(one["key"]), axes[_name_scale(one)])
        for one in report["criteria"]
    ]


# --- systems ------------------------------------------------------------------------------


def _name_scale(criterion: Figure) -> tuple[str, ...]:
    """Return what is equal for criteria whose systems can be drawn on one axis."""
    values = [str(answer["value"]) for answer in criterion["answers"]]
    ends = [str(end) for end in criterion.get("range", [])]
    return (find_family(criterion).name, name_estimate(criterion), *values, *ends)


def _share_axes(criteria: Iterable[Figure]) -> dict[tuple[str, ...], Axis]:
    """Return one axis for all criteria of the same kind of scale."""
    values: dict[tuple[str, ...], list[float | None]] = {}
    shares: set[tuple[str, ...]] = set()
    for criterion in criteria:
        scale = _name_scale(criterion)
        for system in criterion["systems"]:
            figure = find_estimate(criterion, system)
            ends = _find_ends(figure, system.get("from_average"), criterion)
            values.setdefault(scale, []).extend((figure["value"], *ends))
            shares |= {scale} if is_share(figure) else set()
    return {scale: make_axis(known, is_share=scale in shares) for scale, known in values.items()}


def _find_ends(
    figure: Figure, distance: Figure | None, criterion: Figure
) -> tuple[float | None, float | None]:
    """Return the ends of the line around a mean: the interval of its distance from the average.

    It is cut where the scale ends. Where there is no such distance: the mean's own interval.
    """
    value = figure["value"]
    if not distance or None in (value, distance["value"], distance["low"], distance["high"]):
        return figure["low"], figure["high"]
    if find_family(criterion).is_log:
        return (
            value * distance["low"] / distance["value"],
            value * distance["high"] / distance["value"],
        )
    points = [one["value"] for one in criterion["answers"]] or criterion.get("range") or ()
    least, most = (min(points), max(points)) if points else (-inf, inf)
    low, high = (value + distance[end] - distance["value"] for end in ("low", "high"))
    return max(least, low), min(most, high)


def _find_average(criterion: Figure, family: Family) -> float | None:
    """Return the average of the systems, if distances from it are known."""
    for system in criterion["systems"]:
        figure, distance = find_estimate(criterion, system), system.get("from_average")
        if distance and None not in (figure["value"], distance["value"]):
            if family.is_log:
                return float(figure["value"] / distance["value"])
            return float(figure["value"] - distance["value"])
    return None


def _view_systems(
    criterion: Figure, other: Figure | None, axis: Axis, family: Family
) -> list[SystemRow]:
    seconds: dict[str, float | None] = {}
    if other is not None:
        seconds = {one["system"]: find_estimate(other, one)["value"] for one in other["systems"]}
    rows = []
    for system in sort_systems(criterion):
        figure, distance = find_estimate(criterion, system), system.get("from_average") or {}
        ends = _find_ends(figure, distance, criterion)
        known = distance.get("value") is not None
        rows.append(
            SystemRow(
                name=str(system["system"]),
                n=system["n"],
                mark=make_mark(axis, figure["value"], *ends, second=seconds.get(system["system"])),
                value=write_value(figure) if figure["value"] is not None else _explain(figure),
                interval=(write_interval(figure)),
                distance=write_distance(criterion, figure, distance["value"]) if known else "",
                distance_interval=write_distance_ends(criterion, figure, distance) if known else "",
                outputs=system.get("outputs", 0),
                sd=write_value(system["sd"]) if "sd" in system else "",
                median=write_value(median) if (median := find_median(system)) else "",
                half_width=_write_half_width(distance, figure, family) if known else "",
                rank=write_rank(system["rank"]),
                tier=_find_tier(system),
                answers=_view_answers(criterion, system),
            )
        )
    return rows


def _find_tier(system: Figure) -> str:
    tiers = [one["value"] for one in list_ranks(None, system.get("cluster"))]
    return f"{tiers[0]:g}" if tiers else ""


def _write_half_width(distance: Figure, figure: Figure, family: Family) -> str:
    """Return how far the interval reaches on either side; "" where the sides differ."""
    if family.is_log or distance["low"] is None or distance["high"] is None:
        return ""
    half = (distance["high"] - distance["low"]) / 2
    return f"{half * 100:.0f}" if is_share(figure) else write_number(half)


def _view_answers(criterion: Figure, system: Figure) -> list[Part]:
    """Return the bar of the answers that the system was given; [] where answers are numbers."""
    values = [str(answer["value"]) for answer in criterion["answers"]]
    counts = [int((system["counts"] or {}).get(value, 0)) for value in values]
    total = sum(counts)
    if not total:
        return []
    parts, start = [], 0.0
    for place, (value, count) in enumerate(zip(values, counts, strict=True)):
        width = 100 * count / total
        parts.append(
            Part(
                label=value,
                shade=_find_shade(place, len(values)),
                start=f"{start:.1f}%",
                middle=f"{start + width / 2:.1f}%",
                width=f"{width:.1f}%",
                percent=round(width),
                is_labelled=width >= _LEAST_LABELLED,
            )
        )
        start += width
    return parts


def _find_shade(place: int, number: int) -> str:
    shades = ("p1", "p2", "p3", "p4", "p5") if number == 5 else _SHADES
    return shades[round(place * (len(shades) - 1) / max(number - 1, 1))]


def _list_legend(criterion: Figure, rows: list[SystemRow]) -> list[tuple[str, str, str]]:
    """Shade, value and label of each answer."""
    if not any(row.answers for row in rows):
        return []
    answers = criterion["answers"]
    return [
        (_find_shade(place, len(answers)), str(one["value"]), str(one["label"]))
        for place, one in enumerate(answers)
    ]


# --- pairs and agreement ------------------------------------------------------------------


def _view_pair(pair: Figure, axis: Axis, better: Better) -> PairRow:
    winner = find_winner(pair, better)
    effect, own = pair["effect"], pair.get("own")
    details = effect["details"]
    alone, corrected = details.get("p"), details.get("p_corrected")
    standardised = find_standardised(effect)
    return PairRow(
        first=str(pair["system_1"]),
        second=str(pair["system_2"]),
        mark=make_mark(axis, effect["value"], effect["low"], effect["high"]),
        value=write_value(effect) if effect["value"] is not None else _explain(effect),
        interval=(describe_interval(effect)),
        t="" if details.get("t") is None else write_number(details["t"]),
        df="" if details.get("t") is None else f"{details['df']:.1f}",
        p_alone=write_p(alone),
        p=write_corrected(effect),
        effect=write_value(standardised) if standardised else "",
        effect_interval=write_interval(standardised) if standardised else "",
        code=pair["finding"]["code"],
        ahead=winner[0] if winner else "",
        is_clear=pair["finding"]["code"] in CLEAR,
        text=hold_together(write_sentence(pair["finding"])),
        family=details.get("family") or 0,
        is_exploratory=bool(details.get("is_exploratory")),
        is_clear_alone=None not in (alone, corrected) and alone < 0.05 <= corrected,
        is_other_alone=has_other_verdict_alone(pair),
        own_p=write_p(own["details"].get("p_corrected")) if own else "",
    )


def _view_agreement(figure: Figure, axis: Axis) -> AgreementRow:
    name, *kinds = name_figure(figure).split(", ")
    return AgreementRow(
        name=name,
        kind=", ".join(kind for kind in kinds if kind != THESE_RATERS),
        mark=make_mark(axis, figure["value"], figure["low"], figure["high"]),
        value=_explain(figure) if figure["value"] is None else write_value(figure),
        interval=write_interval(figure),
        is_for_these_raters=is_for_these_raters(figure),
    )


def _explain(figure: Figure) -> str:
    return explain_reason(figure["reason"])


# --- all of it ----------------------------------------------------------------------------


def _find_unit(criterion: Figure, family: Family) -> str:
    if family.compares or family.decides:
        return "percentage points"
    return "ratio" if family.is_log else name_unit(criterion)


def _view_criterion(criterion: Figure, other: Figure | None, axis: Axis) -> CriterionView:
    family = find_family(criterion)
    average = _find_average(criterion, family)
    systems = _view_systems(criterion, other, axis, family)
    effects = [pair["effect"] for pair in criterion["pairs"]]
    equal = 1.0 if family.is_log else 0.0
    is_points = any(one["name"] in ("risk_difference", "net_win_share") for one in effects)
    pair_axis = make_axis(
        [equal, *(one[end] for one in effects for end in ("value", "low", "high"))],
        times=100.0 if is_points else 1,
    )
    figures = list_main_agreement(criterion)
    agreement_axis = make_axis([0.0, 1.0, *(one["low"] for one in figures)], is_bounded=True)
    return CriterionView(
        key=criterion["key"],
        label=criterion["label"],
        role=criterion.get("role", ""),
        unit=_find_unit(criterion, family),
        estimate=name_estimate(criterion),
        is_by_model=is_by_model(criterion),
        has_distance=any(row.distance for row in systems),
        has_tiers=any(row.tier for row in systems) and len(systems) > 1,
        has_rings=any(row.mark and row.mark.ring for row in systems),
        verdict=judge_criterion(criterion),
        axis=replace(axis, better=criterion["better"]),
        average="" if average is None else axis.place(average),
        systems=systems,
        legend=_list_legend(criterion, systems),
        pair_axis=pair_axis,
        equal=pair_axis.place(equal),
        pairs=[_view_pair(pair, pair_axis, criterion["better"]) for pair in criterion["pairs"]],
        of_pairs=hold_together(describe_pairs(criterion)),
        variances=hold_together(describe_variances(criterion)),
        conclusions=[
            hold_together(write_sentence(note)) for note in criterion.get("conclusions", ())
        ],
        is_across=_is_across(criterion),
        correction=write_sentence(note_correction(criterion)),
        planned=[write_sentence(note) for note in list_planned(criterion)],
        agreement_axis=agreement_axis,
        agreement=[_view_agreement(one, agreement_axis) for one in figures],
        agreement_words=write_agreement(criterion),
    )


def note_correction(criterion: Figure) -> Note:
    """Return what p values of the criterion are corrected for."""
    details = _list_planned_details(criterion)
    return make_note(
        "correction",
        pairs=len(criterion["pairs"]),
        family=(details[0].get("family") or 0) if details else 0,
        is_across=_is_across(criterion),
        exploratory=len(criterion["pairs"]) - len(details),
        baseline=criterion.get("baseline") or "",
    )


def _is_across(criterion: Figure) -> bool:
    """Return whether p values are corrected across all criteria."""
    first = next(iter(_list_planned_details(criterion)), {})
    return (first.get("family") or 0) > (first.get("family_within") or 0) > 0


def _list_planned_details(criterion: Figure) -> list[dict[str, Any]]:
    """Return what is known of the tests that the plan names, or of all."""
    details = [pair["effect"]["details"] for pair in criterion["pairs"]]
    return [known for known in details if not known.get("is_exploratory")]


def list_planned(criterion: Figure) -> list[Note]:
    """Return what became of hypotheses and planned tests against a margin."""
    if not criterion.get("hypotheses") and not criterion.get("margins"):
        return []
    family, ahead = find_family(criterion), judge_criterion(criterion).ahead
    notes: list[Note] = [
        make_note(
            "hypothesis",
            **{name: tested[name] for name in ("system", "other", "relation", "outcome")},
            ahead=ahead,
            p=tested["p_corrected"],
        )
        for tested in criterion.get("hypotheses") or ()
    ]
    for margin in criterion.get("margins") or ():
        shown = _view_margin(margin, family)
        names = ("system", "other", "relation", "outcome", "margin", "reason")
        facts = {name: shown[name] for name in names}
        optional = ("interval", "p", "p_corrected", "p_fail", "fails_in", "slices")
        parts = {name: shown[name] for name in optional if name in shown}
        unit = _find_unit(criterion, family)
        notes.append(make_note("planned_margin", **facts, **parts, unit=unit))
    return notes


def _view_margin(margin: dict[str, Any], family: Family) -> dict[str, Any]:
    """Return a planned test against a margin with its figures in words."""
    is_share_scale = family.compares or family.decides

    def write(value: float) -> str:
        return f"{value * 100:.0f}".replace("-", "−") if is_share_scale else write_number(value)

    shown: dict[str, Any] = {**margin, "margin": write(margin["margin"])}
    shown["reason"] = explain_reason(margin.get("reason"))
    if margin.get("outcome") and "p" in margin:
        # facts are as the system is better; readers see the scale as it is
        turned = -1 if margin["better"] == "lower" else 1
        ends = sorted(turned * margin[key] for key in _ENDS)
        ends = [exp(end) for end in ends] if family.is_log else ends
        low, high = map(write, ends)
        shown["interval"] = f"{100 * (1 - 2 * margin['level']):g}% CI {low} to {high}"
    if "slices" in margin:
        shown["outcome"] = margin["outcome_on_all"]
        shown["slices"] = " ".join(write_gate_slices({**margin, "test": margin}))
    return shown

"""Judges and automatic metrics beside people."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Entry,
    Heading,
    Place,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import (
    explain_reason,
    make_figure,
    read_figure,
    write_number,
    write_p,
    write_value,
)
from evalsite.results.report.sections.further import name_code, read_own
from evalsite.results.report.sections.words import write_ci
from evalsite.results.report.source import Criterion, Source, Stored, list_decisions

# --- metrics

# what a level correlates, in the order of the tables
_LEVELS = {"system": "systems", "output": "outputs", "within_inputs": "outputs of one input"}
_MOST_DRAWN = 4


def make_metrics(source: Source) -> Iterator[Block]:
    known = [criterion for criterion in source.criteria if criterion.stored.get("metrics")]
    if known:
        yield Heading("Metrics and judges", 2, "metrics")
    for criterion in known:
        yield tabulate_metrics(criterion, "main")
        yield from _write_ceiling(criterion)


def make_further_metrics(source: Source) -> Iterator[Block]:
    blocks = [block for criterion in source.criteria for block in list_metrics(criterion)]
    if blocks:
        yield Heading("Metrics and judges", 2, "further-metrics", place="further")
        yield from blocks


def list_metrics(criterion: Criterion, place: Place = "further") -> Iterator[Block]:
    """Yield everything about the metrics of one question."""
    if not criterion.stored.get("metrics"):
        return
    yield tabulate_metrics(criterion, place)
    yield from _draw_metrics(criterion)
    yield from _compare_metrics(criterion)


def _name_metric(metric: Stored) -> str:
    return isolate(str(metric["metric"])) + (" ↓" if metric["better"] == "lower" else "")


def tabulate_metrics(criterion: Criterion, place: Place) -> Table:
    """Return how well each metric goes with what people said, by systems and by outputs."""
    lines = [
        (metric, level, metric["levels"][level])
        for metric in criterion.stored["metrics"]["metrics"]
        for level in _LEVELS
        if metric["levels"].get(level)
    ]
    codes = list(dict.fromkeys(figure["name"] for _, _, figures in lines for figure in figures))
    columns = [Column("Metric", is_number=False), Column("Of", is_number=False)]
    columns += [Column(name_code(code)) for code in codes]
    rows: list[list[Entry]] = []
    for metric, level, figures in lines:
        group = {"criterion": criterion.key, "metric": str(metric["metric"]), "over": level}
        cells = {figure["name"]: read_own(figure, group) for figure in figures}
        rows.append([
            _name_metric(metric), _LEVELS[level], *(cells.get(code, "") for code in codes)
        ])  # fmt: skip
    ending = "metrics" if place == "main" else "all-metrics"
    caption = f"{criterion.label}: correlations of metrics with people (95% CI)"
    return Table(f"{criterion.key}-{ending}", caption, columns, rows, place=place)


def _write_ceiling(criterion: Criterion) -> Iterator[Sentence]:
    """Yield how near to people as many other people would come."""
    stored = criterion.stored["metrics"]["ceiling"]
    if stored is None:
        return
    figure = read_own(stored, {"criterion": criterion.key})
    if figure.value is None:
        text = f"How near other people would come isn’t known: {explain_reason(figure.why)}."
    else:
        text = f"As many other people would reach r = {write_value(figure)} with these people."
    yield Sentence("ceiling_of_metrics", f"{criterion.label}: {text}", figures=(figure,))


def _draw_metrics(criterion: Criterion) -> Iterator[Block]:
    """Yield the means of systems by metric and by people, as points and as a table."""
    metrics = criterion.stored["metrics"]["metrics"][:_MOST_DRAWN]
    rows: list[list[Entry]] = []
    for number, metric in enumerate(metrics, start=1):
        figures = []
        for point in metric["points"]:
            system = str(point["system"] or "–")
            group = {
                "criterion": criterion.key, "metric": str(metric["metric"]), "system": system,
            }  # fmt: skip
            both = [
                make_figure(f"{kind}_mean", point[kind], group, n={"outputs": point["outputs"]})
                for kind in ("metric", "human")
            ]
            figures += both
            cells = [Cell(write_number(figure.value, "statistic"), (figure,)) for figure in both]
            rows.append([isolate(system), _name_metric(metric), *cells])
        if len(metric["points"]) > 1:
            caption = f"{criterion.label}: people against {_name_metric(metric)}, by system"
            name = f"{criterion.key}-metric-{number}"
            yield Chart(name, "points", caption, figures, place="further")
    columns = [Column("System", is_number=False), Column("Metric", is_number=False),
               Column("Mean of the metric"), Column("Mean of people")]  # fmt: skip
    caption = f"{criterion.label}: means of systems by metric"
    yield Table(f"{criterion.key}-metric-means", caption, columns, rows, place="further")


def _compare_metrics(criterion: Criterion) -> Iterator[Table]:
    pairs = criterion.stored["metrics"]["pairs"]
    if not pairs:
        return
    rows: list[list[Entry]] = []
    for pair in pairs:
        group = {
            "criterion": criterion.key, "metric_1": str(pair["metric_1"]),
            "metric_2": str(pair["metric_2"]),
        }  # fmt: skip
        figure = read_own(pair["test"], group)
        names = f"{isolate(str(pair['metric_1']))} : {isolate(str(pair['metric_2']))}"
        rows.append([names, figure, write_p(figure.p_corrected)])
    columns = [Column("Metrics", is_number=False), Column("Difference of r"),
               Column("Corrected p")]  # fmt: skip
    caption = f"{criterion.label}: metrics compared (Williams’ test)"
    yield Table(f"{criterion.key}-metrics-compared", caption, columns, rows, place="further")


# --- judges

_FEW_PEOPLE = 4  # with whom a judge hardly narrows anything
_MOST_SAID = 3  # pairs in sentences
_CROWD = "0.1"  # the epsilon that is said first
_REASONS = {
    "few_people": "{people} can’t show how others would rate, so the judge’s labels can’t correct "
    "their result.",
    "few_inputs": "Only {inputs} with people’s answers and the judge’s labels of every system: too "
    "few to correct people’s result.",
    "no_further": "The judge labelled only what people rated, so its labels can’t narrow people’s "
    "result.",
}


@dataclass(frozen=True)
class Judge:
    """A judge of the report, with what is stored of it on each question."""

    number: int
    key: tuple[str, str]  # its name, and the version of its prompt
    name: str
    parts: tuple[tuple[Criterion, Stored], ...]

    @property
    def place(self) -> str:
        return f"judge-{self.number}"


def list_judges(criteria: Iterable[Criterion]) -> list[Judge]:
    """List the judges by name and version of the prompt, each with the questions it answered."""
    parts: dict[tuple[str, str], list[tuple[Criterion, Stored]]] = {}
    for criterion in criteria:
        for stored in criterion.stored.get("judges") or ():
            key = str(stored["judge"]), str(stored["prompt_version"])
            parts.setdefault(key, []).append((criterion, stored))
    return [
        Judge(
            number,
            (name, version),
            f"{name}, prompt {version}" if version else name,
            tuple(of_judge),
        )
        for number, ((name, version), of_judge) in enumerate(sorted(parts.items()), start=1)
    ]


def make_judges(source: Source) -> Iterator[Block]:
    judges = list_judges(source.criteria)
    if judges:
        yield Heading("Judges", 2, "judges")
    for judge in judges:
        yield from make_judge(judge)


def make_judge(judge: Judge) -> Iterator[Block]:
    """Yield what the report says of one judge."""
    yield Heading(isolate(judge.name), 3, judge.place)
    yield from _say_agreement(judge)
    yield tabulate_agreement(judge)
    for criterion, stored in judge.parts:
        yield from _say_bias(judge, criterion, stored)
        yield from _say_corrected(judge, criterion, stored)
    yield from _say_why_not(judge)
    if table := _tabulate_corrected(judge):
        yield table
        yield _say_result(judge)
    yield from _make_further(judge)


def _make_further(judge: Judge) -> Iterator[Block]:
    yield Heading(f"More about {isolate(judge.name)}", 3, f"further-{judge.place}", place="further")
    for criterion, stored in judge.parts:
        for sentence in _say_more(judge, criterion, stored):
            yield replace(sentence, place="further")
    if table := _tabulate_bias(judge):
        yield table
    yield from _tabulate_points(judge)


def _group(judge: Judge, criterion: Criterion, **more: str) -> dict[str, str]:
    return {"criterion": criterion.key, "judge": judge.name, **more}


def _read_difference(judge: Judge, criterion: Criterion, stored: Stored, code: str) -> Figure:
    """Return a stored difference under its code, of logarithms as the ratio."""
    group = _group(judge, criterion, **stored.get("group", {}))
    figure = read_figure(stored, code, group, unit=criterion.difference_unit)
    if not criterion.family.is_log or figure.value is None:
        return figure
    low, high = (None if end is None else exp(end) for end in (figure.low, figure.high))
    return replace(figure, value=exp(figure.value), low=low, high=high)


def write_difference(figure: Figure, criterion: Criterion) -> str:
    """ "+0.21 points (95% CI 0.06 to 0.36)"; of a ratio "1.32 times ..."."""
    value = figure.value or 0.0
    number = write_number(value, figure.unit)
    if figure.unit == "ratio":
        amount = f"{number} times"
    else:
        sign = "+" if value > 0 and not number.startswith("−") else ""
        amount = f"{sign}{number} {criterion.unit_words}".strip()
    return f"{amount} ({write_ci(figure)})"


# --- agreement ------------------------------------------------------------------------------------


def read_agreement(judge: Judge, criterion: Criterion, stored: Stored) -> dict[str, Figure]:
    group = _group(judge, criterion)
    return {
        figure["name"]: read_figure(figure, figure["name"], group)
        for figure in stored["agreement"]
        if figure["name"] in ("people_agreement", "judge_agreement", "judge_shortfall")
    }


def _say_agreement(judge: Judge) -> Iterator[Sentence]:
    """Yield how the judge agrees with people on the first question, and what is in the file."""
    labels = sum(stored["labels"] for _, stored in judge.parts)
    further = max(stored["further"] for _, stored in judge.parts)
    more = f" and of {count_of(further, 'input')} that only the judge saw" if further else ""
    yield Sentence(
        "judge_labels",
        f"{count_of(labels, 'label')} on {count_of(len(judge.parts), 'question')}, of outputs that "
        f"people rated{more}. A judge is never counted as a person.",
    )
    criterion, stored = judge.parts[0]
    figures = read_agreement(judge, criterion, stored)
    people, beside = figures["people_agreement"], figures["judge_agreement"]
    short = figures["judge_shortfall"]
    about = f"{criterion.label}: " if len(judge.parts) > 1 else ""
    if beside.value is None:
        text = f"{about}agreement with people isn’t known: {explain_reason(beside.why)}."
    elif people.value is None or short.value is None:
        text = (
            f"{about}the judge agrees with a person {write_value(beside)} ({write_ci(beside)}); "
            f"how people agree with each other isn’t known: {explain_reason(people.why)}."
        )
    elif short.value <= 0:
        closer = short.high is not None and short.high < 0
        end = " It is closer to a person than another person is." if closer else ""
        text = (
            f"{about}the judge agrees with a person {write_value(beside)}, two people agree "
            f"{write_value(people)} with each other (difference {write_value(short)}, "
            f"{write_ci(short)}).{end}"
        )
    else:
        text = (
            f"{about}two people agree {write_value(people)} with each other, the judge with a "
            f"person {write_value(beside)}: a shortfall of {write_value(short)} "
            f"({write_ci(short)})."
        )
    yield Sentence("judge_agreement", text[:1].upper() + text[1:], figures=(people, beside, short))


def tabulate_agreement(judge: Judge) -> Table:
    rows: list[list[Entry]] = []
    for criterion, stored in judge.parts:
        figures = read_agreement(judge, criterion, stored)
        names = ("people_agreement", "judge_agreement", "judge_shortfall")
        rows.append([criterion.label, *(figures[name] for name in names)])
    columns = [Column("Question", is_number=False), Column("People with people"),
               Column("Judge with people"), Column("Shortfall")]  # fmt: skip
    caption = f"{isolate(judge.name)} beside people: α, and the same figure for judge and person"
    return Table(f"{judge.place}-agreement", caption, columns, rows, marks="both")


# --- bias -----------------------------------------------------------------------------------------


def _list_favours(judge: Judge, criterion: Criterion, stored: Stored) -> list[Figure]:
    """Return the clear differences of the judge's bias, the largest first.

    All but ratios are of the system that it rates higher, compared with people.
    """
    pairs = stored["bias"].get("favours") or ()
    clear = [
        pair for pair in pairs if (p := pair["details"].get("p_corrected")) is not None and p < 0.05
    ]
    # of ratios, the stored values are logarithms
    clear.sort(key=lambda pair: -abs(pair["value"]))
    figures = [_read_difference(judge, criterion, pair, "judge_favours") for pair in clear]
    return [
        turn(figure) if figure.unit != "ratio" and (figure.value or 0) < 0 else figure
        for figure in figures
    ]


def _say_bias(judge: Judge, criterion: Criterion, stored: Stored) -> Iterator[Sentence]:
    """Yield the systems that the judge clearly favours, compared with people."""
    for figure in _list_favours(judge, criterion, stored)[:_MOST_SAID]:
        group = dict(figure.group)
        first, second = isolate(group["system_1"]), isolate(group["system_2"])
        if figure.unit == "ratio":
            text = (
                f"The judge rates {second} {write_number(figure.value, 'ratio')} times as high "
                f"as {first}, compared with people ({write_ci(figure)})"
            )
        else:
            amount = f"{write_number(figure.value, figure.unit)} {criterion.unit_words}".strip()
            text = (
                f"The judge rates {second} {amount} higher, compared with people, than it rates "
                f"{first} ({write_ci(figure)})"
            )
        yield Sentence("judge_favours", f"{criterion.label}: {text}.", figures=(figure,))


def find_favour(judge: Judge, criterion: Criterion, stored: Stored) -> tuple[str, Figure] | None:
    """Return the system that the judge favours most, if that is clear, and by how much.

    Where lower is better it is the one rated lower. Of ratios, and where nothing is better, none
    is named.
    """
    favours = [
        figure for figure in _list_favours(judge, criterion, stored) if figure.unit != "ratio"
    ]
    if not favours or criterion.better == "none":
        return None
    group = dict(favours[0].group)
    return group["system_1" if criterion.better == "lower" else "system_2"], favours[0]


def turn(figure: Figure) -> Figure:
    """Return a difference from the side of the other system."""
    group = dict(figure.group)
    group |= {"system_1": group["system_2"], "system_2": group["system_1"]}
    return replace(_negate(figure), group=tuple(group.items()))


def _negate(figure: Figure) -> Figure:
    """Return the figure with the other sign."""
    value, low, high = (
        None if number is None else -number for number in (figure.value, figure.high, figure.low)
    )
    return replace(figure, value=value, low=low, high=high)


def _tabulate_bias(judge: Judge) -> Table | None:
    rows: list[list[Entry]] = []
    for criterion, stored in judge.parts:
        for difference in stored["bias"].get("systems") or ():
            figure = _read_difference(judge, criterion, difference, "judge_bias")
            rows.append([criterion.label, isolate(difference["group"]["system"]), figure])
        length = stored["bias"].get("length")
        if length and length["value"] is not None:
            figure = _read_difference(judge, criterion, length, "judge_length")
            where = "twice as many words (over inputs, for these people)"
            rows.append([criterion.label, where, figure])
    if not rows:
        return None
    columns = [Column("Question", is_number=False), Column("Where", is_number=False),
               Column("Judge minus people")]  # fmt: skip
    caption = f"Where {isolate(judge.name)} differs from people"
    return Table(f"{judge.place}-bias", caption, columns, rows, marks="intervals", place="further")


def _tabulate_points(judge: Judge) -> Iterator[Table]:
    """Yield people's mean at each point of the judge, where it has few points."""
    for criterion, stored in judge.parts:
        points = stored["points"]
        if not 1 < len(points) <= 11:
            continue
        rows: list[list[Entry]] = []
        for point in points:
            group = _group(judge, criterion, point=f"{point['point']:g}")
            figures = (
                make_figure("n", point["n"], group),
                make_figure("human_mean", point["people"], group, unit="points"),
            )
            rows.append([f"{point['point']:g}", *figures])
        columns = [Column("Judge", is_number=False), Column("Outputs"), Column("People’s mean")]
        caption = f"{criterion.label}: people’s mean where {isolate(judge.name)} gives a point"
        yield Table(
            f"{judge.place}-{criterion.key}-points", caption, columns, rows, place="further"
        )


# --- more about one question ----------------------------------------------------------------------


def _say_more(judge: Judge, criterion: Criterion, stored: Stored) -> Iterator[Sentence]:
    """Yield whether it may stand in for a person, its rates, its runs and its orders."""
    group = _group(judge, criterion)
    yield from _say_stands_in(judge, criterion, stored)
    rates = {
        figure["name"]: read_figure(figure, figure["name"], group)
        for figure in stored["agreement"]
        if figure["name"].startswith(("tpr", "tnr", "precision"))
    }
    if {"tpr_of_judge", "tpr_of_person", "tnr_of_judge", "tnr_of_person"} <= rates.keys():
        written = {name: write_value(figure) for name, figure in rates.items()}
        yield Sentence(
            "judge_rates",
            f"{criterion.label}: the judge finds {written['tpr_of_judge']} of what people accept "
            f"(another person: {written['tpr_of_person']}) and {written['tnr_of_judge']} of what "
            f"they reject (another person: {written['tnr_of_person']}).",
            figures=tuple(rates.values()),
        )
    if runs := stored["runs"]:
        figure = read_figure(runs["same_label"], "same_label", group)
        yield Sentence(
            "judge_runs",
            f"{criterion.label}: two runs give the same label on {write_value(figure)} of outputs.",
            figures=(figure,),
        )
    orders = stored["orders"]
    if orders.get("is_one_order"):
        yield Sentence(
            "judge_one_order",
            f"{criterion.label}: only one order was judged, so a preference for a side can’t be "
            "seen.",
        )
    elif orders:
        verdict = read_figure(orders["same_verdict"], "same_verdict", group)
        pull = read_figure(orders["first_shown"], "first_shown", group)
        # said of the side that it leans to
        is_first = (pull.value or 0) >= 0
        lean, side = (pull, "first") if is_first else (_negate(pull), "second")
        yield Sentence(
            "judge_orders",
            f"{criterion.label}: both orders give the same verdict on {write_value(verdict)} of "
            f"inputs; the judge leans to the side shown {side} by "
            f"{write_number(lean.value, lean.unit)} percentage points ({write_ci(lean)}).",
            figures=(verdict, pull),
        )


def _say_stands_in(judge: Judge, criterion: Criterion, stored: Stored) -> Iterator[Sentence]:
    """Yield the result of the alternative annotator test at the three epsilons."""
    figures = [
        read_figure(rate, rate["name"], _group(judge, criterion, **rate.get("group", {})))
        for rate in stored["stands_in"]
    ]
    rates = {
        dict(figure.group)["epsilon"]: figure for figure in figures if figure.name == "winning_rate"
    }
    main = rates[_CROWD]
    start = f"{criterion.label}: may it stand in for a person (alternative annotator test)?"
    people, left_out = int(main.n["raters"]), int(main.n["left_out"])
    if main.value is None:
        yield Sentence(
            "stands_in",
            f"{start} Nobody has 30 answers beside another person’s, so this can’t be tested.",
            figures=(main,),
        )
        return
    more = list_of([
        f"{write_value(rate)} at ε = {epsilon}"
        for epsilon, rate in sorted(rates.items())
        if epsilon != _CROWD
    ])  # fmt: skip
    wins = round(main.value * people)
    passes = "passes" if main.value >= 0.5 else "doesn’t pass"
    few = " Fewer than 3 people are a weak basis." if people < 3 else ""
    left = (
        f" Left out with fewer answers: {count_of(left_out, 'person', 'people')}."
        if left_out
        else ""
    )
    yield Sentence(
        "stands_in",
        f"{start} At ε = {_CROWD} it is at least as good as {wins} of "
        f"{count_of(people, 'person', 'people')} with 30 answers and {passes}, which takes half of "
        f"them ({more}).{few}{left}",
        figures=tuple(figures),
    )


# --- corrected ------------------------------------------------------------------------------------


def _list_pairs(
    judge: Judge, criterion: Criterion, stored: Stored
) -> Iterator[tuple[Figure, Figure]]:
    """Yield people's own difference and the corrected one of each pair, higher minus lower."""
    corrected = stored["corrected"]
    for alone, with_judge in zip(corrected["people"], corrected["pairs"], strict=False):
        people = _read_difference(judge, criterion, alone, "people_difference")
        judged = _read_difference(judge, criterion, with_judge, "judged_difference")
        if people.unit != "ratio" and (people.value or 0) < 0:
            people, judged = turn(people), turn(judged)
        yield people, judged


def _name_pair(figure: Figure) -> str:
    """Return what is compared: "v2 minus v1"; of a ratio "v2 over v1"."""
    group = dict(figure.group)
    word = "over" if figure.unit == "ratio" else "minus"
    return f"{isolate(group['system_2'])} {word} {isolate(group['system_1'])}"


def _say_corrected(judge: Judge, criterion: Criterion, stored: Stored) -> Iterator[Sentence]:
    corrected = stored["corrected"]
    if corrected["reason"]:
        return
    if corrected["weight"] == 0:
        yield Sentence(
            "judge_follows_nobody",
            f"{criterion.label}: the judge’s differences don’t follow people’s here, so its labels "
            "change nothing.",
        )
        return
    pairs = [pair for pair in _list_pairs(judge, criterion, stored) if pair[1].value is not None]
    for people, judged in pairs if len(pairs) == 1 else ():
        yield Sentence(
            "judged_difference",
            f"{criterion.label}, {_name_pair(judged)}: people alone "
            f"{write_difference(people, criterion)}; with the judge on "
            f"{count_of(stored['further'], 'more input')} {write_difference(judged, criterion)}.",
            figures=(people, judged),
        )
    if stored["people"] <= _FEW_PEOPLE:
        yield Sentence(
            "judge_hardly_narrows",
            f"With {stored['people']} people the judge hardly narrows the interval: more people "
            "would.",
        )
    yield from _say_worth(judge, criterion, stored)


def _say_why_not(judge: Judge) -> Iterator[Sentence]:
    """Yield why people's result isn't corrected, each reason once for all its questions."""
    labels: dict[tuple[str, str], list[str]] = {}
    for criterion, stored in judge.parts:
        corrected = stored["corrected"]
        if reason := corrected["reason"]:
            people, inputs = stored["people"], count_of(corrected["labelled"], "input")
            text = _REASONS[reason].format(people=_count_people(people), inputs=inputs)
            labels.setdefault((f"judge_{reason}", text), []).append(criterion.label)
    for (code, text), named in labels.items():
        about = "" if len(named) == len(judge.parts) > 1 else f"{list_of(named)}: "
        yield Sentence(code, about + text)


def _say_result(judge: Judge) -> Sentence:
    """Say which of the two results counts: the corrected one only where the plan says so."""
    name, version = judge.key
    labels = [
        criterion.label
        for criterion, _ in judge.parts
        if any(
            decision.is_judged
            and (test := decision.judge)
            and (test["judge"], test.get("prompt_version", "")) == (name, version)
            for decision in list_decisions(criterion)
        )
    ]
    start = "All intervals count people and inputs as samples. "
    if not labels:
        text = (
            "People’s own result stays the result; the other holds if the inputs that only the "
            "judge saw are of the same kind."
        )
        return Sentence("judge_samples", start + text)
    text = (
        f"As planned, the corrected difference is the result on {list_of(labels)}. It holds if "
        "the inputs that only the judge saw are of the same kind."
    )
    return Sentence("judge_planned", start + text)


def _count_people(people: int) -> str:
    return {1: "One person", 2: "Two people"}.get(people, f"{people} people")


def _say_worth(judge: Judge, criterion: Criterion, stored: Stored) -> Iterator[Sentence]:
    worth = stored["corrected"]["worth"]
    if not worth:
        return
    group = _group(judge, criterion)
    known: Any = {"value": worth["answers"], "low": worth.get("low"), "high": worth.get("high")}
    answers = read_figure({**known, "method": "judge_worth"}, "label_answers", group)
    each = make_figure("label_worth", worth["answers_per_label"], group)
    most = make_figure("label_answers_most", worth["most_answers"], group)
    ends = [f"{end:.0f}" for end in (worth.get("low"), worth.get("high")) if end is not None]
    interval = f" (95% CI {ends[0]} to {ends[1]})" if len(ends) == 2 else ""
    # an answer may be to the output of one system, or to one pair of many
    if criterion.family.compares:
        where = " on each pair of systems" if len(criterion.names) > 2 else ""
    else:
        where = " on each system"
    yield Sentence(
        "label_worth",
        f"{criterion.label}: with labels of {count_of(stored['further'], 'more input')}, this "
        f"judge is worth about {worth['answers']:.0f} more answers from these people{where}"
        f"{interval}; with any number of labels, about {worth['most_answers']:.0f}. It saves "
        "inputs, not people.",
        figures=(answers, each, most),
    )


def _tabulate_corrected(judge: Judge) -> Table | None:
    rows: list[list[Entry]] = []
    for criterion, stored in judge.parts:
        for people, judged in _list_pairs(judge, criterion, stored):
            rows.append([Cell(_name_pair(judged), below=criterion.label), people, judged])
    if not rows:
        return None
    columns = [Column("Systems", is_number=False), Column("People alone"),
               Column("With the judge")]  # fmt: skip
    caption = f"People’s result, alone and corrected by {isolate(judge.name)} (95% CI)"
    return Table(f"{judge.place}-corrected", caption, columns, rows, marks="both")

"""The part of a report on automatic metrics: what stands beside what, and what is undefined."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evalsite.analysis.__main__ import main
from evalsite.analysis.families import KNOWN_KINDS
from evalsite.analysis.figure import to_plain
from evalsite.analysis.ratings import Ratings, read_table
from evalsite.analysis.report import Settings, make_reports
from evalsite.analysis.report.metrics import find_ceilings_within, read_metrics, report_metrics

Row = dict[str, Any]
POINTS = [{"value": value, "label": ""} for value in range(1, 10)]
LIKERT = {"key": "quality", "label": "Quality", "kind": "likert", "answers": POINTS}
# four systems on three inputs, rated by two people
SYSTEMS, ITEMS = "ABCD", ("i1", "i2", "i3")
GIVEN = {"A": (6, 7, 5), "B": (5, 4, 6), "C": (3, 4, 2), "D": (2, 1, 4)}
BLEU = {"A": (0.5, 0.6, 0.3), "B": (0.4, 0.2, 0.5), "C": (0.45, 0.3, 0.2), "D": (0.1, 0.2, 0.3)}


def write(path: Path, rows: Iterable[Row]) -> Path:
    rows = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def rate() -> list[Row]:
    """The second person always gives one point more."""
    return [
        {"participant": who, "item": item, "system": system, "criterion": "quality",
         "output_id": f"{item}#{system}", "value": GIVEN[system][at] + more}
        for who, more in (("p1", 0), ("p2", 1))
        for at, item in enumerate(ITEMS)
        for system in SYSTEMS
    ]  # fmt: skip


def score(metric: str, scores: dict[str, tuple[float, ...]]) -> list[Row]:
    return [
        {"item": item, "system": system, "metric": metric, "value": scores[system][at]}
        for at, item in enumerate(ITEMS)
        for system in scores
    ]


def report(folder: Path, metrics: list[Row], rows: list[Row] | None = None, kind: str = "likert"
           ) -> Any:  # fmt: skip
    """The part on metrics of a report on these ratings."""
    table = read_table(write(folder / "ratings.csv", rows or rate())).results()
    scores = read_metrics(write(folder / "metrics.csv", metrics)) if metrics else None
    found = to_plain(report_metrics(table, KNOWN_KINDS[kind], scores, seed=3))
    # what JSON cannot hold would stop the page
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def flat(scores: dict[str, tuple[float, ...]]) -> list[float]:
    return [scores[system][at] for at in range(3) for system in SYSTEMS]


def by_name(figures: list[Row]) -> dict[str, Row]:
    return {figure["name"]: figure for figure in figures}


def test_figures_of_outputs_are_those_of_scipy(tmp_path: Path) -> None:
    found = report(tmp_path, score("BLEU", BLEU))

    (bleu,) = found["metrics"]
    output = by_name(bleu["levels"]["output"])
    x, y = flat(GIVEN), flat(BLEU)
    assert output["pearson"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert output["spearman"]["value"] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert output["kendall"]["value"] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert output["pearson"]["n"] == {"rows": 12}
    assert output["pearson"]["low"] < output["pearson"]["value"] < output["pearson"]["high"]
    assert (bleu["outputs"], found["outputs"]) == (12, 12)


def test_figures_within_inputs_are_means_over_inputs(tmp_path: Path) -> None:
    found = report(tmp_path, score("BLEU", BLEU))

    within = by_name(found["metrics"][0]["levels"]["within_inputs"])
    taus = [
        stats.kendalltau(*([scores[system][at] for system in SYSTEMS] for scores in (GIVEN, BLEU)))
        for at in range(3)
    ]
    tau = np.array([one.statistic for one in taus])
    assert within["kendall"]["value"] == pytest.approx(tau.mean())
    reach = stats.t.ppf(0.975, 2) * tau.std(ddof=1) / np.sqrt(3)
    # no mean of correlations is below -1 or above 1
    ends = max(-1, tau.mean() - reach), min(1, tau.mean() + reach)
    assert (within["kendall"]["low"], within["kendall"]["high"]) == pytest.approx(ends)
    assert within["kendall"]["n"] == {"inputs": 3, "equal_people": 0, "equal_metric": 0}
    # four systems on every input
    assert found["main"] == "within_inputs"


def test_two_systems_leave_the_figures_of_outputs_the_main_ones(tmp_path: Path) -> None:
    few = {name: BLEU[name] for name in "AB"}

    assert report(tmp_path, score("BLEU", few))["main"] == "output"


def test_figures_of_inputs_means_removed_leave_out_what_makes_inputs_differ(tmp_path: Path) -> None:
    found = report(tmp_path, score("BLEU", BLEU))

    within = by_name(found["metrics"][0]["levels"]["item_centred"])
    x, y = (np.array([scores[system] for system in SYSTEMS]) for scores in (GIVEN, BLEU))
    expected = stats.pearsonr((x - x.mean(0)).ravel(), (y - y.mean(0)).ravel()).statistic
    assert within["pearson"]["value"] == pytest.approx(expected)


def test_figures_of_systems_are_of_their_means(tmp_path: Path) -> None:
    found = report(tmp_path, score("BLEU", BLEU))

    bleu = found["metrics"][0]
    system = by_name(bleu["levels"]["system"])
    means = [[np.mean(scores[name]) for name in SYSTEMS] for scores in (GIVEN, BLEU)]
    assert system["pearson"]["value"] == pytest.approx(stats.pearsonr(*means).statistic)
    # by hand: people say A > B > C > D, and so does BLEU: .4667, .3667, .3167, .2
    assert system["pairwise_accuracy"]["value"] == 1
    assert system["pairwise_accuracy"]["n"]["systems"] == 4
    points = {one["system"]: one for one in bleu["points"]}
    assert points["A"]["human"] == pytest.approx(6.5)
    assert points["A"]["metric"] == pytest.approx(1.4 / 3)


def test_two_metrics_are_compared_by_williams_test_with_holm(tmp_path: Path) -> None:
    other = {name: values[::-1] for name, values in BLEU.items()}
    less = {name: tuple(-one for one in values) for name, values in GIVEN.items()}
    metrics = [*score("BLEU", BLEU), *score("other", other), *score("TER", less)]

    found = report(tmp_path, metrics)

    # the closest first, whichever way it goes
    assert found["metrics"][0]["metric"] == "TER"
    pairs = {(one["metric_1"], one["metric_2"]): one["test"] for one in found["pairs"]}
    assert len(pairs) == found["compared"] == 3
    test = pairs["BLEU", "other"] if ("BLEU", "other") in pairs else pairs["other", "BLEU"]
    one, two = (BLEU, other) if ("BLEU", "other") in pairs else (other, BLEU)
    t = williams_by_hand(flat(GIVEN), flat(one), flat(two))
    assert test["details"]["t"] == pytest.approx(t)
    assert test["details"]["p"] == pytest.approx(2 * stats.t.sf(abs(t), 9))
    p_values = sorted(one["details"]["p"] for one in pairs.values())
    # by hand: the smallest p three times, the next twice, none below the one before
    first, second, third = p_values
    holm = [min(1, 3 * first), min(1, max(3 * first, 2 * second))]
    holm.append(min(1, max(holm[1], third)))
    corrected = sorted(one["details"]["p_corrected"] for one in pairs.values())
    assert corrected == pytest.approx(holm)
    assert corrected != pytest.approx(p_values)


def williams_by_hand(human: list[float], one: list[float], two: list[float]) -> float:
    """As in Williams (1959), from three correlations."""
    n = len(human)
    r12, r13, r23 = (stats.pearsonr(*pair).statistic
                     for pair in ((human, one), (human, two), (one, two)))  # fmt: skip
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    below = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    return float((r12 - r13) * np.sqrt((n - 1) * (1 + r23) / below))


def test_outputs_without_a_score_are_left_out_and_counted(tmp_path: Path) -> None:
    metrics = [one for one in score("BLEU", BLEU) if one["item"] != "i3"]
    metrics.append({"item": "stranger", "system": "A", "metric": "BLEU", "value": 9})

    found = report(tmp_path, metrics)

    assert found["metrics"][0]["outputs"] == 8
    assert found["outputs"] == 12
    assert by_name(found["metrics"][0]["levels"]["output"])["pearson"]["n"] == {"rows": 8}


def test_two_systems_and_a_constant_metric_are_undefined_with_their_reason(tmp_path: Path) -> None:
    few = {name: BLEU[name] for name in "AB"}
    same = dict.fromkeys(SYSTEMS, (1.0, 1.0, 1.0))

    found = report(tmp_path, [*score("few", few), *score("same", same)])

    levels = {one["metric"]: one["levels"] for one in found["metrics"]}
    system = by_name(levels["few"]["system"])
    # two systems are one pair, whose order is known
    assert system.pop("soft_pairwise_accuracy")["value"] is not None
    assert {one["reason"] for one in system.values()} == {"too_few"}
    assert {one["reason"] for one in levels["same"]["output"]} == {"no_variation"}
    assert found["pairs"][0]["test"]["reason"] == "no_variation"
    assert found["pairs"][0]["test"]["details"]["p_corrected"] is None


def test_magnitudes_stand_beside_metrics_by_their_logarithms(tmp_path: Path) -> None:
    rows = [row | {"value": 10 ** GIVEN[row["system"]][ITEMS.index(row["item"])]} for row in rate()]

    found = report(tmp_path, score("BLEU", BLEU), rows, "magnitude")

    pearson = by_name(found["metrics"][0]["levels"]["output"])["pearson"]
    assert pearson["value"] == pytest.approx(stats.pearsonr(flat(GIVEN), flat(BLEU)).statistic)


def test_preferences_stand_beside_metrics_by_the_net_wins_of_systems(tmp_path: Path) -> None:
    pairs = [("A", "B"), ("B", "C"), ("A", "C")]
    rows = [
        {"participant": who, "item": f"i{at}", "group": f"g{at}", "criterion": "quality",
         "system_1": one, "system_2": two, "outcome": "1", "preferred": one}
        for who in ("p1", "p2")
        for at, (one, two) in enumerate(pairs)
    ]  # fmt: skip
    metrics = [
        {
            "item": f"i{at}",
            "system": name,
            "metric": "BLEU",
            "value": {"A": 3, "B": 1, "C": 2}[name],
        }
        for at, pair in enumerate(pairs)
        for name in pair
    ]

    found = report(tmp_path, metrics, rows, "preference")

    (bleu,) = found["metrics"]
    assert set(bleu["levels"]) == {"system"}
    # net wins: A 1, B 0, C -1; the metric has B and C the other way round
    assert {one["system"]: one["human"] for one in bleu["points"]} == {"A": 1, "B": 0, "C": -1}
    system = by_name(bleu["levels"]["system"])
    assert system["pairwise_accuracy"]["value"] == pytest.approx(2 / 3)
    assert system["pearson"]["value"] == pytest.approx(0.5)
    assert found["ceiling"] is None


def test_metrics_of_preferences_are_compared_on_the_outputs_that_both_scored(
    tmp_path: Path,
) -> None:
    # six pairs of four systems, twice; in the second round the others win
    pairs = [("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("B", "D"), ("C", "D")]
    rows = [
        {"participant": "p1", "item": f"i{number}{at}", "group": f"i{number}{at}",
         "criterion": "quality", "system_1": one, "system_2": two, "outcome": str(number + 1),
         "preferred": (one, two)[number]}
        for number in (0, 1)
        for at, (one, two) in enumerate(pairs)
        if number == 0 or at < 4
    ]  # fmt: skip
    some = {"A": 4.0, "B": 1.0, "C": 3.0, "D": 2.0}
    scores = [
        {"item": row["item"], "system": name, "metric": metric, "value": value}
        for row in rows
        for name in (row["system_1"], row["system_2"])
        for metric, value in (("full", some[name]),
                              ("half", {"A": 3.0, "B": 3.5, "C": 1.0, "D": 0.0}[name]))
        if metric == "full" or row["item"].startswith("i0")
    ]  # fmt: skip

    found = report(tmp_path, scores, rows, "preference")

    (pair,) = found["pairs"]
    # by hand, of the first round alone: net wins of A 1, of B 1/3, of C -1/3, of D -1
    human, full, half = [1, 1 / 3, -1 / 3, -1], [4, 1, 3, 2], [3, 3.5, 1, 0]
    by_metric = {"full": full, "half": half}
    one, two = (by_metric[pair[key]] for key in ("metric_1", "metric_2"))
    details = pair["test"]["details"]
    assert details["t"] == pytest.approx(williams_by_hand(human, one, two))
    r_half = details["r_first" if pair["metric_1"] == "half" else "r_second"]
    (beside,) = (one for one in found["metrics"] if one["metric"] == "half")
    assert r_half == pytest.approx(by_name(beside["levels"]["system"])["pearson"]["value"])
    assert pair["test"]["n"] == {"rows": 4}


def test_figures_of_systems_count_what_is_drawn(tmp_path: Path) -> None:
    rows = [row | {"cluster": "c1" if row["item"] == "i1" else "c2"} for row in rate()]

    plain, clustered = (report(tmp_path, score("BLEU", BLEU), some) for some in (rate(), rows))

    of_plain, of_clustered = (
        by_name(found["metrics"][0]["levels"]["system"])["pearson"] for found in (plain, clustered)
    )
    assert of_plain["n"] == {"systems": 4, "groups": 3}
    assert of_plain["details"]["interval"] == "bootstrap_of_inputs_systems_kept"
    assert of_clustered["n"] == {"systems": 4, "clusters": 2}
    assert of_clustered["details"]["interval"] == "bootstrap_of_clusters_systems_kept"


def test_a_ceiling_says_how_well_halves_of_ratings_agree(tmp_path: Path) -> None:
    found = report(tmp_path, score("BLEU", BLEU))

    # one gives always a point more: either half orders outputs alike, but for who is in it
    assert found["ceiling"]["value"] > 0.9
    assert found["ceiling"]["n"] == {"outputs": 12, "ratings": 24}


def test_without_scores_of_its_outputs_a_criterion_has_no_such_part(tmp_path: Path) -> None:
    strange = [{"item": "x", "system": "A", "metric": "BLEU", "value": 1}]

    assert report(tmp_path, []) is None
    assert report(tmp_path, strange) is None


def test_a_report_of_files_holds_the_part_and_how_it_was_computed(tmp_path: Path) -> None:
    metrics = [*score("BLEU", BLEU), *score("other", GIVEN)]
    paths = {
        "ratings": write(tmp_path / "ratings.csv", rate()),
        "metrics": write(tmp_path / "metrics.csv", metrics),
    }

    made = make_reports(paths, Settings(instrument=[LIKERT], seed=3))["kept"]["criteria"][0]

    assert [one["metric"] for one in made["metrics"]["metrics"]] == ["other", "BLEU"]


def test_a_file_with_a_column_for_each_metric_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("item,system,BLEU,chrF\ni1,A,1,2\ni1,B,,3\n", encoding="utf-8")

    found = read_metrics(path)

    assert sorted(zip(found.system, found.metric, found.value, strict=True)) == [
        ("A", "BLEU", 1.0),
        ("A", "chrF", 2.0),
        ("B", "chrF", 3.0),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,metric,value\n", "has no column item"),
        (
            "item,system,metric,value\ni1,A,BLEU,nan\n",
            "The score of BLEU of item i1 isn't a number",
        ),
        ("item,system,metric,value\ni1,A,BLEU,1\ni1,A,BLEU,2\n", "Item i1 has two scores of BLEU"),
    ],
)
def test_a_file_that_is_no_table_of_scores_is_refused(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=sentence):
        read_metrics(path)


@pytest.mark.torture
def test_the_command_sets_metrics_beside_a_bare_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratings = write(tmp_path / "ratings.csv", rate())
    metrics = write(tmp_path / "metrics.csv", score("BLEU", BLEU))

    assert main(["report", str(ratings), "--metrics", str(metrics), "--scale", "1-9"]) == 0

    text = capsys.readouterr().out
    assert "Automatic metrics" in text
    assert "BLEU, output pearson" in text


# --- direction ------------------------------------------------------------------------


def turn(scores: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    return {system: tuple(1 - value for value in values) for system, values in scores.items()}


def list_figures(found: Row) -> dict[tuple[str, str], float]:
    """The figures of the only metric, with their names."""
    (metric,) = found["metrics"]
    return {
        (level, figure["name"]): figure["value"]
        for level, figures in metric["levels"].items()
        for figure in figures
    }


def test_a_metric_of_which_lower_is_better_is_turned_round_first(tmp_path):
    plain = report(tmp_path, score("BLEU", BLEU))

    lower = [row | {"better": "lower"} for row in score("TER", turn(BLEU))]
    found = report(tmp_path, lower)

    assert list_figures(found) == pytest.approx(list_figures(plain))
    assert found["metrics"][0]["better"] == "lower"
    # what is drawn is as it was given
    given = [sum(turn(BLEU)[system]) / 3 for system in SYSTEMS]
    assert [point["metric"] for point in found["metrics"][0]["points"]] == pytest.approx(given)


def test_people_of_whom_low_answers_are_good_are_turned_round_first(tmp_path):
    table = read_table(write(tmp_path / "ratings.csv", rate())).results()
    scores = read_metrics(write(tmp_path / "metrics.csv", score("TER", turn(BLEU))))

    found = [
        to_plain(report_metrics(table, KNOWN_KINDS["likert"], scores, 3, better))
        for better in ("higher", "lower")
    ]

    higher, lower = map(list_figures, found)
    for key in [key for key in higher if key[1] in ("pearson", "spearman", "kendall")]:
        assert lower[key] == pytest.approx(-higher[key])


@pytest.mark.parametrize(
    ("better", "reason"),
    [(["up"] * 12, "Write higher or lower"), (["lower"] * 11 + ["higher"], "two directions")],
)
def test_a_direction_that_cannot_be_is_refused(tmp_path, better, reason):
    rows = [row | {"better": word} for row, word in zip(score("TER", BLEU), better, strict=True)]

    with pytest.raises(ValueError, match=reason):
        read_metrics(write(tmp_path / "metrics.csv", rows))


# --- the ceiling within inputs --------------------------------------------------------


def test_people_who_order_systems_alike_have_a_ceiling_of_one(tmp_path):
    found = report(tmp_path, score("BLEU", BLEU), rate())

    assert [figure["name"] for figure in found["ceiling_within"]] == [
        "ceiling_pearson", "ceiling_spearman", "ceiling_kendall"
    ]  # fmt: skip
    assert [figure["value"] for figure in found["ceiling_within"]] == pytest.approx([1, 1, 1])


def test_the_ceiling_within_inputs_is_the_correlation_of_two_people_stepped_up():
    # with two people every split is the same
    first = {"A": (6, 7, 5), "B": (5, 4, 6), "C": (3, 4, 2), "D": (2, 1, 4)}
    second = {"A": (5, 7, 4), "B": (6, 2, 6), "C": (1, 5, 3), "D": (2, 3, 1)}
    rows = [
        (f"i{at}", system, who, scores[system][at])
        for who, scores in (("p", first), ("q", second))
        for system in SYSTEMS for at in range(3)
    ]  # fmt: skip
    group, system, rater, value = zip(*rows, strict=True)

    found = find_ceilings_within(
        Ratings(group=group, system=system, rater=rater, value=value), splits=5
    )

    for figure, correlate in zip(
        found, (stats.pearsonr, stats.spearmanr, stats.kendalltau), strict=True
    ):
        both = [
            correlate([first[name][at] for name in SYSTEMS], [second[name][at] for name in SYSTEMS])
            for at in range(3)
        ]
        half = np.mean([pair.statistic for pair in both])
        assert figure.value == pytest.approx(2 * half / (1 + abs(half)))


def test_one_rater_has_no_ceiling_within_inputs():
    found = find_ceilings_within(
        Ratings(group=["a"] * 3, system=list("xyz"), rater=["p"] * 3, value=[1, 2, 3])
    )

    assert [figure.reason for figure in found] == ["too_few"] * 3

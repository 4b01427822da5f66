"""Figures in words: what each is called, how a number of it is written, how it is computed."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from evalsite.analysis.figure import LEVEL, METHODS_VERSION, Figure, Reason, Unit, write_coefficient

DASH = "–"
NO_GROUP: Mapping[str, str] = MappingProxyType({})
_NO_BREAK = "\N{NO-BREAK SPACE}"
# "< .001", and the letter before a sign: "p < .001", "n = 12"
_WITHIN = r"(?<=[<>=≤≥±]) (?=[−-]?\.?\d)|(?<=\b[^\W\d_]) (?=[<>=≤≥] [−-]?\.?\d)"
_FREE, _UNBREAKABLE = re.compile(_WITHIN), re.compile(_WITHIN.replace(" ", _NO_BREAK))

# --- codes --------------------------------------------------------------------------------------

# unit and name of every figure, by its code; None: the kind of question decides the unit
CODES: dict[str, tuple[Unit | None, str]] = {
    "answers_in": ("count", "Answers"),
    "answers_used": ("count", "Answers used"),
    "answers_planned": ("count", "Answers planned"),
    "planned_difference": (None, "Planned difference"),
    "margin": (None, "Margin"),
    "difference": (None, "Difference"),
    "mean": (None, "Mean"),
    "net_share": ("difference in shares", "Share won minus share lost"),
    "distance": (None, "Distance from the average"),
    "tier": ("count", "Tier"),
    "alpha": ("coefficient", "Krippendorff’s α"),
    "ac": ("coefficient", "Gwet’s AC"),
    "icc_one": ("coefficient", "ICC(1,1)"),
    "reliability": ("coefficient", "Reliability of the mean"),
    "same_answer": ("share", "Same answer"),
    "inputs": ("count", "Inputs"),
    "outputs": ("count", "Outputs"),
    "systems": ("count", "Systems"),
    "people": ("count", "People"),
    "people_excluded": ("count", "People excluded"),
    "people_not_sharing": ("count", "People who don’t share their answers"),
    "position_spread": ("count", "Most and least often in one position"),
    "pay_per_hour": ("money", "Pay per hour"),
    "n": ("count", "Answers"),
    "sd": (None, "SD"),
    "chosen": ("share", "Chosen"),
    "p": ("p", "p"),
    "p_corrected": ("p", "Corrected p"),
    "t": ("statistic", "t"),
    "effect": ("coefficient", "Effect"),
    "joint_f": ("statistic", "F"),
    "reason": ("share", "Reason named"),
    "comments": ("count", "Comments"),
    "people_commenting": ("count", "People who commented"),
    "notes": ("count", "Notes on items"),
    "skips": ("count", "Skips"),
    "problem_reports": ("count", "Problem reports"),
    "detectable": (None, "Difference found in 8 of 10 studies"),
    "precision": (None, "Half-width of the interval of a comparison"),
    "precision_expected": (None, "Half-width with all answers"),
    "answers_needed": ("count", "More answers that would decide"),
    "people_needed": ("count", "People who would decide"),
    "rule_matches": ("count", "People who match"),
    "judge_agreement": ("coefficient", "Agreement with people"),
    "people_agreement": ("coefficient", "Agreement of people"),
    "judge_bias": (None, "Bias"),
    "judged_difference": (None, "Difference with the judge’s labels"),
    "label_worth": ("ratio", "Worth of a label"),
    "label_answers": ("count", "Answers that the labels are worth"),
    "label_answers_most": ("count", "Answers that any number of labels are worth"),
    "judge_shortfall": ("coefficient", "Shortfall"),
    "judge_correlation": ("coefficient", "Spearman’s ρ with people’s mean"),
    "judge_favours": (None, "Bias between systems"),
    "judge_length": (None, "Bias of twice as many words"),
    "people_difference": (None, "Difference of people alone"),
    "winning_rate": ("share", "People whom the judge equals"),
    "advantage": ("share", "Outputs on which the judge is at least as good"),
    "tpr_of_judge": ("share", "Found of what people accept"),
    "tpr_of_person": ("share", "Found of what people accept, another person"),
    "tnr_of_judge": ("share", "Found of what people reject"),
    "tnr_of_person": ("share", "Found of what people reject, another person"),
    "precision_of_judge": ("share", "Accepted by people where the judge accepts"),
    "same_verdict": ("share", "Same verdict in both orders"),
    "first_shown": ("difference in shares", "Pull to the side shown first"),
    "same_label": ("share", "Same label in two runs"),
    "spread_of_runs": ("points", "SD between runs"),
    "metric_mean": ("statistic", "Mean of the metric"),
    "human_mean": ("points", "Mean of people"),
    # of the further analyses, as the analysis names them
    "pearson": ("coefficient", "Pearson’s r"),
    "spearman": ("coefficient", "Spearman’s ρ"),
    "kendall": ("coefficient", "Kendall’s τ-b"),
    "pairwise_accuracy": ("share", "Pairs in order"),
    "tie_calibrated_accuracy": ("share", "Pairwise accuracy with ties"),
    "soft_pairwise_accuracy": ("share", "Soft pairwise accuracy"),
    "williams": ("coefficient", "Difference of r"),
    "ceiling": ("coefficient", "r of as many other people"),
    "ceiling_kendall": ("coefficient", "τ-b of as many other people"),
    "median": ("points", "Median"),
    "rank_best": ("statistic", "Best rank"),
    "rank_worst": ("statistic", "Worst rank"),
    "geometric_mean": ("points", "Geometric mean"),
    "share": ("share", "Share of yes"),
    "win_share": ("share", "Win share, ties as half"),
    "strength": ("statistic", "Strength"),
    "mean_step": ("points", "Mean step"),
    "ac1": ("coefficient", "Gwet’s AC1"),
    "ac2": ("coefficient", "Gwet’s AC2"),
    "kendall_w": ("coefficient", "Kendall’s W"),
    "percent_agreement": ("share", "Percent agreement"),
    "alpha_ordinal": ("coefficient", "Krippendorff’s α, ordinal"),
    "alpha_nominal": ("coefficient", "Krippendorff’s α, nominal"),
    "alpha_interval": ("coefficient", "Krippendorff’s α, interval"),
    "alpha_log": ("coefficient", "Krippendorff’s α, log scores"),
    "alpha_ratio": ("coefficient", "Krippendorff’s α, ratio"),
    "alpha_ranks": ("coefficient", "Krippendorff’s α, order on a page"),
    "alpha_ignored": ("coefficient", "Krippendorff’s α of ignoring"),
    "within_1": ("share", "Within one point"),
    "share_of_units": ("share", "Variance: outputs"),
    "share_of_raters": ("share", "Variance: raters"),
    "share_of_rest": ("share", "Variance: the rest"),
    "pairwise_spearman": ("coefficient", "Mean Spearman of two raters"),
    "pairwise_tau_b": ("coefficient", "Mean τ-b of two raters"),
    "pairwise_pearson": ("coefficient", "Mean Pearson of two raters"),
    "linear_kappa": ("coefficient", "Mean κ of two raters, linear weights"),
    "mean_kappa": ("coefficient", "Mean κ of two raters, quadratic weights"),
    "reliability_of_mean": ("coefficient", "Reliability of an output’s mean rating"),
    "alpha_of_raw_scores": ("coefficient", "Krippendorff’s α of raw scores"),
    "alpha_of_log1p": ("coefficient", "Krippendorff’s α of ln(1 + x)"),
    "dawid_skene_share": ("share", "Dawid–Skene share"),
    "fleiss": ("coefficient", "Fleiss’ κ"),
    "trimmed_mean": ("points", "Mean, 10% trimmed"),
    "top_box": ("share", "Top point"),
    "bottom_box": ("share", "Lowest two points"),
    "mean_z": ("statistic", "Mean of rater z"),
    "mean_log_z": ("statistic", "Mean of rater z"),
    "mean_centred": ("points", "Rater-centred mean"),
    "geo_mean_centred": ("points", "Rater-centred geometric mean"),
    "mode_share": ("share", "Share of the most used answer"),
    "model_share": ("share", "Share by the mixed model"),
    "model_mean": ("points", "Mean by the mixed model"),
    "share_wilson": ("share", "Naive interval"),
    "geo_mean_winsorised": ("points", "Winsorised"),
    "mean_rank": ("statistic", "Mean rank on a page"),
    "share_best": ("share", "Best on a page"),
    "order_strength": ("statistic", "Plackett-Luce strength"),
    "strength_difference": ("statistic", "Difference of strengths"),
    "mean_place": ("statistic", "Mean place"),
    "share_first": ("share", "Placed first, ties shared"),
    "best_worst_score": ("coefficient", "Best less worst"),
    "times_best": ("count", "Times best"),
    "times_worst": ("count", "Times worst"),
    "alpha_places": ("coefficient", "Krippendorff’s α of places"),
    "beats_average": ("share", "Preferred to the average system, of decided"),
    "penalised_strength": ("statistic", "Penalised strength"),
    "superiority": ("share", "P(first is better)"),
    "p_higher": ("share", "P(first is higher)"),
    "first_quartile": ("points", "First quartile"),
    "third_quartile": ("points", "Third quartile"),
    "share_at_low": ("share", "At the lowest value"),
    "share_at_high": ("share", "At the highest value"),
    "dz": ("statistic", "d_z of input means"),
    "gz": ("statistic", "Hedges’ g of inputs"),
    "rank_biserial": ("coefficient", "Rank-biserial of inputs"),
    "cliffs_delta": ("coefficient", "Cliff’s δ of inputs"),
    "wilcoxon": ("statistic", "Wilcoxon"),
    "sign_flip": ("statistic", "Sign flips"),
    "sign_test": ("statistic", "Sign test"),
    "sign_within": ("statistic", "Sign test of pages"),
    "sign_test_of_majorities": ("statistic", "Sign test of majorities"),
    "friedman": ("statistic", "Friedman’s χ²"),
    "from_average": (None, "From the average"),
    "variance_share": ("share", "Share of the variance"),
    "own_error": (None, "Difference with its own error"),
    "own_ratio": ("ratio", "Ratio with its own error"),
    "own_risk_difference": (
        "difference in shares",
        "Difference of shares with its own error, percentage points",
    ),
    "mcnemar": ("difference in shares", "McNemar’s test, percentage points"),
    "cochran_q": ("statistic", "Cochran’s Q"),
    "cronbach_alpha": ("coefficient", "Cronbach’s α"),
    "criteria_spearman": ("coefficient", "Spearman’s ρ of two criteria"),
    "auc": ("coefficient", "AUC, accepted above rejected"),
    "mean_accepted": ("points", "Mean where accepted"),
    "mean_rejected": ("points", "Mean where rejected"),
    "highlighted_share": ("share", "Share of words marked"),
    "token_f1": ("coefficient", "Words marked by both, F1"),
    "span_f1": ("coefficient", "Passages marked alike, F1"),
    "character_f1": ("coefficient", "Characters marked by both, F1"),
    "character_f1_with_empty": ("coefficient", "Characters marked by both, F1, empty ones too"),
    "character_f1_pooled": ("coefficient", "Characters marked by both, F1, pooled"),
    "errors": ("count", "Errors"),
    "errors_per_output": ("statistic", "Errors per output"),
    "without_errors": ("share", "Outputs without errors"),
    "token_f1_with_empty": ("coefficient", "Words marked by both, F1, empty ones too"),
    "token_alpha": ("coefficient", "Krippendorff’s α over words"),
    "share_ignored": ("share", "Share ignored"),
    "share_of_first_place": ("share", "First place preferred, of decided"),
    "position_effect": ("share", "First place, of decided, between equals"),
    "tie_parameter": ("share", "Ties between equals"),
    "davidson_fit": ("statistic", "Misfit of Davidson’s model, χ²"),
    "kendall_zeta": ("coefficient", "Kendall’s ζ"),
    "circular_triads": ("count", "Circles of three"),
    "ratings_per_output": ("count", "Ratings per output, median"),
    "outputs_per_rater": ("count", "Outputs per rater, median"),
    "seconds_per_annotation": ("seconds", "Seconds per item, median"),
    "components": ("count", "Connected parts of the data"),
    "share_of_cells_filled": ("share", "Share of all rater–output pairs that are rated"),
    "top_share": ("share", "Share of the most used value"),
    "speed_ratio": ("share", "Median time, of the median rater’s"),
    "loo_spearman": ("coefficient", "Spearman with the mean of the others"),
    "loo_bias": ("points", "Above the others by"),
    "share_reserved": ("share", "Share of points meant to be rare"),
    "identical_criteria": ("share", "Share of outputs with one value on all criteria"),
    "geo_mean": ("points", "Geometric mean"),
    "sd_log": ("statistic", "Standard deviation of logarithms"),
    "share_of_5s": ("share", "Multiples of 5"),
    "share_of_10s": ("share", "Multiples of 10"),
    "share_of_standard": ("share", "Equal to the standard"),
    "tie_share": ("share", "Ties, of all answers"),
    "exact": ("share", "Rated the same both times"),
    "share_under_floor": ("share", "Share of pages left too fast to read"),
    "circular_share": ("share", "Share of triples in a circle"),
    "reported": ("count", "Items reported"),
    "gold_share": ("share", "Share of gold and attention items answered right"),
    "mean_abs_change": ("points", "Mean change the second time"),
    "sd_log_change": ("statistic", "Standard deviation of log changes"),
    "drift_trial": ("points", "Change over the study"),
    "drift_place": ("points", "Change over a set"),
    "ratio": ("ratio", "Ratio"),
    "risk_difference": ("difference in shares", "Difference of shares, percentage points"),
    "net_win_share": ("difference in shares", "Net win share, percentage points"),
    "cv_star": ("statistic", "CV*, %"),
    "repeat_difference": ("points", "Repeat minus first"),
    "repeat_ratio": ("ratio", "Repeat over first"),
    "score_pearson": ("coefficient", "Pearson’s r of system scores"),
    "score_spearman": ("coefficient", "Spearman’s ρ of system scores"),
    "alpha_across": ("coefficient", "Krippendorff’s α, all ratings of both"),
    "alpha_first": ("coefficient", "Krippendorff’s α, first study"),
    "alpha_second": ("coefficient", "Krippendorff’s α, repeat"),
    "alpha_of_scores": ("coefficient", "Krippendorff’s α of both scores of an output"),
    "share_upheld": ("share", "Share of findings upheld"),
    "ratio_band": ("ratio", "Factor within which most changes lie"),
    "ordinal_alpha": ("coefficient", "Ordinal α of both times"),
    "nominal_alpha": ("coefficient", "Nominal α of both times"),
    "ratio_alpha": ("coefficient", "Ratio α of both times"),
    "quadratic_kappa": ("coefficient", "Quadratically weighted κ of both times"),
    "same_outcome": ("share", "The same preferred both times"),
    "same_side": ("share", "The same place preferred both times"),
    "ICC(1,1)": ("coefficient", "ICC(1,1)"),
    "ICC(1,k)": ("coefficient", "ICC(1,k)"),
    "ICC(A,1)": ("coefficient", "ICC(A,1)"),
    "ICC(A,k)": ("coefficient", "ICC(A,k)"),
    "ICC(C,1)": ("coefficient", "ICC(C,1)"),
    "ICC(C,k)": ("coefficient", "ICC(C,k)"),
    "accepted_against_scores": ("count", "Accepted, though a score is bad"),
    "alpha_of_first_ratings": (
        "coefficient",
        "Krippendorff’s α of the first ratings of each output",
    ),
    "detectable_difference": (None, "Difference found in 8 of 10 studies"),
    "equal_on_equal_texts": ("share", "Equal scores on identical texts"),
    "mean_of_log": ("statistic", "Mean of ln"),
    "mean_of_log1p": ("statistic", "Mean of ln(1 + x)"),
    "mean_of_raw_scores": ("points", "Mean of raw scores"),
    "median_seconds": ("seconds", "Median seconds"),
    "rejected_against_scores": ("count", "Rejected, though every score is good"),
    "slips": ("count", "Slips"),
}


def find_unit(name: str) -> Unit:
    """Return the unit of a figure with this code; ValueError if it depends on the question."""
    unit = CODES[name][0]
    if unit is None:
        raise ValueError(f"The unit of {name} depends on the question: give it.")
    return unit


def make_figure(
    name: str,
    value: float | None,
    group: Mapping[str, str] = NO_GROUP,
    *,
    unit: Unit | None = None,
    n: Mapping[str, int] | None = None,
) -> Figure:
    """Return a plain count or test value as a figure of a document."""
    known: dict[str, Any] = {"method": "count", "group": tuple(group.items()), "n": n or {}}
    known["unit"] = unit or find_unit(name)
    if value is None:
        return Figure(name=name, reason=Reason.NO_DATA, **known)
    return Figure(name=name, value=value, **known)


def read_figure(
    stored: Mapping[str, Any], name: str, group: Mapping[str, str] = NO_GROUP,
    *, unit: Unit | None = None,
) -> Figure:  # fmt: skip
    """Return a figure of a stored report under the code by which documents know it."""
    return Figure(
        name=name,
        method=stored.get("method", ""),
        value=stored["value"],
        reason=None if stored.get("reason") is None else Reason(stored["reason"]),
        low=stored.get("low"),
        high=stored.get("high"),
        level=stored.get("level", LEVEL),
        n=stored.get("n", {}),
        details=stored.get("details", {}),
        seed=stored.get("seed"),
        version=stored.get("version", METHODS_VERSION),
        unit=unit or find_unit(name),
        group=tuple(group.items()),
    )


# --- numbers ------------------------------------------------------------------------------------


def write_number(value: float | None, unit: Unit | None) -> str:
    """Write a value as a paper prints one of this unit; a dash for None."""
    if value is None:
        return DASH
    match unit:
        case "p":
            return write_p(value)
        case "share":
            return f"{_round(value * 100, 0)}%"
        case "difference in shares":
            return _round(value * 100, 0)
        case "count":
            return f"{value:,g}".replace("-", "−")
        case "coefficient":
            return write_coefficient(value)
        case "seconds":
            return _round(value, 1)
        case "money":
            return _round(value, 2)
    # two decimals, one from 10 on, none from 1,000 on
    return _round(value, 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0)


def _round(value: float, digits: int) -> str:
    # what rounds to zero has no sign
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def write_p(p: float | None) -> str:
    """Write three digits below .1, two above: ".012", ".25", "< .001"."""
    if p is None:
        return DASH
    if p < 0.001:
        return "< .001"
    text = f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
    return "> .99" if text == "1.00" else text.removeprefix("0")


def write_interval(figure: Figure) -> str:
    """ "0.12 to 0.45", "0.12 or more" where an end is open, "" without an interval."""
    low, high = (
        None if end is None else write_number(end, figure.unit).removesuffix("%")
        for end in (figure.low, figure.high)
    )
    percent = "%" if figure.unit == "share" else ""
    if low is None:
        return "" if high is None else f"{high}{percent} or less"
    return f"{low}{percent} or more" if high is None else f"{low} to {high}{percent}"


def write_value(figure: Figure) -> str:
    """Write the value, or why there is none."""
    if figure.value is None:
        # of two systems: of agreement, the same code says that an item has one rating
        is_of_pair = figure.name in ("superiority", "p_higher")
        is_apart = is_of_pair and figure.why == "no_overlap"
        return explain_reason("nobody_rated_both" if is_apart else figure.why)
    return write_number(figure.value, figure.unit)


def write_figure(figure: Figure) -> str:
    """ "0.45 (0.21 to 0.69)", or why there is no value."""
    interval = "" if figure.value is None else write_interval(figure)
    return f"{write_value(figure)} ({interval})" if interval else write_value(figure)


# why a figure has no value, or no interval
REASONS = {
    "no_data": "no data",
    "no_shared_input": "they share no input",
    "no_variation": "all values are equal",
    "no_overlap": "no item has two ratings",
    "nobody_rated_both": "nobody rated both",
    "no_difference": "no differences",
    "raters_unknown": "the raters are not single persons",
    "unequal_raters": "items have unequal numbers of ratings",
    "incomplete": "not everyone rated everything",
    "too_few": "too few values",
    "separated": "a system always wins or always loses",
    "disconnected": "systems that nothing links",
    "not_converged": "the fit didn’t converge",
    "too_large": "more effects than the mixed model can fit",
    "too_many_pairs": "more pairs of outputs than are compared",
    "nothing_in_common": "the two have nothing in common",
    "other_scale": "the two have different scales",
    "not_computed": "it can’t be computed from these values",
    "no_decided_pairs": "all answers are ties",
    "places_unknown": "it isn’t known where outputs were shown",
    "mixed_directions": "high values are better on some criteria and low ones on others",
    # of tests against a margin
    "no_direction": "nothing says whether high or low values are better",
    "no_margin": "the margin doesn’t suit the scale",
    "equal_means": "the ratings vary, but the difference is the same on average everywhere",
    "constant": "every rater gives the same difference on every input, so there is no interval",
    "constant_too_few": "every rater gives the same difference on every input, but fewer than 3 "
    "raters or 10 inputs can’t decide",
    "all_equal": "all ratings are equal, so there is no interval",
    "all_equal_too_few": "all ratings are equal, but fewer than 3 raters or 10 inputs can’t decide",
}


def explain_reason(code: str) -> str:
    return REASONS.get(code, code.replace("_", " "))


# --- text around figures ------------------------------------------------------------------------


def hold_together(text: str) -> str:
    """Return the words of a page, in which no line ends within "p < .001" or "n = 12"."""
    return _FREE.sub(_NO_BREAK, text)


def let_go(text: str) -> str:
    """Return the words as they were before they were held together, for a file or a terminal."""
    return _UNBREAKABLE.sub(" ", text)


# --- methods and intervals, by the codes that figures hold

# a method; what a plus sign adds to it is in ADDED
METHODS = {
    "count": "count",
    "ANOVA": "analysis of variance",
    "standardised_difference": "difference over the total standard deviation",
    "equal_differences": "every difference is equal",
    "mean": "mean of ratings",
    "spearman_brown_of_alpha": "Spearman and Brown’s formula of Krippendorff’s alpha",
    "sd": "standard deviation (n - 1)",
    "rise": "rise from first to last, beside the others (least squares)",
    "share_with_one_value": "share of outputs with one value for all criteria",
    "median_over_median": "median seconds over the median of raters’ medians",
    "share_of_most_used": "share of the value used most",
    "distinct_values": "number of distinct values",
    "entropy": "entropy of the values, bits",
    "share_of_ends": "share of the two ends of the scale",
    "longest_run": "longest run of one value, in order",
    "median_seconds": "median seconds a page",
    "share_under_floor": "share of pages under a second for each 10 words",
    "wilson": "share with Wilson’s interval (takes every answer as independent)",
    "mcnemar": "McNemar, exact",
    "cochran_q": "Cochran’s Q over items",
    "bootstrap_of_items_and_raters": "bootstrap over items and raters",
    "bootstrap_of_items": "bootstrap over items",
    "geometric_mean": "geometric mean of ratings",
    "median": "median of ratings",
    "trimmed_mean": "mean of ratings, a tenth trimmed at either end",
    "share_of_mode": "share of the value given most",
    "share_at_top": "share of ratings at the top point",
    "share_at_bottom": "share of ratings at the lowest two points",
    "mean_of_z": "mean of ratings, each less its rater’s mean, over their sd",
    "centred_mean": "mean of ratings, each less its rater’s mean, the grand mean put back",
    "geometric_mean_ratio": "geometric mean of ratings over the standard",
    "centred_geometric_mean_ratio": "geometric mean of ratings over the standard, each logarithm "
    "less its rater’s mean",
    "mean_of_log_z": "mean of logarithms, each less its rater’s mean, over their sd",
    "winsorised_geometric_mean": "geometric mean of ratings, possible slips drawn in",
    "mean_rank_on_page": "mean rank among the ratings of a page",
    "mean_place": "mean place, what shares one or has none at the mean of the places it covers",
    "share_first": "share of answers in which it has the first place, ties shared",
    "best_less_worst": "times best less times worst, over times shown",
    "share_best_on_page": "share of pages on which it is rated best, ties shared",
    "net_wins": "wins less losses, over all answers",
    "wins_and_half_ties": "share of answers won, a tie as half",
    "variance_share": "share of the variance, REML with units and raters crossed",
    "pearson": "Pearson’s r",
    "spearman": "Spearman’s rho, ties at their mean rank",
    "kendall": "Kendall’s tau-b",
    "detectable_difference": "difference found with 80% power by a two-sided t test at 5% over "
    "the number of tests, the first step of Holm’s correction",
    "dz": "d_z of item means",
    "gz": "d_z of item means with Hedges’ correction",
    "superiority_of_second": "P(second > first) + .5 P(equal), same item and rater",
    "cliffs_delta": "Cliff’s delta of item means",
    "rank_biserial": "matched rank-biserial correlation of item means",
    "margin_tests": "one-sided t tests against the margin",
    "fit_chi_square": "Pearson’s chi-square of observed and expected counts; p by a bootstrap of "
    "the residuals",
    "mean_of_steps": "mean of steps, a tie as 0",
    "kendall_zeta": "Kendall’s zeta of a rater’s answers on an input: 1, no circle; 0, as many as "
    "there can be",
    "sd_of_ratings": "standard deviation of ratings (n - 1)",
    "reml": "REML, crossed random effects (Kenward-Roger)",
    "all_equal": "all ratings equal",
    "pair_agreement": "agreement of pairs of ratings, mean over units",
    "fleiss_kappa": "Fleiss’ kappa",
    "gwet_ac1": "Gwet’s AC1",
    "gwet_ac2": "Gwet’s AC2",
    "share_marked": "share of tokens marked, mean over outputs and raters",
    "f1_of_tokens": "F1 of marked tokens, mean over pairs of raters",
    "f1_of_passages": "F1 of passages marked exactly alike, mean over pairs of raters",
    "f1_of_tokens_with_empty": "F1 of marked tokens, 1 where neither marked any",
    "f1_of_characters": "F1 of marked characters, mean over pairs of raters",
    "f1_of_characters_with_empty": "F1 of marked characters, 1 where neither marked any",
    "f1_of_characters_pooled": "F1 of marked characters, sums over pairs of raters",
    "share_without_errors": "share of outputs without an error, of all answers",
    "mean_number_of_errors": "mean number of errors, over all answers",
    "count_of_errors": "number of errors",
    "alpha_nominal": "Krippendorff’s alpha, nominal",
    "alpha": "Krippendorff’s alpha",
    "variance_components": "variance components by REML",
    "sd_of_log_changes": "sd of ln(second / first)",
    "mean_abs_change": "mean absolute change, second less first",
    "band_of_log_changes": "exp(1.96 sd of ln(second / first))",
    "two_passes": "two passes",
    "joint_f_test": "F test of all systems by the mixed model (Kenward-Roger)",
    "kappa": "Cohen’s kappa",
    "quadratic_kappa_of_pairs": "Cohen’s kappa, quadratic weights, mean over pairs of raters",
    "linear_kappa_of_pairs": "Cohen’s kappa, linear weights, mean over pairs of raters",
    "offset": "mean difference from the mean of the others",
    "sd_of_logs": "standard deviation of the logarithms (n - 1)",
    "geometric_mean_of_values": "geometric mean",
    "share_of_5s": "share of multiples of 5",
    "share_of_10s": "share of multiples of 10",
    "largest_over_smallest": "largest over smallest",
    "share_of_standard": "share of values equal to the standard",
    "pairs_in_order": "share of pairs of systems that the metric orders as raters do",
    "split_half": "split-half correlation, Spearman-Brown",
    "williams": "Williams’ test of two dependent Pearson correlations",
    "tie_calibrated_accuracy": "share of pairs of systems ordered alike or tied on both sides, "
    "mean over inputs",
    "soft_pairwise_accuracy": "1 - mean difference of the one-sided p values that people and the "
    "metric give to pairs of systems; normal form of sign flips over inputs, raters fixed",
    "t_over_items": "t test over items (generalises over items, not raters)",
    "t_over_raters": "t test over raters (generalises over raters, not items)",
    "share_of_left": "share of decided answers for the left system; bootstrap over items and "
    "raters",
    "share_of_circles": "share of three decided answers of one rater on one item that go in a "
    "circle; .25 by chance",
    "positions_unknown": "positions are not known",
    "positions_not_modelled": "positions are not modelled",
    "plackett_luce": "Plackett-Luce on the order within a page, a tie as the average over its "
    "orders",
    "simulated_studies": "simulated studies",
    "wilcoxon_pratt": "Wilcoxon signed-rank, zeros by Pratt, normal approximation",
    "sign_test": "sign test, exact, zeros left out",
    "friedman": "Friedman test over items, corrected for ties",
    "rank_sum": "rank-sum test on single ratings (ignores that ratings share items and raters)",
    "sign_flips": "sign-flip permutation of item differences (generalises over items, not raters)",
    "kendall_w": "Kendall’s W, corrected for ties",
    "cv_star": "coefficient of variation, corrected for small samples (Belz et al. 2022), in %",
    "share_upheld": "share of findings upheld, each study’s p corrected within itself",
    "of_all_ratings": "of all counted ratings",
    "cronbach_alpha": "Cronbach’s alpha, raw",
    "count_of_outputs": "count of annotated outputs",
    "dawid_skene": "Dawid and Skene (1979), EM from the shares of votes to convergence",
    "pairs_of_equal_texts": "pairs of systems with the same text for an input, rated by one person",
    "mean_over_ratings": "mean over all ratings",
    "count_of_items": "count of items reported",
    "davidson": "Davidson’s model, maximum likelihood",
    "penalised_davidson": "Davidson’s model, penalised: 0.1 wins each way over each observed pair",
    "bradley_terry": "Bradley-Terry model, ties dropped, maximum likelihood",
    "auc_higher": "chance that an accepted output has the higher score, ties as half",
    "auc_lower": "chance that an accepted output has the lower score, ties as half",
    "alpha_ordinal": "Krippendorff’s alpha, ordinal",
    "alpha_interval": "Krippendorff’s alpha, interval",
    "alpha_ratio": "Krippendorff’s alpha, ratio",
    "share_of_reserved": "share of points meant to be rare",
    "tenth_trimmed_mean": "mean, 10% trimmed",
    "first_quartile": "25% quantile, interpolated",
    "third_quartile": "75% quantile, interpolated",
    "median_of_outputs": "median of outputs",
    "median_of_raters": "median of raters",
    "median_of_annotations": "median of items",
    "components": "parts that no rater links",
    "share_of_cells": "share rated",
    "first_higher": "P(first > second) + .5 P(equal), same item and rater",
    "first_lower": "P(first < second) + .5 P(equal), same item and rater",
    "possible_slips": "scores over 5 times above or below the median of a rater’s page, or of all "
    "their scores where a page has two or one",
}
ADDED = {
    "majorities_of_inputs": ", on what most raters decided of each input",
    "order_on_page": "; order of the two on a rater’s page, pages taken as independent",
    "against_average": "; chance to be preferred to the average system, of decided",
    "of_halves": " within inputs of half of the people with the others, Spearman-Brown",
    "over_inputs": ", mean over inputs",
    "over_sets": ", mean over sets ranked together",
    "over_rater_pairs": ", mean over pairs of raters",
    "majority_of_item": "; majority of an item",
    "none_significant": ": none significant",
    "cut": ", cut at what is possible",
}
# how an interval was made
INTERVALS = {
    "crossed_draws": "draws of a crossed model of raters and inputs",
    "over_inputs": "over inputs, for these raters",
    "t_of_ratings": "t, ratings taken as independent",
    "t_of_values": "t, values taken as independent",
    "fisher_z": "Fisher’s z",
    "fisher_z_over_inputs": "Fisher’s z, for these raters",
    "wilson_over_units": "Wilson, over units, for these raters",
    "wilson": "Wilson",
    "f_over_outputs": "F, over outputs, for these raters",
    "middle_of_splits": "the middle 95% of splits",
    "bootstrap_of_inputs": "bootstrap over inputs, for these raters, percentile",
    "bootstrap": "bootstrap, percentile",
    "chi_square": "chi-square",
    "t": "t",
    "bootstrap_of_items_and_raters": "bootstrap over items and raters, percentile",
    "bootstrap_of_items": "bootstrap over items, percentile",
    "bootstrap_of_inputs_systems_kept": "bootstrap over inputs, systems kept, percentile",
    "bootstrap_of_clusters_systems_kept": "bootstrap over clusters, systems kept, percentile",
    "t_over_inputs": "t over inputs, for these people",
    "t_over_clusters": "t over clusters, for these people",
}
# why there is no interval; what can also leave a value undefined is in REASONS
NO_INTERVAL = {
    "too_few_raters_or_inputs": "too few raters or inputs",
    "exactly_1": "the value is exactly 1",
    "one_input": "only one input",
    "nothing_varies": "nothing varies",
    "no_draw_differs": "no draw differs",
    "describes_behaviour": "it describes what was done",
    "always_equally_far": "always equally far from the others",
    "test": "a test",
    "see_icc": "see ICC(A,1) and ICC(C,1)",
    "not_asked_for": "not asked for",
    "one_block": "only one block to draw",
    "describes_ratings": "it describes these ratings",
    "many_values": "too many distinct values",
    "count": "a count, not an estimate",
    "needs_two_inputs": "two inputs or more are needed",
    "equal_differences": "every difference is equal",
    "no_differences": "every difference is 0",
    "test_of_net_wins": "the test of the pair is of its net wins",
    "unknown_error": "its error is unknown",
    "needs_two_raters_and_blocks": "two raters and two blocks or more are needed",
    "no_residual": "no residual variation",
    "no_freedom": "fewer than 1 degree of freedom",
    "no_lower_bound": "no lower bound",
    "single_value": "a single value",
    "equal_values": "all values are equal",
    "band": "a band of changes, not an estimate’s interval",
    "not_to_be_reported": "shown to find the odd rater, not to be reported",
    "describes_outputs": "a description of these outputs",
    "describes_answers": "it describes what was answered",
    "one_set_of_units": "one set of units",
    "one_set": "only one set",
    "shared_findings": "findings share systems and raters",
    "two_scores": "of two scores; see their difference",
    "few_scores": "so few scores give none",
    "see_report": "see the report of the study",
    "bare_in_papers": "for comparison with papers that print the value alone",
    "no_draw_differs_much": "no draw differs, or nearly none",
    "no_tie_seen": "no tie was seen",
    "needs_two_raters": "two raters or more are needed",
    "needs_two_clusters": "two clusters of inputs or more are needed",
    "needs_two_inputs_and_raters": "two inputs and two raters or more are needed",
}


def write_method(method: str) -> str:
    """Return the words of a method; "" for a plain number."""
    first, *added = method.split("+")
    return METHODS.get(first, "") + "".join(ADDED[addition] for addition in added)


def write_interval_method(code: str) -> str:
    """Return how an interval was made; "" where the code says why there is none."""
    first, *added = code.split("+")
    return (
        INTERVALS[first] + "".join(ADDED[addition] for addition in added)
        if first in INTERVALS
        else ""
    )


def explain_none(code: str) -> str:
    """Return why there is no interval."""
    return NO_INTERVAL.get(code) or REASONS.get(code, "")


# of a bundle: its README and its scripts have the same words
METHOD_WORDS = {
    "model": "a linear mixed model (REML) of all systems",
    "errors": "Kenward–Roger standard errors and degrees of freedom",
    "correction": "Tests are two-sided; p values are corrected by Holm’s method.",
    "agreement": "95% intervals of agreement treat raters and inputs as samples (1,000 "
    "quasi-random draws from a crossed random-effects model on a latent normal scale); intervals "
    "marked “for these raters” do not.",
}

"""Figures in words: numbers, intervals and p values as a paper prints them, and their names."""

import re
from typing import Any

from evalsite.analysis.families import find_family
from evalsite.analysis.figure import write_coefficient
from evalsite.results.document.figures import REASONS, hold_together, let_go
from evalsite.results.report.sentences import write_sentence
from evalsite.studies.summary_lines import list_of

__all__ = ["hold_together", "let_go"]

THESE_RATERS = "for these raters"
NAMES = {
    "mean": "Mean",
    "median": "Median",
    "rank_best": "Best rank",
    "rank_worst": "Worst rank",
    "geometric_mean": "Geometric mean",
    "share": "Share of yes",
    "win_share": "Win share, ties as half",
    "strength": "Strength",
    "mean_step": "Mean step",
    "krippendorff_alpha": "Krippendorff’s α",
    "ac1": "Gwet’s AC1",
    "ac2": "Gwet’s AC2",
    "fleiss_kappa": "Fleiss’ κ",
    "kendall_w": "Kendall’s W",
    "percent_agreement": "Percent agreement",
    "alpha": "Krippendorff’s α",
    "alpha_ordinal": "Krippendorff’s α, ordinal",
    "alpha_nominal": "Krippendorff’s α, nominal",
    "alpha_interval": "Krippendorff’s α, interval",
    "alpha_log": "Krippendorff’s α, log scores",
    "alpha_ratio": "Krippendorff’s α, ratio",
    "alpha_ranks": "Krippendorff’s α, order on a page",
    "alpha_ignored": "Krippendorff’s α of ignoring",
    "within_1": "Within one point",
    "share_of_units": "Variance: outputs",
    "share_of_raters": "Variance: raters",
    "share_of_rest": "Variance: the rest",
    "pairwise_spearman": "Mean Spearman of two raters",
    "pairwise_tau_b": "Mean τ-b of two raters",
    "pairwise_pearson": "Mean Pearson of two raters",
    "linear_kappa": "Mean κ of two raters, linear weights",
    "mean_kappa": "Mean κ of two raters, quadratic weights",
    "reliability_of_mean": "Reliability of an output’s mean rating",
    "alpha of raw scores": "Krippendorff’s α of raw scores",
    "alpha of ln(1 + x)": "Krippendorff’s α of ln(1 + x)",
    "Dawid-Skene share": "Dawid–Skene share",
    "fleiss": "Fleiss’ κ",
    "trimmed_mean": "Mean, 10% trimmed",
    "top_box": "Top point",
    "bottom_box": "Lowest two points",
    "mean_z": "Mean of rater z",
    "mean_log_z": "Mean of rater z",
    "mean_centred": "Rater-centred mean",
    "geo_mean_centred": "Rater-centred geometric mean",
    "mode_share": "Share of the most used answer",
    "model_share": "Share by the mixed model",
    "model_mean": "Mean by the mixed model",
    "share_wilson": "Naive interval",
    "geo_mean_winsorised": "Winsorised",
    "mean_rank": "Mean rank on a page",
    "share_best": "Best on a page",
    "order_strength": "Plackett-Luce strength",
    "beats_average": "Preferred to the average system, of decided",
    "penalised_strength": "Penalised strength",
    "superiority": "P(first is better)",
    "p_higher": "P(first is higher)",
    "first_quartile": "First quartile",
    "third_quartile": "Third quartile",
    "share_at_low": "At the lowest value",
    "share_at_high": "At the highest value",
    "dz": "d_z of input means",
    "gz": "Hedges’ g of inputs",
    "rank_biserial": "Rank-biserial of inputs",
    "cliffs_delta": "Cliff’s δ of inputs",
    "wilcoxon": "Wilcoxon",
    "sign_flip": "Sign flips",
    "sign_test": "Sign test",
    "sign_within": "Sign test of pages",
    "sign_test_of_majorities": "Sign test of majorities",
    "friedman": "Friedman’s χ²",
    "joint_f": "F of all systems",
    "from_average": "From the average",
    "variance_share": "Share of the variance",
    "own_error": "Difference with its own error",
    "own_ratio": "Ratio with its own error",
    "own_risk_difference": "Difference of shares with its own error, percentage points",
    "mcnemar": "McNemar’s test, percentage points",
    "cochran_q": "Cochran’s Q",
    "cronbach_alpha": "Cronbach’s α",
    "criteria_spearman": "Spearman’s ρ of two criteria",
    "auc": "AUC, accepted above rejected",
    "mean_accepted": "Mean where accepted",
    "mean_rejected": "Mean where rejected",
    "highlighted_share": "Share of words marked",
    "token_f1": "Words marked by both, F1",
    "span_f1": "Passages marked alike, F1",
    "token_f1_with_empty": "Words marked by both, F1, empty ones too",
    "token_alpha": "Krippendorff’s α over words",
    "share_ignored": "Share ignored",
    "share_of_first_place": "First place preferred, of decided",
    "position_effect": "First place, of decided, between equals",
    "tie_parameter": "Ties between equals",
    "davidson_fit": "Misfit of Davidson’s model, χ²",
    "kendall_zeta": "Kendall’s ζ",
    "circular_triads": "Circles of three",
    "ratings_per_output": "Ratings per output, median",
    "outputs_per_rater": "Outputs per rater, median",
    "seconds_per_annotation": "Seconds per item, median",
    "components": "Connected parts of the data",
    "share_of_cells_filled": "Share of all rater–output pairs that are rated",
    "top_share": "Share of the most used value",
    "sd": "Standard deviation",
    "speed_ratio": "Median time, of the median rater’s",
    "loo_spearman": "Spearman with the mean of the others",
    "loo_bias": "Above the others by",
    "share_reserved": "Share of points meant to be rare",
    "identical_criteria": "Share of outputs with one value on all criteria",
    "geo_mean": "Geometric mean",
    "sd_log": "Standard deviation of logarithms",
    "share_of_5s": "Multiples of 5",
    "share_of_10s": "Multiples of 10",
    "share_of_standard": "Equal to the standard",
    "tie_share": "Ties, of all answers",
    "exact": "Rated the same both times",
    "share_under_floor": "Share of pages left too fast to read",
    "circular_share": "Share of triples in a circle",
    "reported": "Items reported",
    "gold_share": "Share of checks answered right",
    "mean_abs_change": "Mean change the second time",
    "sd_log_change": "Standard deviation of log changes",
    "drift_trial": "Change over the study",
    "drift_place": "Change over a set",
    "difference": "Difference",
    "ratio": "Ratio",
    "risk_difference": "Difference of shares, percentage points",
    "net_win_share": "Net win share, percentage points",
    "cv_star": "CV*, %",
    "repeat_difference": "Repeat minus first",
    "repeat_ratio": "Repeat over first",
    "score_pearson": "Pearson’s r of system scores",
    "score_spearman": "Spearman’s ρ of system scores",
    "alpha_across": "Krippendorff’s α, all ratings of both",
    "alpha_first": "Krippendorff’s α, first study",
    "alpha_second": "Krippendorff’s α, repeat",
    "alpha_of_scores": "Krippendorff’s α of both scores of an output",
    "share_upheld": "Share of findings upheld",
}
# of figures that are named "criterion: figure"
_PARTS = {
    "auc": "AUC, accepted above rejected",
    "mean accepted": "mean where accepted",
    "mean rejected": "mean where rejected",
    "exact": "rated the same both times",
    "mean abs change": "mean change the second time",
    "sd log change": "standard deviation of log changes",
    "ratio band": "factor within which most changes lie",
    "ordinal alpha": "ordinal α of both times",
    "nominal alpha": "nominal α of both times",
    "ratio alpha": "ratio α of both times",
    "quadratic kappa": "quadratically weighted κ of both times",
    "same outcome": "the same preferred both times",
    "same side": "the same place preferred both times",
}
_SHARES = {
    "variance_share",
    "model_share",
    "tie_share", "circular_share", "exact",
    "beats_average",
    "mode_share", "top_share", "speed_ratio", "identical_criteria", "gold_share",
    "share", "win_share", "percent_agreement", "within_1",
    "top_box", "bottom_box", "share_wilson", "share_best", "superiority", "share_ignored",
    "p_higher", "share_at_low", "share_at_high",
    "highlighted_share", "share_of_first_place", "share_of_cells_filled", "position_effect",
    "tie_parameter",
}  # fmt: skip


# they lie between -1 and 1, so papers leave out the zero
_COEFFICIENTS = re.compile(
    r"^ICC|alpha|kappa|^reliability_of_mean$|spearman|pearson|kendall_|tau_b|_f1|^ac[12]$|^fleiss|auc$"
    r"|^cliffs_delta$|^rank_biserial$"
)
_PERCENTAGE_POINTS = {"risk_difference", "own_risk_difference", "net_win_share", "mcnemar"}
# "rejected, though ...": how many answers that is said of
_COUNTS = {
    "reported", "rejected", "accepted", "ratings_per_output", "outputs_per_rater", "components",
}  # fmt: skip


def name_figure(figure: dict[str, Any]) -> str:
    """Return what a figure is called on pages; a name that is not known here is spelt out.

    The name says where the interval takes inputs as samples, but not raters.
    """
    name = _name_alone(str(figure["name"]))
    return f"{name}, {THESE_RATERS}" if is_for_these_raters(figure) else name


def _name_alone(name: str) -> str:
    if name.startswith("ICC"):
        return name
    criterion, _, part = name.rpartition(": ")
    if part in _PARTS and criterion and not criterion.endswith(" "):
        return f"{criterion}: {_PARTS[part]}"
    # "alpha_nominal, A : B": a figure of these two systems
    kind, mark, systems = name.partition(", ")
    return NAMES.get(kind, kind.replace("_", " ").capitalize()) + mark + systems


def is_for_these_raters(figure: dict[str, Any]) -> bool:
    """Return whether the interval takes inputs as samples, but not raters."""
    return figure.get("details", {}).get("over") == "inputs"


def explain_reason(reason: str | None) -> str:
    return "" if reason is None else REASONS.get(reason, reason.replace("_", " "))


def write_value(figure: dict[str, Any]) -> str:
    """Return the value as a page shows it, or a dash."""
    return _write(figure["value"], figure["name"])


def write_interval(figure: dict[str, Any]) -> str:
    """ "0.12 to 0.45", "0.12 or more" where an end is open, or "" where there is no interval."""
    low, high = (
        None if figure[end] is None else _write(figure[end], figure["name"])
        for end in ("low", "high")
    )
    if low is None:
        return "" if high is None else f"{high} or less"
    return f"{low} or more" if high is None else f"{low} to {high}"


def describe_interval(figure: dict[str, Any]) -> str:
    """The interval or, of a figure that has a value and none, why: "none: too few values"."""
    if interval := write_interval(figure):
        return interval
    kind, _, why = str(figure["details"].get("interval", "")).partition(": ")
    if figure["value"] is None or kind != "none" or not why:
        return ""
    return f"none: {explain_reason(why)}"


def write_p(p: float | None) -> str:
    """Return a p value as APA prints it: ".012", "< .001"."""
    if p is None:
        return ""
    if p > 0.9994:
        return "> .999"
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0")


def is_share(figure: dict[str, Any]) -> bool:
    """Return whether the figure is read in percent."""
    return _is_share(figure["name"])


def _is_share(name: str) -> bool:
    return name in _SHARES or name.startswith("share_")


def _write(value: float | None, name: str) -> str:
    if value is None:
        return "–"
    if _is_share(name):
        return f"{round(value * 100)}%".replace("-", "−")
    if name.partition(", ")[0] in _PERCENTAGE_POINTS:
        return f"{round(value * 100)}".replace("-", "−")
    if name.partition(", ")[0] in _COUNTS:
        return f"{value:,g}"
    if _COEFFICIENTS.search(name.partition(", ")[0].rpartition(": ")[2]):
        return write_coefficient(value)
    return write_number(value)


def write_number(value: float) -> str:
    """A number with as many decimals as it bears: two, one from 10 on, none from 1,000 on."""
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    # a zero has no sign: what rounds to it does not either
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def is_about_pairs(found: dict[str, Any]) -> bool:
    """Whether all that was asked is which of two is preferred: then no output is rated alone."""
    return bool(found["criteria"]) and all(map(is_compared, found["criteria"]))


def is_compared(criterion: dict[str, Any]) -> bool:
    """Return whether each answer compares two outputs, and so counts for both."""
    return find_family(criterion).compares


def label_warnings(found: dict[str, Any]) -> list[str]:
    """Return the warnings of a report on all criteria together: what holds for some of them
    begins with their labels."""
    labels = {one["key"]: one["label"] for one in found["criteria"]}
    phrases: dict[str, list[Any]] = {}
    for one in found["warnings"]:
        phrases.setdefault(write_sentence(one), []).append(one["criterion"])
    return [
        # what is about criteria together, or raters, names them itself
        text
        if None in keys or not (known := [labels[key] for key in keys if key in labels])
        else f"{list_of(known)}: {text}"
        for text, keys in phrases.items()
    ]

"""How figures are computed, in words: methods and intervals by the codes that figures hold."""

from evalsite.results.document.figures import REASONS

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
    "needs_two_inputs": "needs two inputs or more",
    "equal_differences": "every difference is equal",
    "no_differences": "every difference is 0",
    "test_of_net_wins": "the test of the pair is of its net wins",
    "unknown_error": "its error is unknown",
    "needs_two_raters_and_blocks": "needs two raters and two blocks or more",
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
    "needs_two_raters": "needs two raters or more",
    "needs_two_clusters": "needs two clusters of inputs or more",
    "needs_two_inputs_and_raters": "needs two inputs and two raters or more",
}
# the test of a p value, where the method doesn’t say it
TESTS = {
    "sign_flips": "sign flips",
    "exact_binomial": "exact binomial, of answers as independent",
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

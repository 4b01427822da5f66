"""Other tests of a pair are set beside what they share with it: inputs with inputs alone."""

from typing import Any

from evalsite.results.report.sections.words import NOTES
from tests.analysis.test_report import Report, report  # noqa: F401


def rate_apart(apart: list[list[int]]) -> list[dict[str, Any]]:
    """Ratings of two systems: of each rater how far A is above B on each input."""
    return [
        {"participant": f"p{rater}", "item": f"i{item}-{system}", "group": f"i{item}",
         "output_id": f"i{item}-{system}", "system": system, "value": value}
        for rater, some in enumerate(apart) for item, by in enumerate(some)
        for system, value in (("A", max(1, 1 + by)), ("B", max(1, 1 - by)))
    ]  # fmt: skip


def find_warnings(found: dict[str, Any]) -> list[str]:
    return [NOTES.write(one) for one in found["warnings"] if one["code"] == "models_disagree"]


def test_a_rank_test_that_parts_from_the_means_is_told_with_the_pair_and_both_p(
    report: Report,  # noqa: F811
) -> None:
    # R: wilcox.test has .0201 without the correction, all 4,096 flips of the means .7261
    found = report(rate_apart([[1] * 11 + [-6]] * 6))

    assert find_warnings(found) == [
        "A rank test (Wilcoxon) and a test of means (sign flips) over the same inputs disagree at "
        "the 5% level, before correction: A and B, p = .020 and p = .73. Look at the "
        "distributions."
    ]


def test_tests_over_inputs_may_agree_where_the_comparison_over_raters_does_not(
    report: Report,  # noqa: F811
) -> None:
    # raters differ in how much they like A, inputs do not, and there is no noise for a model
    found = report(rate_apart([[2] * 12, [1] * 12, [0] * 12, [0] * 12]))

    assert not find_warnings(found)
    (criterion,) = found["criteria"]
    checks = {check["name"]: check["details"]["p"] for check in criterion["pairs"][0]["checks"]}
    assert max(checks["wilcoxon"], checks["sign_flip"]) < 0.001
    assert criterion["pairs"][0]["effect"]["details"]["p"] > 0.05


def test_checks_on_the_same_side_as_the_comparison_need_no_words(report: Report) -> None:  # noqa: F811
    found = report(rate_apart([[2, 1] * 6, [1, 2] * 6, [2, 1] * 6, [1, 1] * 6]))

    assert not find_warnings(found)


def test_five_inputs_are_too_few_to_set_two_tests_against_each_other(
    report: Report,  # noqa: F811
) -> None:
    # the normal approximation has p = .025, and no five differences can have sign flips below .0625
    found = report(rate_apart([[1] * 5] * 6))

    assert not find_warnings(found)


def test_of_many_pairs_three_are_named_and_the_rest_counted(report: Report) -> None:  # noqa: F811
    rows = [
        {**row, "system": f"{row['system']}{copy}", "item": f"{row['item']}{copy}",
         "output_id": f"{row['item']}{copy}"}
        for copy in range(2) for row in rate_apart([[1] * 11 + [-6]] * 6)
    ]  # fmt: skip

    (told,) = find_warnings(report(rows))

    assert told.count("= .73") == 3
    assert told.endswith("; and 1 more pair. Look at the distributions.")

"""The design as it came about, in the words of what was asked."""

from evalsite.results.design.tables import design_facts, tabulate_design

from tests.support.reports import make_content, make_figure

DESIGN = [
    make_figure("ratings_per_output", 2.0, details={"least": 1, "most": 2}),
    make_figure("outputs_per_rater", 35.0, details={"least": 20, "most": 37}),
]


def make_found(*kinds: str) -> dict:
    criterion = make_content()["criteria"][0]
    criteria = [
        criterion | {"key": f"c-{number}", "kind": kind} for number, kind in enumerate(kinds)
    ]
    return make_content(criteria=criteria, design=DESIGN)


def test_outputs_that_are_rated_are_outputs() -> None:
    for found in (make_found("likert"), make_found("preference", "likert")):
        told = design_facts(found)
        assert told == (
            "An output has 1 to 2 ratings (median 2); a rater rated 20 to 37 outputs (median 35)."
        )
        assert tabulate_design(found).rows[0][0] == "Ratings per output, median"


def test_outputs_that_are_compared_are_told_as_comparisons() -> None:
    found = make_found("preference", "preference")

    told = design_facts(found)

    assert told == (
        "A comparison has 1 to 2 answers (median 2); "
        "a rater answered 20 to 37 comparisons (median 35)."
    )
    assert [row[0] for row in tabulate_design(found).rows] == [
        "Answers of a comparison, median",
        "Comparisons of a rater, median",
    ]


def test_one_of_something_is_told_as_one() -> None:
    design = [make_figure("ratings_per_output", 1.0, details={"least": 1, "most": 1})]

    told = design_facts(make_content(design=design))

    assert told == "An output has 1 rating."

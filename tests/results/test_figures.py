"""Figures show the numbers and names they are given, and nothing else."""

import pytest
from evalsite.results.report.drawings import draw_report
from evalsite.results.report.plots import (
    NARROW,
    WIDE,
    Counts,
    Drawing,
    Interval,
    draw_distribution,
    draw_intervals,
    draw_matrix,
    draw_preferences,
    write_drawing,
)
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tests.support.reports import make_content, make_figure

pytestmark = pytest.mark.usefixtures("drawings")

HOSTILE = "<b>$a_1$ & 100%"


def draw_all(name: str) -> list[Drawing]:
    return [
        draw_intervals([Interval(name, 1.5, 1, 2)], axis="Ratio", is_ratio=True),
        draw_distribution([Counts(name, (1, 2, 3))], answers=["1", "2", "3"]),
        draw_preferences([Counts(name, (3, 2, 1))]),
        draw_matrix([name, "other"], [[None, 0.5], [0.5, None]], axis="Kappa"),
    ]


@pytest.mark.slow
def test_same_numbers_give_the_same_bytes() -> None:
    for kind, some in (("svg", slice(None)), ("pdf", slice(1))):
        one, two = (
            [write_drawing(each, kind) for each in draw_all("alpha")[some]] for _ in range(2)
        )
        assert one == two


def test_names_stand_as_text_whatever_they_hold() -> None:
    for drawing in draw_all(HOSTILE):
        svg = write_drawing(drawing, "svg").decode()
        assert "&lt;b&gt;$a_1$ &amp; 100%" in svg
        assert "<b>" not in svg


def test_long_names_are_cut_in_the_figure_only() -> None:
    drawing = draw_preferences([Counts("a" * 200, (3, 2, 1))])
    svg = write_drawing(drawing, "svg").decode()
    # two lines of 28 letters
    assert f"{'a' * 27}…" in svg
    assert "a" * 29 not in svg


@pytest.mark.parametrize("counts", [(0, 0, 0), (5, 0, 0)])
def test_nothing_given_is_drawn_too(counts: tuple[int, ...]) -> None:
    drawing = draw_distribution([Counts("alpha", counts)], answers=["1", "2", "3"])
    assert write_drawing(drawing, "svg").startswith(b"<?xml")


def test_rows_without_an_interval_have_a_dot_only() -> None:
    drawing = draw_intervals([Interval("alpha", 3.0), Interval("beta", 4.0, 3.5, 4.5)], axis="Mean")
    (axes,) = drawing.axes
    assert len(axes.lines) == 5  # two dots, a whisker and its two ends


def test_axis_of_ratios_has_round_numbers_from_end_to_end() -> None:
    rows = [Interval("alpha", 120, 95, 260), Interval("beta", 60, 40, 80)]

    for width, most in ((WIDE, 9), (NARROW, 5)):
        drawing = draw_intervals(rows, axis="Geometric mean", is_ratio=True, width=width)
        (axes,) = drawing.axes
        ticks = [round(tick, 6) for tick in axes.get_xticks()]
        assert 3 <= len(ticks) <= most
        assert max(ticks) > 100 > min(ticks)
        assert axes.get_xscale() == "log"


def test_narrow_drawings_fit_a_phone_with_letters_of_the_same_size() -> None:
    name = "Krippendorff’s α, order on a page"

    drawing = draw_intervals([Interval(name, 0.5, 0.4, 0.6)], axis="Agreement", width=NARROW)
    svg = write_drawing(drawing, "svg").decode()

    assert float(drawing.get_figwidth()) * 96 <= 340  # pixels
    assert "order" in svg  # in lines, not cut
    assert "…" not in svg


def test_no_words_of_a_narrow_drawing_run_over_its_edge() -> None:
    axis = "Appropriateness, mean with 95% CI"

    drawing = draw_intervals([Interval("retrieval", 3, 2, 4)], axis=axis, width=NARROW)
    FigureCanvasAgg(drawing).draw()

    box = drawing.axes[0].xaxis.label.get_window_extent()
    assert drawing.bbox.x0 <= box.x0 < box.x1 <= drawing.bbox.x1


def test_agreement_is_drawn_from_chance_to_full_agreement_and_without_what_is_none() -> None:
    criterion = make_content()["criteria"][0]
    criterion["agreement"] += [
        make_figure("percent_agreement", 0.9, low=0.8, high=0.95),
        make_figure("ICC(1,k)", 0.95, low=0.9, high=0.98),
    ]

    drawings = dict(draw_report({"criteria": [criterion]}))
    (axes,) = drawings["informativeness-agreement"].axes
    low, high = axes.get_xlim()

    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "Krippendorff’s α, log scores"
    ]
    assert -0.05 < low <= 0
    assert 1 <= high < 1.05
    assert "informativeness-agreement-narrow" in drawings


def test_agreement_below_chance_is_drawn_on_the_whole_scale() -> None:
    criterion = make_content()["criteria"][0]
    criterion["agreement"] = [make_figure("alpha_log", 0.05, low=-0.2, high=0.3)]

    (axes,) = dict(draw_report({"criteria": [criterion]}))["informativeness-agreement"].axes

    assert axes.get_xlim()[0] <= -1


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_axes_of_shares_are_read_in_percent(width: float) -> None:
    rows = [Interval("alpha", 0.4, 0.2, 0.6)]
    drawings = [
        draw_intervals(rows, axis="Share", limits=(0, 1), is_share=True, width=width),
        draw_preferences([Counts("alpha : beta", (3, 2, 1))], width=width),
    ]

    for drawing in drawings:
        svg = write_drawing(drawing, "svg").decode()
        for percent in (0, 25, 50, 75, 100):
            assert f">{percent}%<" in svg
        assert ">0.5<" not in svg


def test_a_headline_that_tables_have_in_percent_has_an_axis_in_percent() -> None:
    criterion = make_content()["criteria"][0]
    share = make_figure("share", 0.4, low=0.2, high=0.6)
    criterion |= {"kind": "decision", "systems": [criterion["systems"][0] | {"headline": share}]}

    drawing = dict(draw_report({"criteria": [criterion]}))[f"{criterion['key']}-systems"]

    assert "75%" in write_drawing(drawing, "svg").decode()


def test_axis_names_an_interval_only_where_one_is_drawn() -> None:
    criterion = make_content()["criteria"][0]
    for system in criterion["systems"]:
        system["headline"] |= {"low": None, "high": None}

    drawings = dict(draw_report({"criteria": [criterion]}))

    (axes,) = drawings["informativeness-systems"].axes
    assert axes.get_xlabel() == "Informativeness, geometric mean, logarithmic axis"


@pytest.mark.parametrize(
    ("better", "place"), [("higher", (1, "better →")), ("lower", (0, "← better")), ("none", None)]
)
def test_the_better_end_of_an_axis_is_named(better, place) -> None:
    criterion = make_content()["criteria"][0] | {"better": better}

    (axes,) = dict(draw_report({"criteria": [criterion]}))["informativeness-systems"].axes

    named = [(text.get_position()[0], text.get_text()) for text in axes.texts]
    assert [each for each in named if "better" in each[1]] == ([place] if place else [])
    assert not axes.xaxis_inverted()


def test_numbers_without_points_are_drawn_as_a_histogram() -> None:
    criterion = make_content()["criteria"][0] | {"kind": "number", "family": "points"}
    systems = [system["system"] for system in criterion["systems"]]
    criterion["histogram"] = {"edges": [0.0, 1.0, 2.0], "counts": {systems[0]: [3, 1],
                                                                  systems[1]: [0, 4]}}  # fmt: skip
    for system in criterion["systems"]:
        system["headline"] |= {"name": "mean"}

    drawings = dict(draw_report({"criteria": [criterion]}))

    (axes,) = drawings["informativeness-distribution"].axes
    heights = [abs(bar.get_height()) for bar in axes.patches]
    # shares of each system, the largest as high as a row allows
    assert [height / max(heights) for height in heights] == pytest.approx([0.75, 0.25, 0, 1])


@pytest.mark.parametrize("known", [{"range": [0, 100]}, {}])
def test_axis_of_means_without_labels_is_that_of_their_range(known) -> None:
    criterion = make_content()["criteria"][0]
    for system in criterion["systems"]:
        system["headline"] |= {"name": "mean", "value": 60.0, "low": 55.0, "high": 65.0}
    criterion |= {"kind": "slider", "family": "points", **known}

    (axes,) = dict(draw_report({"criteria": [criterion]}))["informativeness-systems"].axes

    low, high = axes.get_xlim()
    assert (low < 0 and high > 100) if known else (low > 50 and high < 70)

"""Axes of charts have round ticks that hold every value."""

from evalsite.results.document.charts import make_axis, make_mark


def test_axis_has_round_ticks_and_holds_every_value() -> None:
    axis = make_axis([2.61, 4.43, None])

    assert [tick.label for tick in axis.ticks] == ["2.5", "3", "3.5", "4", "4.5"]
    assert axis.place(2.5) == "0.0%"
    assert axis.place(99) == "100.0%"


def test_ticks_of_coefficients_have_no_zero_before_the_point() -> None:
    axis = make_axis([0.0, 1.0, -0.2], is_bounded=True)

    assert [tick.label for tick in axis.ticks] == ["−.5", "0", ".5", "1"]


def test_axis_of_shares_ends_at_none_and_at_all() -> None:
    for values in ([-0.2, 1.3], [1.0, 1.0]):
        labels = [tick.label for tick in make_axis(values, is_share=True).ticks]
        assert (labels[0], labels[-1]) == ("0%", "100%")


def test_axis_of_equal_values_and_of_none_has_a_width() -> None:
    assert make_axis([3.0, 3.0]).place(3.0) == "50.0%"
    assert make_axis([]).place(0.5) == "50.0%"


def test_value_that_is_not_known_has_no_mark() -> None:
    assert make_mark(make_axis([0, 1]), None, None, None) is None

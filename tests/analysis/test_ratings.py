"""The ratings that statistics take: columns of one length, and only those that there are."""

import pandas as pd
import pytest

from evalsite.analysis.ratings import Ratings, code, make_table


@pytest.mark.parametrize("columns", [{"rater": ["p"]}, {"unit": [["a", "b"], ["c", "d"]]}])
def test_columns_of_other_lengths_or_shapes_are_refused(columns):
    with pytest.raises(ValueError, match="flat and of one length"):
        Ratings(value=[1, 2], **columns)


def test_a_column_that_a_statistic_needs_must_be_there():
    with pytest.raises(ValueError, match="no column unit"):
        code(Ratings(value=[1, 2]))


def test_a_table_gives_the_columns_of_its_rows():
    rows = pd.DataFrame(
        {"participant": ["p", "q"], "item": "i", "cluster": ["c", ""], "system": ["A", "B"],
         "value": [1, 2]}
    )  # fmt: skip
    table = make_table(rows)

    ratings = table.ratings(table.rows.value)
    unnamed = make_table(rows, raters_known=False).ratings([1, 2], "item")

    assert (ratings.value.tolist(), ratings.rater.tolist()) == ([1, 2], ["p", "q"])
    assert (ratings.system.tolist(), ratings.unit.tolist()) == (["A", "B"], ["i|A", "i|B"])
    assert (ratings.group.tolist(), ratings.block.tolist()) == (["i", "i"], ["c", "i"])
    assert (unnamed.rater, unnamed.unit.tolist()) == (None, ["i", "i"])

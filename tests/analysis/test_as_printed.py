"""Options for comparison with papers: which ratings they took, and the figures that they print."""

import json

import pytest

from evalsite.analysis.__main__ import main, make_parser, select_ratings
from evalsite.analysis.agreement import alpha, percent_agreement
from evalsite.analysis.ratings import Ratings, read_bare_table
from tests.support.published import published_file

LIKERT, MARCO = "rankme/stp2_likert_inf.csv", "marco_pairwise/ratings_long.csv"


def select(name, *options, mapping=None):
    file = published_file(name)
    chosen = make_parser().parse_args(["report", str(file), *options])
    return select_ratings(read_bare_table(file, mapping=mapping), chosen)


@pytest.mark.torture
@pytest.mark.slow
def test_rankme_gives_the_published_figures_of_ln_1_plus_x_by_one_option(capsys):
    file = published_file("rankme/stp1_rankME.csv")
    others = [f"--map={name}{n}=" for name in ("informativeness", "quality") for n in (1, 2, 3)]

    main(["report", str(file), "--protocol", "magnitude", "--file-order", "--json", *others])
    report = json.loads(capsys.readouterr().out)
    main(["report", str(file), "--protocol", "magnitude", "--other-papers", *others])
    text = capsys.readouterr().out

    (criterion,) = report["criteria"]
    found = {one["name"]: one["value"] for one in criterion["agreement"]}
    assert found["file-order ICC(1,k) of ln(1 + x)"] == pytest.approx(0.1101, abs=6e-5)
    assert found["file-order ICC(1,k) of ln"] == pytest.approx(0.1097, abs=6e-5)
    assert found["file-order ICC(1,k)"] == pytest.approx(0.1422, abs=6e-5)
    assert "As other papers print it\n  mean of raw scores, baseline: 99.4500" in text


def test_first_ratings_of_each_output_have_the_figures_of_r():
    table = select(LIKERT, "--first", "2", mapping={"mr_id": "item"})

    rows = table.rows
    found = {
        level: alpha(
            Ratings(unit=rows.output, rater=rows.participant, value=rows.value), level
        ).value
        for level in ("ordinal", "interval")
    }

    assert found == pytest.approx({"ordinal": 0.6265259, "interval": 0.6286016}, abs=1e-6)
    assert rows.groupby("system").value.mean().to_dict() == pytest.approx(
        {"baseline": 5.705, "sheffield_v2": 3.675, "slug2slug": 5.78}
    )
    assert table.notes[-1]["code"] == "only_first_ratings"
    assert table.notes[-1]["facts"] == {"first": 2, "left_out": 300}


def test_two_named_raters_agree_as_r_counts_them():
    table = select(MARCO, "--rater", "judge1", "--rater", "judge2")

    rows = table.of("readability").rows
    found = percent_agreement(
        Ratings(unit=rows["item"], rater=rows.participant, value=rows.outcome)
    )

    assert found.value == pytest.approx(0.6907008, abs=1e-6)
    assert set(rows.participant) == {"judge1", "judge2"}


def test_a_rater_who_rated_nothing_is_named_with_those_who_did():
    with pytest.raises(ValueError, match=r"No participant is called judge4\. There are: judge1, "):
        select(MARCO, "--rater", "judge4")


def test_a_later_rating_by_the_same_rater_does_not_take_the_place_of_one_left_out(tmp_path):
    file = tmp_path / "ratings.csv"
    rated = ["p1,i1,A,1", "p2,i1,A,2", "p2,i1,A,5", "p1,i2,A,3"]
    file.write_text("\n".join(["participant,item,system,value", *rated]), encoding="utf-8")
    options = make_parser().parse_args(["report", str(file), "--first", "1"])

    table = select_ratings(read_bare_table(file), options)

    assert table.results().rows.value.tolist() == [1, 3]

"""Ties by rater: who never says that two outputs are equal, or always does."""

import random

from evalsite.analysis.report import Settings, make_reports
from evalsite.analysis.report.raters import check_tie_use

PREFERENCE = {"key": "quality", "label": "Quality", "kind": "preference", "answers": []}


def answer(**shares):
    """Answers of each rater: of every 10 so many ties, 30 answers in all."""
    rows = [
        (rater, 0 if number % 10 < ties else 1)
        for rater, ties in shares.items()
        for number in range(30)
    ]
    return check_tie_use(rater=[row[0] for row in rows], outcome=[row[1] for row in rows])


def test_who_never_sees_a_tie_is_flagged_where_others_see_many():
    found = answer(never=0, one=4, two=5)

    figure, flag = found["never"]
    assert (figure.value, flag.code) == (0, "never_ties")
    assert flag.facts == {"answers": 30, "share_of_others": 0.45}
    assert found["one"][1] is None


def test_who_sees_nothing_but_ties_is_flagged():
    assert answer(always=10, one=4, two=5)["always"][1].code == "always_ties"


def test_no_tie_is_no_sign_where_ties_are_rare():
    # .95 ** 30 is above one in a thousand
    assert answer(never=0, one=1, two=0)["never"][1] is None


def test_one_rater_has_nobody_beside():
    assert answer(only=0)["only"][1] is None


def test_the_report_on_preferences_tells_ties_by_rater_zeta_and_chances(tmp_path):
    chance = random.Random(1)
    header = "participant,item,group,criterion,system_1,system_2,preferred"
    lines = [
        f"p{rater},i{item}-{one}{two},i{item},quality,{one},{two},"
        + chance.choice([one, one, two] if rater == 0 else [one, "tie", two])
        for rater in range(4)
        for item in range(12)
        for one, two in ("AB", "AC", "BC")
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join([header, *lines]) + "\n")

    report = make_reports({"ratings": path}, Settings(instrument=[PREFERENCE], seed=1))["kept"]

    (criterion,) = report["criteria"]
    zeta = next(one for one in criterion["tests"] if one["name"] == "kendall_zeta")
    assert zeta["value"] <= 1
    for system in criterion["systems"]:
        beats = next(one for one in system["others"] if one["name"] == "beats_average")
        assert (beats["value"] > 0.5) == (system["headline"]["value"] > 0)
        assert beats["low"] < beats["value"] < beats["high"]
    flags = {row["participant"]: [one["code"] for one in row["flags"]]
             for row in report["raters"]["rows"]}  # fmt: skip
    assert "never_ties" in flags["p0"]
    assert "never_ties" not in flags["p1"]

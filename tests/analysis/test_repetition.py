"""A study beside its repetition: from the two files to what is said of both."""

import csv
import json
from copy import deepcopy

import pytest

from evalsite.analysis import __main__ as command
from evalsite.analysis.__main__ import main
from evalsite.analysis.ratings import read_table
from evalsite.analysis.report import Material, Settings, make_report
from evalsite.analysis.report.replication import Side, make_repetition
from evalsite.results.document.figures import explain_none
from evalsite.results.replication.tables import write_note
from tests.support.published import published_file

HEAD = "participant,item,system,criterion,value,submitted_at"
PAIRS = "participant,item,criterion,preferred,outcome,system_1,system_2"


@pytest.fixture(scope="module", autouse=True)
def _each_report_once():
    """Most comparisons have a study in common with others: its own report takes longest."""
    known = {}
    report = command._report

    def report_once(table, others, instrument, options):
        ours = {"ratings", "repeat", "json"}
        asked = {key: one for key, one in vars(options).items() if key not in ours}
        key = repr((table.rows.to_csv(), others, instrument, sorted(asked.items())))
        if key not in known:
            known[key] = report(table, others, instrument, options)
        return deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_report", report_once)
        yield


def write_file(path, rows, head=HEAD):
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def rate(*, shift=0, systems="ABC", items=range(12), raters=6, day=1, turn=False):
    """Ratings from 1 to 7 on which the later systems are better, or worse where turned."""
    for rater in range(raters):
        for item in items:
            for place, system in enumerate(systems):
                step = -place if turn else place
                value = 3 + shift + 2 * step + (rater + 2 * item + place) % 3 - 1
                yield f"p{rater},i{item},{system},clarity,{min(max(value, 1), 7)},2026-01-{day:02}"


def compare(tmp_path, capsys, first, second, *options, head=HEAD):
    one = write_file(tmp_path / "first.csv", first, head)
    two = write_file(tmp_path / "second.csv", second, head)
    assert main(["compare", str(one), str(two), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def codes(found):
    return {one["code"] for one in found["warnings"]}


@pytest.mark.torture
def test_every_figure_has_a_value_or_a_reason_and_its_method(tmp_path, capsys):
    found = compare(tmp_path, capsys, rate(), rate(day=2, shift=1), "--scale", "1-7")

    (criterion,) = found["criteria"]
    figures = [criterion["upheld"], *criterion["correlations"], *criterion["agreement"]]
    figures += [
        system[key]
        for system in criterion["systems"]
        for key in ("first", "second", "moved", "cv_star")
    ]
    assert len(figures) == 1 + 2 + 4 + 3 * 4
    for figure in figures:
        assert (figure["value"] is None) == (figure["reason"] is not None)
        assert figure["method"]
        assert figure["n"]
        assert figure["low"] is not None or explain_none(figure["details"]["interval"])


def test_scale_is_shifted_to_nought_before_cv_star(tmp_path, capsys):
    found = compare(tmp_path, capsys, rate(), rate(day=2, shift=1), "--scale", "1-7")

    system = found["criteria"][0]["systems"][0]
    one, two = system["first"]["value"] - 1, system["second"]["value"] - 1
    assert system["cv_star"]["details"]["mean"] == pytest.approx((one + two) / 2)
    assert any("shifted by −1" in note for note in map(write_note, found["criteria"][0]["notes"]))


@pytest.mark.torture
@pytest.mark.slow
def test_what_was_found_again_is_told_in_words(tmp_path, capsys):
    again = compare(tmp_path, capsys, rate(), rate(day=2), "--scale", "1-7")
    turned = compare(tmp_path, capsys, rate(), rate(day=2, shift=4, turn=True), "--scale", "1-7")

    assert again["criteria"][0]["upheld"]["value"] == 1
    assert write_note(again["criteria"][0]["finding"]) == (
        "The first study found 3 differences between systems that the repeat compares too; the "
        "repeat found 3 of them again, in the same direction."
    )
    assert {pair["outcome"] for pair in turned["criteria"][0]["pairs"]} == {"reversed"}
    assert "3 were found the other way round." in write_note(turned["criteria"][0]["finding"])


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (False, "the repeat found it again, in the"),
        (True, "the repeat did not find it again, in the"),
    ],
)
def test_one_finding_is_told_as_one(tmp_path, capsys, turn, words):
    first, second = rate(systems="AB"), rate(systems="AB", day=2, shift=2 * turn, turn=turn)

    found = compare(tmp_path, capsys, first, second, "--scale", "1-7")

    assert words in write_note(found["criteria"][0]["finding"])


def test_effect_of_the_repeat_is_seen_from_the_same_system(tmp_path, capsys):
    found = compare(tmp_path, capsys, rate(), rate(day=2, shift=4, turn=True), "--scale", "1-7")

    for pair in found["criteria"][0]["pairs"]:
        assert pair["first"]["value"] > 0 > pair["second"]["value"]
        assert pair["second"]["low"] <= pair["second"]["value"] <= pair["second"]["high"]


def test_too_small_a_repeat_is_never_told_as_no_difference(tmp_path, capsys):
    few = [row for row in rate(day=2, items=range(2)) if row.startswith(("p0", "p1"))]

    found = compare(tmp_path, capsys, rate(), few, "--scale", "1-7")

    (criterion,) = found["criteria"]
    assert criterion["upheld"]["details"]["not_again"] > 0
    assert "doesn’t mean that there is none" in write_note(criterion["finding"])
    assert "Repeat: With " in " ".join(write_note(one) for one in found["warnings"])


def test_other_items_leave_scores_and_no_agreement(tmp_path, capsys):
    found = compare(tmp_path, capsys, rate(), rate(day=2, items=range(50, 62)), "--scale", "1-7")

    (criterion,) = found["criteria"]
    assert found["common"]["outputs"] == 0
    assert {one["reason"] for one in criterion["agreement"]} == {"nothing_in_common"}
    assert criterion["systems"][0]["cv_star"]["value"] is not None
    assert "no_shared_outputs" in codes(found)


@pytest.mark.torture
@pytest.mark.slow
def test_some_common_items_are_counted(tmp_path, capsys):
    found = compare(tmp_path, capsys, rate(), rate(day=2, items=range(4, 20)), "--scale", "1-7")

    assert found["common"]["outputs"] == 8 * 3
    assert found["criteria"][0]["agreement"][0]["n"]["units"] == 8 * 3
    assert "24 outputs are in both studies, of 36 in the first and 48 in the repeat" in " ".join(
        write_note(one) for one in found["warnings"]
    )


def test_systems_of_one_study_only_are_named(tmp_path, capsys):
    found = compare(tmp_path, capsys, rate(), rate(day=2, systems="AB"), "--scale", "1-7")

    assert found["common"]["only_first"] == ["C"]
    assert found["criteria"][0]["correlations"][0]["reason"] == "too_few"
    assert found["criteria"][0]["upheld"]["details"]["not_compared"] == 2
    assert "First study only: C." in [write_note(one) for one in found["warnings"]]


@pytest.mark.slow
def test_a_copy_is_told_from_a_repetition(tmp_path, capsys):
    copied = compare(tmp_path, capsys, rate(), rate(), "--scale", "1-7")
    repeated = compare(tmp_path, capsys, rate(), rate(day=2), "--scale", "1-7")

    assert copied["common"]["same_answers"] == 6 * 12 * 3
    assert "same_answers" in codes(copied) - codes(repeated)


def test_other_scales_refuse_scores_and_agreement_but_not_findings(tmp_path, capsys):
    head = f"{HEAD},scale,scale_min,scale_max"
    one = [f"{row},likert,1,7" for row in rate()]
    two = [f"{row},likert,0,7" for row in rate(day=2)]

    found = compare(tmp_path, capsys, one, two, head=head)

    (criterion,) = found["criteria"]
    refused = [*criterion["agreement"], *(one["cv_star"] for one in criterion["systems"])]
    assert {figure["reason"] for figure in refused} == {"other_scale"}
    assert criterion["correlations"][0]["value"] is not None
    assert criterion["upheld"]["value"] == 1
    assert "other_scale" in codes(found)


@pytest.mark.torture
@pytest.mark.slow
def test_criteria_of_one_study_only_are_told(tmp_path, capsys):
    other = [row.replace("clarity", "fluency") for row in rate(day=2, items=range(4))]

    found = compare(tmp_path, capsys, [*rate(), *other], rate(day=3), "--scale", "1-7")

    assert [one["key"] for one in found["criteria"]] == ["clarity"]
    assert "Rated in one of the studies only: fluency." in [
        write_note(one) for one in found["warnings"]
    ]


@pytest.mark.slow
def test_magnitudes_of_other_standards_are_put_in_relation(tmp_path, capsys):
    head = f"{HEAD},standard"
    one = [f"{row},100" for row in rate(items=range(5))]
    # twice the number for everything, the standard too
    two = [
        ",".join([*row.split(",")[:4], str(2 * int(row.split(",")[4])), row.split(",")[5], "200"])
        for row in rate(day=2, items=range(5))
    ]

    found = compare(tmp_path, capsys, one, two, "--protocol", "magnitude", head=head)

    (criterion,) = found["criteria"]
    assert criterion["standard"] == 100
    assert [one["cv_star"]["value"] for one in criterion["systems"]] == pytest.approx([0, 0, 0])
    assert [one["moved"]["value"] for one in criterion["systems"]] == pytest.approx([1, 1, 1])
    assert "other_standard" in codes(found)


def prefer(wanted, *, raters=6, items=10, names=("A", "B"), turned=False):
    one, two = reversed(names) if turned else names
    outcome = "1" if wanted == one else "2"
    for rater in range(raters):
        for item in range(items):
            said = ("", "tie") if (rater + item) % 5 == 0 else (wanted, outcome)
            yield f"p{rater},i{item},clarity,{','.join(said)},{one},{two}"


def test_preferences_are_compared_by_shares_and_outcomes(tmp_path, capsys):
    found = compare(tmp_path, capsys, prefer("A"), prefer("A", turned=True), head=PAIRS)

    (criterion,) = found["criteria"]
    scores = {one["system"]: one["first"]["value"] for one in criterion["systems"]}
    assert scores == {"A": pytest.approx(0.9), "B": pytest.approx(0.1)}
    # the order in which a file names the systems says nothing
    assert [one["cv_star"]["value"] for one in criterion["systems"]] == pytest.approx([0, 0])
    assert criterion["agreement"][-1]["value"] == pytest.approx(1)
    assert criterion["upheld"]["value"] == 1
    assert criterion["agreement"][0]["n"]["units"] == 10


@pytest.mark.torture
@pytest.mark.slow
def test_score_correlations_of_preferences_count_answers(tmp_path, capsys):
    names = [("A", "B"), ("A", "C"), ("B", "C")]
    both = [[*prefer(one, names=(one, two), items=4)] for one, two in names]
    rows = [row.replace(",i", f",{place}-i") for place, some in enumerate(both) for row in some]

    found = compare(tmp_path, capsys, rows, rows[:-6], head=PAIRS)

    # 3 pairs, 6 raters, 4 items: 72 answers in the one, 66 in the other
    assert found["criteria"][0]["correlations"][0]["n"] == {"systems": 3, "answers": 72 + 66}


def side_of(path, rows):
    table = read_table(write_file(path, rows, PAIRS)).results()
    described = {"key": "clarity", "label": "Clarity", "kind": "preference", "answers": [],
                 "reserved": []}  # fmt: skip
    report = make_report(
        Material(table=table, everything=table, files={}), Settings(instrument=[described], seed=1)
    )
    return Side(table=table, report=report), [described]


def test_compared_pairs_with_a_changed_output_are_counted_and_left_out(tmp_path):
    first, described = side_of(tmp_path / "one.csv", prefer("A"))
    second, _ = side_of(tmp_path / "two.csv", prefer("A", turned=True))

    found = make_repetition(
        (first, second),
        instrument=described,
        seed=1,
        changed={("i0", "A"), ("i1", "B"), ("i1", "A")},
    )

    # of 10 items two hold an output with another text
    assert (found["common"]["outputs"], found["common"]["changed"]) == (8, 2)
    assert found["criteria"][0]["agreement"][0]["n"]["units"] == 8
    told = {one["code"]: write_note(one) for one in found["warnings"]}
    assert told["other_texts"].startswith(
        "2 compared pairs have another text or input under the same name"
    )
    # what is in both under other texts is no further item
    assert "other_items" not in told


@pytest.mark.torture
@pytest.mark.slow
def test_a_scale_that_one_file_does_not_tell_is_no_other_scale(tmp_path, capsys):
    head = f"{HEAD},scale,scale_min,scale_max"
    one = [f"{row},likert,1,7" for row in rate()]
    two = [f"{row},likert,," for row in rate(day=2)]

    found = compare(tmp_path, capsys, one, two, head=head)

    assert "other_scale" not in codes(found)
    assert found["criteria"][0]["systems"][0]["cv_star"]["value"] == pytest.approx(0)


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--raters-unknown"]])
def test_raters_are_said_to_be_drawn_only_where_they_are_known(tmp_path, capsys, options):
    found = compare(tmp_path, capsys, rate(), rate(day=2), "--scale", "1-7", *options)

    notes = " ".join(map(write_note, found["criteria"][0]["notes"]))
    assert ("raters of both from one pool" in notes) == (not options)
    assert "inputs that both studies have are drawn together" in notes


@pytest.mark.slow
def test_the_comparison_is_plain_text_too(tmp_path, capsys):
    one = write_file(tmp_path / "one.csv", rate())
    two = write_file(tmp_path / "two.csv", rate(day=2))

    assert main(["compare", str(one), str(two), "--scale", "1-7"]) == 0

    text = capsys.readouterr().out
    assert "| Counted | First study | Repeat | In common |" in text
    assert "| Ratings | 216 | 216 |" in text
    assert "| Share of findings upheld | 100%" in text


def test_a_repeat_that_cannot_be_read_is_told(tmp_path, capsys):
    one = write_file(tmp_path / "one.csv", rate())

    assert main(["compare", str(one), str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err


# --- a real repetition ----------------------------------------------------------------


def read_setup_1(path):
    """RankME's first setup: the outputs of the second, rated by other people a year before."""
    with published_file("rankme/stp1_rankME.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            f"{row['_worker_id']},{row['mr_id']},{row[f'team{place}']},informativeness,"
            f"{row[f'informativeness{place}']},{row['_created_at']}"
            for row in csv.DictReader(file)
            for place in (1, 2, 3)
        ]
    return write_file(path, rows)


@pytest.mark.torture
@pytest.mark.slow
def test_the_two_setups_of_rankme_are_compared(tmp_path, capsys):
    second = published_file("rankme/ratings_long.csv")
    first = read_setup_1(tmp_path / "setup_1.csv")

    arguments = ["--protocol", "magnitude", "--standard", "100", "--json"]
    assert main(["compare", str(first), str(second), *arguments]) == 0

    found = json.loads(capsys.readouterr().out)
    (criterion,) = found["criteria"]
    assert found["common"]["same_answers"] == 0
    assert {one["system"] for one in criterion["systems"]} == {
        "baseline", "sheffield_v2", "slug2slug"
    }  # fmt: skip
    assert criterion["upheld"]["n"]["findings"] > 0

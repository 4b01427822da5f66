"""`python -m evalsite.analysis` on bare files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalsite.analysis.__main__ import main
from evalsite.results.report.sections.words import NOTES
from tests.support.published import published_file

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def file(tmp_path):
    lines = ["participant,item,system,criterion,value"]
    lines += [f"p{p},i{n},{system},clarity,{1 + (n + p * (system == 'A')) % 5}"
              for p in range(3) for n in range(6) for system in "AB"]  # fmt: skip
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_report_of_a_bare_file_is_json_without_nan(file, capsys):
    assert main(["report", str(file), "--json", "--scale", "1-5"]) == 0

    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (criterion,) = report["criteria"]
    assert [one["value"] for one in criterion["answers"]] == [1, 2, 3, 4, 5]
    assert {one["system"] for one in criterion["systems"]} == {"A", "B"}


def test_the_report_of_a_bare_file_is_plain_text(file, capsys):
    assert main(["report", str(file), "--seed", "7"]) == 0

    text = capsys.readouterr().out
    assert "36 ratings, 3 participants, 6 items" in text
    assert "### clarity\n" in text
    assert "seed 7." in text


@pytest.mark.torture
def test_plain_text_tells_items_from_inputs(tmp_path, capsys):
    lines = ["participant,item,group,system,criterion,value"]
    lines += [f"p{p},{system}{n},i{n},{system},clarity,{1 + (n + p * (system == 'A')) % 5}"
              for p in range(3) for n in range(6) for system in "AB"]  # fmt: skip
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines), encoding="utf-8")

    assert main(["report", str(path)]) == 0

    text = capsys.readouterr().out
    assert "36 ratings, 3 participants, 12 items of 6 inputs." in text


def test_results_are_written_to_the_file_that_output_names(file, tmp_path, capsys):
    path = tmp_path / "report.json"

    assert main(["report", str(file), "--json", "-o", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["report", str(file), "--json"]) == 0

    assert path.read_text(encoding="utf-8") == capsys.readouterr().out


def test_an_output_that_cannot_be_written_is_named(file, tmp_path, capsys):
    path = tmp_path / "none" / "report.json"

    assert main(["report", str(file), "-o", str(path)]) == 2
    assert f"{path}: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["ratings.csv"], ["compare", "ratings.csv"]])
def test_a_command_and_its_files_are_required(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)

    assert stopped.value.code == 2
    assert "usage: python -m evalsite.analysis" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "compare"])
def test_both_commands_read_and_write_by_the_same_options(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])

    printed = capsys.readouterr().out
    assert stopped.value.code == 0
    shared = (
        "map protocol items scale standard baseline raters-unknown with-excluded seed json output"
    )
    for option in shared.split():
        assert f"--{option} " in printed or f"--{option}\n" in printed


def test_a_file_that_cannot_be_read_is_told_and_fails(tmp_path, file, capsys):
    bad = tmp_path / "bad.csv"
    bad.write_text("who,what\n1,2\n", encoding="utf-8")

    assert main(["report", str(bad)]) == 2
    assert "“participant” (who rated) is missing" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.csv")]) == 2
    assert main(["report", str(file), "--scale", "1-3"]) == 2
    assert "outside the scale from 1 to 3" in capsys.readouterr().err


@pytest.mark.torture
def test_a_baseline_is_asked_for_by_its_name(file, capsys):
    text = file.read_text(encoding="utf-8")
    more = [line.replace(",A,", ",C,") for line in text.splitlines() if ",A," in line]
    file.write_text("\n".join([text, *more]), encoding="utf-8")

    assert main(["report", str(file), "--json", "--baseline", "B"]) == 0
    (criterion,) = json.loads(capsys.readouterr().out)["criteria"]
    assert main(["report", str(file), "--baseline", "b"]) == 2

    assert [(pair["system_1"], pair["system_2"]) for pair in criterion["pairs"]] == [
        ("A", "B"), ("C", "B"),
    ]  # fmt: skip
    assert "No system is called b. There are: A, B, C." in capsys.readouterr().err


@pytest.mark.torture
def test_the_command_needs_no_site(file):
    code = (
        "import sys; from evalsite.analysis.__main__ import main; "
        f"main(['report', {str(file)!r}]); assert 'django.db' not in sys.modules"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.torture
def test_rankme_gives_the_published_figures_as_it_is(capsys):
    path = published_file("rankme/ratings_long.csv")

    main(["report", str(path), "--protocol", "magnitude", "--file-order", "--json"])

    report = json.loads(capsys.readouterr().out)
    (criterion,) = report["criteria"]
    agreement = {one["name"]: one["value"] for one in criterion["agreement"]}
    assert agreement["file-order ICC(C,k)"] == pytest.approx(0.8221, abs=6e-5)
    assert agreement["file-order ICC(1,k)"] == pytest.approx(0.8029, abs=6e-5)
    means = {one["system"]: one["headline"]["value"] for one in criterion["systems"]}
    assert means["sheffield_v2"] == pytest.approx(61.7924, abs=6e-5)


@pytest.mark.torture
def test_marco_gives_its_counts_as_it_is(capsys):
    path = published_file("marco_pairwise/ratings_long.csv")

    main(["report", str(path), "--protocol", "pairwise", "--raters-unknown", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert [one["key"] for one in report["criteria"]] == ["completion", "readability"]
    counts = {(pair["system_1"], pair["system_2"]): pair["counts"]
              for pair in report["criteria"][0]["pairs"]}  # fmt: skip
    assert counts["MarCo", "HDSA"] == {"wins": 467, "ties": 1520, "losses": 239}
    assert counts["MarCo", "human"] == {"wins": 662, "ties": 1044, "losses": 520}


def write(tmp_path, rows):
    path = tmp_path / "given.csv"
    lines = ["participant,item,system,criterion,value", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def rate_alternately():
    """Three items: A has 90 to 92 by one rater and 20 to 22 by the other, B the reverse."""
    scores = {"A": ((90, 91, 92), (20, 21, 22)), "B": ((10, 12, 14), (80, 82, 84))}
    return [(f"p{rater}", item, system, "flow", value) for system, both in scores.items()
            for rater, values in enumerate(both) for item, value in enumerate(values)]  # fmt: skip


@pytest.mark.torture
def test_a_scale_may_be_as_wide_as_its_option_says(tmp_path, capsys):
    path = write(tmp_path, rate_alternately())

    assert main(["report", path, "--scale", "1-100", "--json"]) == 0
    (criterion,) = json.loads(capsys.readouterr().out)["criteria"]
    assert [one["headline"]["value"] for one in criterion["systems"]] == [56, 47]

    assert main(["report", path, "--scale", "1-50"]) == 2
    assert "outside the scale from 1 to 50" in capsys.readouterr().err
    assert main(["report", path, "--scale", "1-1000", "--json"]) == 0


def test_raters_who_differ_too_much_for_a_ratio_get_no_number_without_sense(tmp_path, capsys):
    path = write(tmp_path, rate_alternately())

    assert main(["report", path, "--protocol", "magnitude", "--json"]) == 0

    (criterion,) = json.loads(capsys.readouterr().out)["criteria"]
    (pair,) = criterion["pairs"]
    assert criterion["detectable"]["reason"] == "too_few"
    assert pair["finding"]["code"] == "not_enough"


def test_a_criterion_without_variation_has_no_lowest_two_points(tmp_path, capsys):
    rows = [(f"p{rater}", item, system, "flow", 4)
            for rater in range(3) for item in range(4) for system in "AB"]  # fmt: skip

    assert main(["report", write(tmp_path, rows), "--json"]) == 0
    (criterion,) = json.loads(capsys.readouterr().out)["criteria"]
    assert {one["name"] for one in criterion["systems"][0]["others"]} == {"median"}


def test_a_magnitude_of_nought_is_told_in_a_sentence(tmp_path, capsys):
    rows = [("p1", 1, "A", "flow", 0), ("p2", 1, "B", "flow", 40)]

    assert main(["report", write(tmp_path, rows), "--protocol", "magnitude"]) == 2
    assert "must be above 0" in capsys.readouterr().err


def test_rows_that_are_no_ratings_of_the_report_are_counted_by_their_reason(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    rows = ["r1,i1,A,3,,", "r1,i1,A,5,,", "r2,i1,A,4,,", "r1,i1,B,2,,", "r2,i1,B,,,",
            "r3,i1,B,2,,yes", "r4,i1,A,2,practice,", "r5,i1,A,2,,"]  # fmt: skip
    head = "participant,item,system,value,kind,excluded"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")

    assert main(["report", str(path)]) == 0
    text = capsys.readouterr().out
    assert main(["report", str(path), "--json"]) == 0
    left_out = json.loads(capsys.readouterr().out)["data"]["left_out"]

    assert (
        "Rows left out: 1 without a value; 1 of an output that the same participant has rated "
        "before (the first counts); 1 excluded; 1 of practice, checks or repeats."
    ) in text
    assert {key: left_out[key] for key in ("no_value", "rated_twice", "not_main")} == {
        "no_value": 1, "rated_twice": 1, "not_main": 1,
    }  # fmt: skip


def test_an_item_in_two_groups_is_told_by_name_in_a_file_and_between_two(tmp_path, capsys):
    head = "participant,item,group,system,value\n"
    rows = "r1,i1,{0},A,3\nr2,i1,{0},B,4\nr1,i2,h,A,5\nr2,i2,h,B,2\n"
    one, other, mixed = (tmp_path / f"{name}.csv" for name in ("one", "other", "mixed"))
    one.write_text(head + rows.format("g"), encoding="utf-8")
    other.write_text(head + rows.format("f"), encoding="utf-8")
    mixed.write_text(head + "r3,i1,f,A,3\n" + rows.format("g"), encoding="utf-8")

    assert main(["compare", str(one), str(one)]) == 0
    capsys.readouterr()
    for arguments in (["compare", str(one), str(other)], ["report", str(mixed)]):
        assert main(arguments) == 2
        assert "The item i1 is in two groups, " in capsys.readouterr().err


def test_nothing_is_said_to_be_left_out_where_nothing_is(file, capsys):
    assert main(["report", str(file)]) == 0

    assert "left out" not in capsys.readouterr().out.partition("### Findings")[0]


@pytest.mark.torture
def test_text_tells_ranks_other_tests_and_how_intervals_were_made(tmp_path, capsys):
    # everyone gives A three points more than B, C between; levels differ by rater and input
    rows = [f"p{p},i{n},{system},{1 + (p * n + n) % 3 + more + (p + n) % 2 * (system == 'C')}"
            for p in range(6) for n in range(12) for system, more in (("A", 3), ("B", 0), ("C", 1))
            ]  # fmt: skip
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["participant,item,system,value", *rows]), encoding="utf-8")

    assert main(["report", str(path), "--scale", "1-7"]) == 0
    text = capsys.readouterr().out
    assert main(["report", str(path), "--scale", "1-7", "--json"]) == 0
    (criterion,) = json.loads(capsys.readouterr().out)["criteria"]

    (friedman,) = criterion["tests"]
    assert friedman["details"]["p"] < 0.001
    assert "| Friedman’s χ² |" in text
    # of all 4,096 flips of the inputs two are as far from 0
    assert "| \\< .001 | \\< .001 |" in text
    assert "| bootstrap over items and raters, percentile |" in text


def test_text_of_a_single_rating_counts_by_ones_and_says_why_in_words(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    path.write_text("participant,item,system,value\np1,i1,A,3\n", encoding="utf-8")

    assert main(["report", str(path), "--scale", "1-5"]) == 0
    text = capsys.readouterr().out

    assert text.startswith("# Too few answers to tell: 1 of 1\n")
    assert "1 rating, 1 participant, 1 item." in text
    assert "no item has two ratings" in text
    assert "no_overlap" not in text


def test_text_of_preferences_tells_expected_counts_and_how_answers_are_weighed(tmp_path, capsys):
    # whoever answered on all inputs prefers what the others, who answered on a few, do not
    pairs = (("A", "B"), ("B", "C"), ("A", "C"))
    rows = [f"p{p},i{n}-{k},i{n},{one},{two},{one if ((n + p * k) % 4 > 0) == (p > 0) else two}"
            for p in range(6) for n in range(12) for k, (one, two) in enumerate(pairs)
            if p == 0 or (n + p) % 3 == 0]  # fmt: skip
    path = tmp_path / "ratings.csv"
    head = "participant,item,group,system_1,system_2,preferred"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")

    assert main(["report", str(path)]) == 0
    text = capsys.readouterr().out
    assert main(["report", str(path), "--json"]) == 0
    (criterion,) = json.loads(capsys.readouterr().out)["criteria"]

    fit = criterion["fit"]["pairs"][0]
    assert f"{fit['observed']['wins']:.0f} ({fit['expected']['wins']:.0f})" in text
    assert criterion["weighing"]
    assert NOTES.write(criterion["weighing"]) in text

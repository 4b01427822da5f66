"""`python -m evalsite.analysis` on files as they are published: other names, wide rows."""

import json
from pathlib import Path

import pytest

from evalsite.analysis.__main__ import main
from evalsite.analysis.ratings import read_bare_table, read_table

RATINGS = Path(__file__).resolve().parents[2] / "fixtures/ratings"


def report(capsys, *options):
    assert main(["report", *map(str, options), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_published_file_of_rankme_has_the_published_agreement(capsys):
    file = RATINGS / "stp2_rankME_inf.csv"

    found = report(capsys, file, "--protocol", "magnitude", "--standard", 100, "--file-order")

    assert found["data"]["ratings"] == 900
    assert found["data"]["participants"] == 10
    (criterion,) = found["criteria"]
    figures = {
        (figure["name"], *figure.get("group", {}).values()): figure["value"]
        for figure in criterion["agreement"]
    }
    assert figures["ICC(C,k)", "file"] == pytest.approx(0.8221, abs=5e-5)
    means = {system["system"]: system["headline"]["value"] for system in criterion["systems"]}
    assert means == pytest.approx(
        {"baseline": 95.0851, "sheffield_v2": 61.7924, "slug2slug": 96.8636}, abs=5e-5
    )


def test_a_row_may_hold_several_criteria_of_several_outputs():
    table = read_bare_table(RATINGS / "stp1_rankME.csv")

    assert table.criteria == ["informativeness", "naturalness", "quality"]
    assert len(table) == 30 * 9
    first = table.rows.iloc[0]
    assert (first.participant, first["item"], first.system) == ("w01", "1", "slug2slug")
    assert list(table.rows.value[:3]) == [100, 75, 100]
    assert list(table.rows["row"][:10]) == [1] * 9 + [2]


def test_what_columns_hold_can_be_said(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    lines = ["who,text,clear,kind_of,s"]
    lines += [f"p{p},i{n},{1 + (n + p * (s == 'A')) % 5},x,{s}"
              for p in range(3) for n in range(6) for s in "AB"]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")

    said = ("who=participant", "text=item", "clear=value:clarity", "s=system")
    found = report(capsys, path, *(part for pair in said for part in ("--map", pair)))

    assert [criterion["key"] for criterion in found["criteria"]] == ["clarity"]
    assert found["data"]["ratings"] == 36
    (note,) = [note for note in found["data"]["notes"] if note["code"] == "columns_read"]
    assert ["who", "participant"] in note["facts"]["columns"]


def test_winners_by_criterion_are_preferences(capsys):
    said = [
        "--map",
        "completion=preferred:completion",
        "--map",
        "readability=preferred:readability",
    ]

    found = report(
        capsys, RATINGS / "marco_ratings.csv", *said, "--raters-unknown",
        "--items", RATINGS / "marco_batch.csv",
    )  # fmt: skip

    assert {one["key"]: one["kind"] for one in found["criteria"]} == {
        "completion": "preference", "readability": "preference",
    }  # fmt: skip
    assert found["data"]["ratings"] == 108


def test_a_long_file_with_our_names_is_read_as_before(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(
        "participant,item,system,criterion,value,model,cluster\np1,i1,A,clarity,3,x,c1\n",
        encoding="utf-8",
    )

    assert read_bare_table(path).rows.equals(read_table(path).rows)
    assert read_bare_table(path).notes == ()


def test_a_number_that_is_none_is_told_with_the_row_of_the_file(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    rows = ["judge,item,inf1,team1,inf2,team2", *(f"p{n},i1,3,A,4,B" for n in range(60)),
            "p60,i1,3,A,lots,B"]  # fmt: skip
    path.write_text("\n".join(rows), encoding="utf-8")

    assert main(["report", str(path)]) == 2

    assert "Row 61: 'lots'" in capsys.readouterr().err


def test_a_file_without_ratings_says_how_to_name_them(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    path.write_text("judge,item,speed\np1,i1,3\n", encoding="utf-8")

    assert main(["report", str(path)]) == 2

    assert "“value:” and its criterion" in capsys.readouterr().err


def test_turns_of_a_conversation_are_one_value_by_their_mean(tmp_path, capsys):
    rows = [
        (f"p{rater}", f"i{item}", system, 3 + better + (rater + item) % 2)
        for rater in range(4)
        for item in range(6)
        for system, better in (("A", 1 + item % 2), ("B", 0))
    ]
    whole, turns = tmp_path / "whole.csv", tmp_path / "turns.csv"
    head = "participant,item,system,criterion,value"
    whole.write_text("\n".join([head, *(f"{p},{i},{s},flow,{v}" for p, i, s, v in rows)]))
    lines = [f"{p},{i},{s},flow,{v + turn - 2},{turn}" for p, i, s, v in rows for turn in (1, 2, 3)]
    turns.write_text("\n".join([f"{head},turn", *lines]))

    main(["report", str(whole), "--json", "--scale", "1-7"])
    of_whole = json.loads(capsys.readouterr().out)["criteria"][0]
    main(["report", str(turns), "--json", "--scale", "1-7"])
    criterion = json.loads(capsys.readouterr().out)["criteria"][0]

    assert criterion["family"] == "turns"
    assert [one["n"] for one in criterion["systems"]] == [24, 24]
    (pair,), (same,) = criterion["pairs"], of_whole["pairs"]
    assert pair["effect"]["value"] == pytest.approx(same["effect"]["value"])
    assert pair["effect"]["details"]["p"] == pytest.approx(same["effect"]["details"]["p"])


HEADER = "participant,item,system,criterion,value\n"


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (HEADER.encode("utf-16"), "UTF-8"),
        (HEADER.replace("item", "\u00e4").encode("latin-1"), "UTF-8"),
        (bytes(2_000_000), "UTF-8"),
        (HEADER.encode() + b"p,i,A,\xff,1\n", "UTF-8"),
        (b"PK\3\4\xff", "data/ratings.csv"),
        (HEADER.encode() + b"p,i,A,fit,1\np,i,A,fit,1,2\n", "line 3"),
        (HEADER.encode() + b'p,i,A,fit,"1\n', "quotation mark"),
    ],
)
def test_a_file_that_is_no_csv_is_named_with_what_to_do(tmp_path, capsys, content, advice):
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)

    assert main(["report", str(path)]) == 2

    written = capsys.readouterr().err
    assert written.startswith(f"{path} ")
    assert advice in written
    assert "\0" not in written


@pytest.mark.parametrize("seed", ["-1", "x", "1.5"])
def test_a_seed_that_is_no_whole_number_is_refused(capsys, seed):
    with pytest.raises(SystemExit) as ended:
        main(["report", str(RATINGS / "stp1_rankME.csv"), f"--seed={seed}"])

    assert ended.value.code == 2
    assert "whole number" in capsys.readouterr().err

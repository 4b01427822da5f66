"""evalsite report takes ratings in the forms that people have them."""

from pathlib import Path
from shutil import make_archive
from typing import Any

import pytest

from evalsite.command_line.main import run_command
from tests.command_line.test_results import run_json
from tests.support.published import published_file

ROWS = [
    ("w1", "a", "x", "3,5", "4"), ("w1", "a", "y", "2,0", "3"), ("w1", "b", "x", "4,0", "NA"),
    ("w1", "b", "y", "1,5", "2"), ("w2", "a", "x", "3,0", "4"), ("w2", "a", "y", "2,5", "3"),
    ("w2", "b", "x", "4,5", "5"), ("w2", "b", "y", "1,0", "2"),
]  # fmt: skip
HEADER = ("Prüfer", "item", "system", "fluency", "adequacy")


def find_means(report: dict[str, Any], criterion: str) -> dict[str, float]:
    """Return the mean of each system."""
    (of_criterion,) = [part for part in report["criteria"] if part["key"] == criterion]
    return {system["system"]: system["headline"]["value"] for system in of_criterion["systems"]}


def write(path: Path, separator: str, encoding: str) -> Path:
    lines = [separator.join(cells) for cells in (HEADER, *ROWS)]
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("separator", "encoding"), [(";", "utf-8"), (";", "cp1252"), ("\t", "utf-16")]
)
def test_a_file_with_decimal_commas_is_read(tmp_path, capsys, separator, encoding):
    path = write(tmp_path / "ratings.csv", separator, encoding)

    code, document = run_json(capsys, "report", path)

    assert code == 0
    # by hand: (3.5 + 4 + 3 + 4.5) / 4 and (2 + 1.5 + 2.5 + 1) / 4
    assert find_means(document["report"], "fluency") == {"x": 3.75, "y": 1.75}
    # of x one rating is NA: (4 + 4 + 5) / 3
    assert find_means(document["report"], "adequacy")["x"] == pytest.approx(13 / 3)


def test_german_names_of_columns_need_no_option(capsys):
    path = Path(__file__).resolve().parents[2] / "fixtures" / "ratings" / "bewertungen.csv"

    code, document = run_json(capsys, "report", path)

    assert code == 0
    (criterion,) = document["report"]["criteria"]
    assert [system["system"] for system in criterion["systems"]] == ["A", "B"]
    # as many as the file has lines under its header, by three people
    assert (document["report"]["data"]["ratings"], document["report"]["data"]["participants"]) == (
        507,
        3,
    )


@pytest.mark.parametrize(
    "column", [["3", "3", "3", "3"], [str(number) for number in range(100, 148)]]
)
def test_numbers_that_are_no_points_of_a_scale_are_no_ratings(tmp_path, column):
    path = tmp_path / "ratings.csv"
    rows = [f"p{n % 3},i{n},A,{number}" for n, number in enumerate(column)]
    path.write_text("\n".join(["Prüfer,Satz,System,Dauer", *rows]), encoding="utf-8")

    assert run_command(["report", str(path)]) == 3


@pytest.mark.parametrize("content", [b"<?xml version='1.0'?><a/>", b"\x80\x04\x95abc", b"%PDF-1.7"])
def test_what_is_no_table_is_named(tmp_path, content):
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)

    assert run_command(["report", str(path)]) == 3


def test_a_column_that_the_file_lacks_is_named(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    path.write_text("participant,item,value\np,a,1\np,b,2\n")

    assert run_command(["report", str(path), "--map", "score=value"]) == 3
    assert "score" in capsys.readouterr().err


def test_missing_ratings_are_counted_in_a_plain_file(tmp_path, capsys):
    rows = [f"{p},{i},{s},{v}" for p in "pq" for i in "ab" for s, v in (("x", "4"), ("y", "2"))]
    path = tmp_path / "ratings.csv"
    path.write_text(
        "\n".join(["participant,item,system,value", *rows]).replace("p,b,y,2", "p,b,y,NA")
    )

    code, document = run_json(capsys, "report", path)

    assert code == 0
    assert find_means(document["report"], "rating") == {"x": 4, "y": 2}


# --- forms that need no option ------------------------------------------------------------

# by item and system: two raters of two criteria
SCORES = {
    ("a", "x"): ((5, 1), (4, 2)), ("a", "y"): ((2, 4), (1, 5)),
    ("b", "x"): ((4, 1), (3, 2)), ("b", "y"): ((1, 3), (2, 5)),
}  # fmt: skip
MEANS = {"x": 4, "y": 1.5}


def join(*cells: Any) -> str:
    return ",".join(map(str, cells))


def write_points(score: int) -> str:
    return join(*("true" if score == point else "false" for point in range(1, 6)))


def write_wide(header: str) -> str:
    """Return a row for each output, with the scores of both raters."""
    rows = [join(*output, *first, *second) for output, (first, second) in SCORES.items()]
    return "\n".join([header, *rows])


FORMS = {
    "raters after criteria": write_wide("item,system,fluency_r1,style_r1,fluency_r2,style_r2"),
    "raters before criteria": write_wide("id,model,ann.fluency,ann.style,bo.fluency,bo.style"),
    "one column for each rater": "\n".join(
        [
            "item,system,criterion,rater1,rater2",
            *(
                join(*key, "fluency", first[0], second[0])
                for key, (first, second) in SCORES.items()
            ),
        ]
    ),
    "one column for each point": "\n".join(
        [
            "item,system,WorkerId," + join(*(f"Answer.fluency_{point}" for point in range(1, 6))),
            *(
                join(*output, worker, write_points(scores[0]))
                for output, both in SCORES.items()
                for worker, scores in zip("uv", both, strict=True)
            ),
        ]
    ),
    "outputs as columns": "\n".join(
        [
            "ResponseId," + join(*(f"{item}_{system}_fluency" for item, system in SCORES)),
            *(
                join(rater, *(both[n][0] for both in SCORES.values()))
                for n, rater in enumerate("uv")
            ),
        ]
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_ratings_in_another_form_need_no_option(tmp_path, capsys, form):
    path = tmp_path / "ratings.csv"
    path.write_text(FORMS[form])

    code, document = run_json(capsys, "report", path)

    assert code == 0
    assert find_means(document["report"], "fluency") == MEANS
    assert document["report"]["data"]["participants"] == 2


def test_reviews_nested_in_stories_give_the_published_means(tmp_path, capsys):
    """SQuALITY prints 18.1, 27.9 and 91.3; its file has the means of all 900 reviews."""
    path = tmp_path / "all-responses.jsonl"
    path.write_bytes(published_file("squality/all-responses.jsonl").read_bytes())

    code, document = run_json(capsys, "report", path, "--independent")

    assert code == 0
    means = find_means(document["report"], "overall").items()
    assert {key: round(mean, 3) for key, mean in means} == {
        "bart": 18.137, "bart-dpr": 27.913, "human": 91.26,
    }  # fmt: skip


BATTLES = [
    ("q1", "m", "n", "model_a"), ("q1", "n", "o", "model_a"), ("q2", "n", "m", "model_b"),
    ("q3", "m", "n", "tie (bothbad)"), ("q3", "o", "m", "B"), ("q2", "o", "n", "model_b"),
]  # fmt: skip


def test_winners_of_battles_are_the_systems_that_their_columns_name(tmp_path, capsys):
    path = tmp_path / "battles.csv"
    rows = [join(*battle, f"u{number % 2}") for number, battle in enumerate(BATTLES)]
    path.write_text("\n".join(["question_id,model_a,model_b,winner,judge", *rows]))

    code, document = run_json(capsys, "report", path)

    assert code == 0
    (criterion,) = document["report"]["criteria"]
    # by hand: m won 3 of its 4 battles and tied the other; n won 2 of 5, o none of 3
    assert {
        system["system"]: figure["value"]
        for system in criterion["systems"]
        for figure in system["others"]
        if figure["name"] == "win_share"
    } == {"m": 0.875, "n": 0.5, "o": 0.0}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "participant,item,system,value\n"),
        ("a.csv", "participant;item;system;value\n"),
        ("a.json", "[]"),
        ("a.json", "null"),
    ],
)
def test_a_file_without_ratings_is_refused(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)

    assert run_command(["report", str(path)]) == 3


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_folder_for_each_person_is_read_whole(tmp_path, capsys, is_zip):
    path = tmp_path / "answers"
    for person, fluency in (("ann", 4), ("ben", 2)):
        folder = path / person
        folder.mkdir(parents=True)
        rows = [f"{item},{system},{fluency}" for item in "pq" for system in ("x", "y")]
        (folder / "out.csv").write_text("\n".join(["item,system,fluency", *rows]) + "\n")
    if is_zip:
        path = Path(make_archive(str(path), "zip", root_dir=path))

    code, document = run_json(capsys, "report", path, "--map", "folder=participant")

    assert code == 0
    assert document["report"]["data"]["participants"] == 2
    assert find_means(document["report"], "fluency") == {"x": 3.0, "y": 3.0}

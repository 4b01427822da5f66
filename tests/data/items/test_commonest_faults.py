"""The twenty commonest faults, each in the words that were agreed for it, by the commands."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evalsite.studies.models import Study
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"
TABLE = "id,prompt,system,output\n"
ADVICE = (
    'Save the table as CSV or JSON lines, in pandas to_csv or to_json(orient="records", '
    "lines=True), in datasets to_json."
)


def make_study(kind: str = "one") -> Study:
    return make_built_study(json.loads((FOLDER / f"study_{kind}.json").read_bytes()))


def run(command: str, study: Study, arguments: Sequence[str | Path]) -> str:
    """Return everything that the command says."""
    output = StringIO()
    try:
        call_command(command, str(study.pk), *map(str, arguments), stdout=output)
    except CommandError as error:
        return f"{output.getvalue()}{error}"
    return output.getvalue()


def write_lines(rows: Sequence[object]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def write_batch_of_openai() -> dict[str, str]:
    """Return requests and answers, of which the second is none."""
    asked = [
        {
            "custom_id": f"q{n}",
            "url": "/v1/chat/completions",
            "body": {"model": "beta", "messages": [{"role": "user", "content": f"Q{n}"}]},
        }
        for n in (1, 2)
    ]
    answers = [
        {
            "custom_id": f"q{n}",
            "response": {
                "status_code": 200,
                "body": {"model": "beta", "choices": [{"message": {"content": text}}]},
            },
            "error": {"message": "content filter"} if text is None else None,
        }
        for n, text in ((1, "A1"), (2, None))
    ]
    return {"requests.jsonl": write_lines(asked), "results.jsonl": write_lines(answers)}


THOUGHT = "<think>Hm.</think> So."
# names of files with their texts, and a part of what is said of them
FAULTS: dict[str, tuple[dict[str, str | bytes], str]] = {
    "no column in common": (
        {"x.csv": "uid,ask\n1,Why so?\n2,Why not?\n", "y.csv": "nr,said\nu,So.\nv,Not.\n"},
        "These tables have no column in common. Choose the column that holds the id in each, or "
        "add one.",
    ),
    "columns in common": (
        {
            "x.csv": "uid,ask,at\n1,Why?,1.5\n2,Who?,2.5\n",
            "y.csv": "nr,said,at\nu,A,3.5\nv,B,4.5\n",
        },
        "Choose the column that holds the id in each, or add one. (Have in common: at.)",
    ),
    "input missing": (
        {"a.csv": "id,ask,system,output\n1,Hi,a,Hello\n"},
        "Which column did the systems get? Found: id, ask, system, output. Choose it (--map "
        "COLUMN=prompt).",
    ),
    "output missing": (
        {"a.csv": "id,prompt,system,said\n1,Hi,a,Hello\n"},
        "Which column holds the outputs? Found: id, prompt, system, said.",
    ),
    "one output column, no name": (
        {"run7.csv": "id,prompt,output\n1,Hi,Hello\n2,Yo,Hey\n"},
        "These outputs will be called “run7”, after the file. Rename them, or give the name with "
        "the file (alpha=run7.csv).",
    ),
    "no rows": (
        {"a.json": json.dumps({"results": [{"id": n} for n in range(12)], "errors": [{"m": 1}]})},
        "This JSON document has several lists: results (12), errors (1). Choose one (--rows "
        "results).",
    ),
    "inputs differ": (
        {
            "alpha.csv": "id,prompt,output\nq1,Is it?,One.\nq2,Why?,Two.\n",
            "beta.csv": "id,prompt,output\nq2,Why?,Two.\nq3,Who?,Me.\nq1,Is that it?,One.\n",
        },
        "“q1” has another input in beta.csv, line 4 (“Is that it?”) than in alpha.csv, line 2 (“Is "
        "it?”). Outputs that are compared need one input.",
    ),
    "metadata": (
        {"a.csv": "id,prompt,m1,m2,comet,chrf,winner\n1,Hi,Hello you,Hey there,0.5,33,m1\n"},
        "Kept but not shown: comet, chrf (numbers); winner (names of systems).",
    ),
    "reasoning": (
        {"a.csv": TABLE + "".join(f"{n},Q{n},alpha,{THOUGHT}\n" for n in range(3))},
        "3 outputs of alpha begin with reasoning. Leave it out, or keep it (--reasoning leave-out "
        "or keep).",
    ),
    "reasoning never closed": (
        {"a.csv": f"{TABLE}k-1,Q1,alpha,{THOUGHT}\nk-2,Q2,alpha,<think>Hm.\n"},
        "In k-2 reasoning begins and has no end (no </think>): nothing is left of the output.",
    ),
    "failed": (
        dict(write_batch_of_openai()),
        "q2 of beta failed: “content filter”. Leave out this input for every system, or show “(no "
        "output)” (--empty-outputs leave-out or show).",
    ),
    "control characters": (
        {"a.csv": TABLE + "1,Hi,a,x\vy\n2,Yo\v,a,y\n"},
        "2 cells hold control characters (U+000B). Replace them by spaces, or remove them "
        "(--control-characters space or remove).",
    ),
    "lost value": (
        {"a.csv": f"{TABLE}1,Hi,a,nan\n2,Yo,a,nan\n3,Ho,a,Fine.\n"},
        "2 outputs are only “nan”, which programs write for a missing value. Read “nan” as missing "
        "(--missing nan), or keep it as text (--missing -).",
    ),
    "same pair twice": (
        {"a.csv": "id,prompt,m1,m2\n" + "".join(f"{n},Q{n},An a.,A b.\n" * 2 for n in range(3))},
        "3 items have 2 rows that are alike. Take each once (--take-once), or remove all but one.",
    ),
    "XML": ({"a.xml": '<?xml version="1.0"?><a/>'}, f"This is XML. {ADVICE}"),
    "HTML": ({"a.csv": "<!doctype html><p>"}, "This is an HTML page"),
    "pickle": (
        {"a.pkl": b"\x80\x04\x95\x17" + bytes(7) + b"]\x94(" + b"K\x01" * 9 + b"e."},
        f"only Python can read. {ADVICE}",
    ),
    "Arrow": (
        {"data-00000-of-00001.arrow": b"ARROW1\0\0schema"},
        f"This is an Arrow file (data-00000-of-00001.arrow). {ADVICE}",
    ),
    "Arrow in a folder": (
        {"data-00000-of-00001.arrow": b"ARROW1\0\0schema", "dataset_info.json": "{}"},
        f"This is an Arrow file (data-00000-of-00001.arrow). {ADVICE}",
    ),
    "ids changed": (
        {"a.csv": f"{TABLE}newstest2021 doc#1,Hi,a,x\nnewstest2021 doc#2,Yo,a,y\n"},
        "2 ids have spaces or other characters. Files say newstest2021-doc-1 for “newstest2021 "
        "doc#1”; the original is kept.",
    ),
}


def write_files(folder: Path, files: dict[str, str | bytes]) -> list[Path]:
    for name, data in files.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return [folder / name for name in files]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_common_fault_is_explained_in_the_words_agreed(fault: str, tmp_path: Path) -> None:
    files, words = FAULTS[fault]

    assert words in run("import_batch", make_study(), write_files(tmp_path, files))


def test_tables_whose_roles_are_known_and_columns_are_not_name_the_columns(tmp_path: Path) -> None:
    files = {"in.csv": "uid,ask\n1,Hi\n2,Yo\n", "out.csv": "uid,said\n1,x\n2,y\n"}
    inputs, outputs = write_files(tmp_path, dict(files))

    text = run("import_batch", make_study(), [f"inputs={inputs}", f"m={outputs}"])

    assert (
        "Choose the id, the input and the output: uid, ask and said are the columns. CSV and JSON "
        "aren't joined by line, because results can come in another order."
    ) in text


def test_lines_that_begin_with_other_words_than_speakers_are_asked_about(tmp_path: Path) -> None:
    files = write_files(tmp_path, {"a.csv": TABLE + '1,"Context: A.\nQuestion: B?",a,C.\n'})

    assert (
        "“Context:” and “Question:” don't look like speakers. Show each prompt as one text, or as "
        "turns (--prompts text or conversation)."
    ) in run("import_batch", make_study("chat"), files)


def test_a_later_system_is_said_to_join_the_inputs(tmp_path: Path) -> None:
    study = make_study()
    first, later = (
        TABLE + "".join(f"{n},Q{n},{system},Text {n}.\n" for n in range(3))
        for system in ("alpha", "gamma")
    )
    paths = write_files(tmp_path, {"first.csv": first, "later.csv": later})
    run("import_batch", study, paths[:1])

    assert "All 3 inputs are in the study already; gamma's outputs join them." in run(
        "import_batch", study, paths[1:]
    )


RATINGS = "item,system,participant,criterion,value,AssignmentStatus\n"


@pytest.mark.parametrize(
    ("ratings", "words"),
    [
        (
            RATINGS + "".join(f"{n},a,w,fluency,{n},Rejected\n" for n in (1, 2, 3)),
            "3 rows were rejected on MTurk. Leave them out, or count them (--rejected leave-out or "
            "keep).",
        ),
        (
            RATINGS.replace(",", ";") + '1;a;w;fluency;"4,0";Approved\n',
            "Ratings are written with commas (“4,0”). Read them as numbers (--decimal-comma).",
        ),
    ],
)
def test_what_is_asked_of_ratings_is_asked_in_the_words_agreed(
    ratings: str, words: str, tmp_path: Path
) -> None:
    study = make_study()
    items, file = write_files(
        tmp_path,
        {"items.csv": TABLE + "1,A,a,x\n2,B,a,y\n3,C,a,z\n", "ratings.csv": ratings},
    )
    run("import_batch", study, [items])

    assert words in run("import_ratings", study, [file, "--persons", "yes"])


# --- lists of columns ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "table", "options"),
    [
        ("import_batch", "nr,ask,who,said\n1,Hi there,a,Hello you\n", []),
        (
            "import_batch",
            "nr,ask,who,said\n1,Hi there,a,Hello you\n",
            ["--map", "x=item", "--map", "y=prompt"],
        ),
        ("import_ratings", "nr,ask,who,said\n1,2,3,4\n", ["--persons", "no"]),
        (
            "import_ratings",
            "nr,ask,who,said\n1,2,3,4\n",
            ["--persons", "no", "--map", "ask=value:fluency"],
        ),
    ],
)
def test_columns_are_listed_once(
    command: str, table: str, options: list[str], tmp_path: Path
) -> None:
    text = run(command, make_study(), [*write_files(tmp_path, {"a.csv": table}), *options])

    assert text.count("nr, ask, who, said") == 1
    assert text.count("ask, who") == 1


def test_fields_are_listed_once(tmp_path: Path) -> None:
    files = write_files(tmp_path, {"a.csv": "nr,ask\n1,Hi\n"})

    text = run("import_batch", make_study(), [*files, "--map", "nr=foo", "--map", "ask=bar"])

    assert text.count("FIELD is one of") == 1

"""Several files become one batch: joined by what they share, each system by a name of its own."""

import io
import json
from typing import Any

import pytest

from evalsite.data.tables.batch import Batch, convert
from evalsite.data.tables.files import SourceFile
from evalsite.data.tables.table import Refused


def join(files: dict[str, str], **wishes: Any) -> Batch:
    sources = [
        SourceFile(name, lambda text=text: io.BytesIO(text.encode()))  # type: ignore[misc]
        for name, text in files.items()
    ]
    return convert(sources, **wishes)


def read(batch: Batch) -> list[list[str]]:
    return [row[:4] for row in batch.rows]


CHOSEN = {"ask": "prompt", "said": "output", "frage": "prompt", "antwort": "output"}
ALPHA = "uid,ask,said\n1,Hi,x\n2,Yo,y\n"


def test_ids_are_found_by_what_tables_share_whatever_they_are_called() -> None:
    batch = join(
        {"alpha.csv": ALPHA, "beta.csv": "nr,frage,antwort\n2,Yo,yy\n1,Hi,xx\n"}, chosen=CHOSEN
    )

    assert read(batch) == [
        ["1", "Hi", "alpha", "x"],
        ["1", "Hi", "beta", "xx"],
        ["2", "Yo", "alpha", "y"],
        ["2", "Yo", "beta", "yy"],
    ]


def test_an_id_that_tables_share_has_one_input() -> None:
    with pytest.raises(Refused) as refused:
        join({"alpha.csv": ALPHA, "beta.csv": ALPHA.replace("Yo", "Oh")}, chosen=CHOSEN)

    assert refused.value.code == "inputs_differ"


@pytest.mark.parametrize("column", ["0.5\n0.7", "a\na", "8\n9"])
def test_columns_that_repeat_or_hold_scores_or_share_nothing_are_no_ids(column: str) -> None:
    one, two = column.split("\n")
    alpha = f"score,ask,said\n{one},Hi,x\n{two},Yo,y\n"
    beta = f"score,frage,antwort\n{two},Hi,xx\n{'5' if one == '8' else one},Yo,yy\n"

    batch = join({"alpha.csv": alpha, "beta.csv": beta}, chosen=CHOSEN)

    assert [row[1:] for row in read(batch)] == [
        ["Hi", "alpha", "x"],
        ["Hi", "beta", "xx"],
        ["Yo", "alpha", "y"],
        ["Yo", "beta", "yy"],
    ]


def test_files_of_one_name_are_called_by_their_folders() -> None:
    line = json.dumps({"id": "1", "prompt": "Hi", "output": "%"})
    files = {f"runs/{name}/outputs.jsonl": line.replace("%", name) for name in ("one", "two")}

    assert read(join(files)) == [["1", "Hi", "one", "one"], ["1", "Hi", "two", "two"]]


def make_battle(number: int, systems: str) -> dict[str, Any]:
    battle: dict[str, Any] = {"question_id": f"q{number}", "winner": "model_a"}
    for place, system in zip("ab", systems, strict=True):
        battle[f"model_{place}"] = system
        battle[f"conversation_{place}"] = [
            {"role": "user", "content": f"Question {number}"},
            {"role": "assistant", "content": f"{system} {number}"},
        ]
    return battle


def test_battles_lack_no_system_that_did_not_meet_in_them() -> None:
    battles = [make_battle(1, "xy"), make_battle(2, "yz")]

    batch = join({"battles.json": json.dumps(battles)})

    assert [(row[0], row[2]) for row in read(batch)] == [
        ("q1", "x"), ("q1", "y"), ("q2", "y"), ("q2", "z"),
    ]  # fmt: skip


def test_preferences_without_a_common_beginning_have_no_input() -> None:
    rows = [
        {
            name: [
                {"role": "user", "content": f"{name} asks {number}"},
                {"role": "assistant", "content": "Yes."},
            ]
            for name in ("chosen", "rejected")
        }
        for number in range(2)
    ]

    with pytest.raises(Refused) as refused:
        join({"preferences.json": json.dumps(rows)})

    assert refused.value.code == "inputs_differ"

"""Names say what they hold: none is a word that fits anything, or that another has replaced."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = {
    "one", "some", "others", "own", "same", "there", "here", "said", "told", "found", "given",
    "held", "dealt", "what", "which", "wanted", "standing", "thing", "things", "stuff",
}  # fmt: skip
# each thing has one word, which docs/words.md explains: these are in no name
REPLACED = {
    "me": "participant",
    "turker": "participant",
    "campaign": "study",
    "questionnaire": "instrument",
    "aspect": "criterion",
    "dimension": "criterion",
    "plugin": "scale",
    "wave": "round",
    "showing": "slot",
    "dummy": "control",
    "duplicate": "hidden repeat",
    "unusable": "fault",
    "examine": "check",
}


def find_names(folder: Path) -> Iterator[str]:
    """Yield each argument, variable and field on the list, private or not, as file:line: name.

    With a replaced word, or its plural, in it also those of functions and classes.
    """
    replaced = {*REPLACED, *(f"{word}s" for word in REPLACED)}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = None
            if isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.id if isinstance(node, ast.Name) else node.attr
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
                name = node.name
            is_listed = name is not None and name.strip("_") in WORDS
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                name = node.name
            parts = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").lower().split("_")
            if is_listed or not replaced.isdisjoint(parts):
                yield f"{path}:{node.lineno}: {name}"


@pytest.mark.parametrize("folder", ["evalsite", "protocols"])
def test_names_say_what_they_hold(folder: str):
    assert list(find_names(ROOT / folder)) == []


@pytest.mark.parametrize(
    "code",
    [
        "one = 1",
        "for one in rows: pass",
        "def rate(one): pass",
        "def rate(*, one=None): pass",
        "ones = [one for one in rows]",
        "if one := rows: pass",
        "with file as one: pass",
        "class Row:\n    one: int",
        "class Row:\n    one = 1",
        "self.one = 1",
        "first, (one, third) = row",
        "_one = 1",
        "self._one = 1",
        "try: pass\nexcept KeyError as one: pass",
        "match row:\n    case [one, *_]: pass",
    ],
)
def test_a_planted_word_is_found(tmp_path: Path, code: str):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "planted.py").write_text(f"\n{code}\n", encoding="utf-8")

    assert [line.rsplit(" ", 1)[1].strip("_") for line in find_names(tmp_path)] == ["one"]


@pytest.mark.parametrize(
    "code",
    [
        "from hypothesis import given",
        "criterion = one",
        "rows.some()",
        "call(what=1)",
        "someone = 1",
    ],
)
def test_words_of_code_that_is_called_are_left_alone(tmp_path: Path, code: str):
    (tmp_path / "clean.py").write_text(f"{code}\n", encoding="utf-8")

    assert list(find_names(tmp_path)) == []


@pytest.mark.parametrize(
    "code",
    ["me = 1", "def examine(): pass", "class OldWave: pass", "row.is_dummy = 1", "waves = 1"],
)
def test_a_replaced_word_is_found(tmp_path: Path, code: str):
    (tmp_path / "planted.py").write_text(f"{code}\n", encoding="utf-8")

    assert len(list(find_names(tmp_path))) == 1


def test_words_that_replace_others_are_explained():
    page = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    explained = {
        word for row in re.findall(r"^\| ([^|]+) \|", page, re.M) for word in row.split(", ")
    }

    assert set(REPLACED.values()) - explained == set()

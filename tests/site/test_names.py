"""Names say what they hold: none is a word that fits anything."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = {
    "one", "some", "others", "own", "same", "there", "here", "said", "told", "found", "given",
    "held", "dealt", "what", "which", "wanted", "standing", "thing", "things", "stuff",
}  # fmt: skip
# folders and files whose names have been mended; a room that joins the list never leaves it
CLEAN: tuple[str, ...] = (
    "evalsite/core/accounts",
    "evalsite/admin.py",
    "evalsite/analysis",
    "evalsite/handout",
    "evalsite/apps.py",
    "evalsite/core/audit",
    "evalsite/builder",
    "evalsite/checks.py",
    "evalsite/command_line",
    "evalsite/data",
    "evalsite/instruments/fields.py",
    "evalsite/help_pages.py",
    "evalsite/instruments",
    "evalsite/core/jobs",
    "evalsite/lib",
    "evalsite/limits.py",
    "evalsite/management",
    "evalsite/operations",
    "evalsite/people",
    "evalsite/people/platforms",
    "evalsite/decisions",
    "evalsite/results",
    "evalsite/settings.py",
    "evalsite/studies",
    "evalsite/urls.py",
)


# arguments that the published reference vectors name
OF_VECTORS = {("plan_width", "others")}


def find_names(folder: Path) -> Iterator[str]:
    """Yield each argument, variable and field on the list, as file:line: name."""
    for path in sorted([folder] if folder.is_file() else folder.rglob("*.py")):
        if "migrations" in path.parts or path.name == "tests.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        kept = {
            argument
            for function in functions
            for argument in function.args.kwonlyargs
            if (function.name, argument.arg) in OF_VECTORS
        }
        for node in ast.walk(tree):
            name = ""
            if node in kept:
                continue
            if isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.id if isinstance(node, ast.Name) else node.attr
            if name in WORDS:
                yield f"{path}:{node.lineno}: {name}"


def test_names_say_what_they_hold():
    rooms = [ROOT / name for name in CLEAN]

    assert [str(room) for room in rooms if not room.exists()] == []
    assert [line for room in rooms for line in find_names(room)] == []


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
    ],
)
def test_a_planted_word_is_found(tmp_path: Path, code: str):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "planted.py").write_text(f"\n{code}\n", encoding="utf-8")

    assert [line.rsplit(" ", 1)[1] for line in find_names(tmp_path)] == ["one"]


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

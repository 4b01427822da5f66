"""The analysis returns codes and facts; the words are beside the blocks of reports."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ANALYSIS = Path(__file__).parents[2] / "evalsite" / "analysis"
# their words are for whoever types a command
COMMANDS = ("__main__.py", "gate.py")
# of a system and of units, as reports print them
NAMES = ("all outputs together", "penalty points", "edits per 100 words")
WORDS = re.compile(r"[A-Za-z’'][,;:]? [a-z]{2}")


def list_texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts of a module that are neither docstrings, exceptions nor types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            continue
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        yield from list_texts(node)


def test_no_text_of_the_analysis_is_english():
    english = [
        f"{path.relative_to(ANALYSIS)}:{text.lineno}: {text.value!r}"
        for path in sorted(ANALYSIS.rglob("*.py"))
        if path.name not in COMMANDS
        for text in list_texts(ast.parse(path.read_text(encoding="utf-8")))
        if text.value not in NAMES and WORDS.search(str(text.value))
    ]

    assert english == []

"""Nothing outside its folder and its family of analysis asks which kind of question a scale is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsite.analysis.families import FAMILIES, get_numbers
from evalsite.instruments.scales import Scale, installed_scales

ROOT = Path(__file__).resolve().parents[2]
SCALES = installed_scales()
# ordinary words are about many other things: the classes and the folders of these are looked for
ORDINARY = frozenset({"choice", "choices", "number", "text"})
KINDS = frozenset(SCALES) - ORDINARY
CLASSES = frozenset(one.__name__ for one in SCALES.values())

FOLDER = "evalsite.instruments.scales"

# who may: kinds, their families, and scripts that run without the site
INSIDE = (
    "evalsite/instruments/scales",
    "templates/scales",
    "evalsite/analysis/families",
    "evalsite/data/files/scripts",
    # words of families and of planners, and headings of figures about people
    "evalsite/results/power/words.py",
    "evalsite/results/report/sections/people.py",
    # finds the kind that values without an instrument suit
    "evalsite/lib/bare_scales.py",
)

_IN_TEMPLATES = re.compile(rf"(?:==|!=|\bin)\s*(['\"])(?:{'|'.join(sorted(KINDS))})\1")


def find_branches(source: str) -> list[str]:
    """Every place in Python code that tells kinds of questions apart, with its line."""
    return [
        f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr | ast.stmt) and any(_tell_apart(node))
    ]


def _tell_apart(node: ast.AST) -> Iterator[bool]:
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, types]):
            yield bool(_name_classes(types))
        case ast.Compare():
            yield any(_names_kind(one) for one in (node.left, *node.comparators))
        case ast.Dict():
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            # a single word may be about something else, and words of families name nothing else
            yield len(KINDS & keys) > 1 and not keys <= FAMILIES.keys()
        case ast.Match():
            yield any(map(_is_case, ast.walk(node)))
        case ast.ImportFrom(module=str(module)):
            yield _is_of_kind(module) or (
                module == FOLDER and bool(CLASSES & {alias.name for alias in node.names})
            )
        case ast.Import():
            yield any(_is_of_kind(alias.name) for alias in node.names)


def _is_of_kind(module: str) -> bool:
    return module.startswith(f"{FOLDER}.") and not module.endswith(".base")


def _name_classes(types: ast.expr) -> set[str]:
    names = (one for one in ast.walk(types) if isinstance(one, ast.Name | ast.Attribute))
    return CLASSES & {one.id if isinstance(one, ast.Name) else one.attr for one in names}


def _names_kind(side: ast.expr) -> bool:
    parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
    return any(isinstance(one, ast.Constant) and one.value in KINDS for one in parts)


def _is_case(node: ast.AST) -> bool:
    match node:
        case ast.MatchClass(cls=cls):
            return bool(_name_classes(cls))
        case ast.MatchValue(value=ast.Constant(value=value)):
            return value in KINDS
        case _:
            return False


def list_files(folders: tuple[str, ...], pattern: str) -> list[Path]:
    return [
        file
        for folder in folders
        for file in sorted((ROOT / folder).rglob(pattern))
        if not file.relative_to(ROOT).as_posix().startswith(INSIDE)
    ]


@pytest.mark.slow
def test_no_module_tells_kinds_of_questions_apart():
    files = list_files(("evalsite",), "*.py")
    found = {
        str(file.relative_to(ROOT)): branches
        for file in files
        if (branches := find_branches(file.read_text(encoding="utf-8")))
    }

    assert len(files) > 300
    assert found == {}


def test_no_template_tells_kinds_of_questions_apart():
    files = list_files(("templates", "evalsite"), "*.html")
    found = [
        str(file.relative_to(ROOT))
        for file in files
        if _IN_TEMPLATES.search(file.read_text(encoding="utf-8"))
    ]

    assert len(files) > 50
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(scale, Likert)",
        "isinstance(scale, (int, protocol.Magnitude))",
        "scale.kind == 'likert'",
        "'preference' != criterion['kind']",
        "kind in ('likert', 'magnitude')",
        "WORDS = {'likert': 'points', 'decision': 'share'}",
        "match scale:\n    case Decision():\n        pass",
        "match kind:\n    case 'decision' | 'other':\n        pass",
        "from evalsite.instruments.scales.likert import Likert",
        "import evalsite.instruments.scales.preference",
        "from evalsite.instruments.scales import Likert",
    ],
)
def test_a_branch_on_a_kind_is_found(code):
    assert find_branches(code)


@pytest.mark.parametrize(
    "code",
    [
        "scale.compares",
        "found['decision'] = figures",
        "isinstance(item, Study)",
        "item.kind == 'main'",
        "{'decision': None, 'cronbach': None}",
        "match item.kind:\n    case 'gold':\n        pass",
    ],
)
def test_other_uses_of_the_words_are_not_branches(code):
    assert find_branches(code) == []


def test_a_template_that_compares_a_kind_is_found():
    assert _IN_TEMPLATES.search("{% if question.scale.kind == 'likert' %}")
    assert not _IN_TEMPLATES.search("{% if decisions %}likert{% endif %}")


@pytest.mark.parametrize("kind", sorted(SCALES))
def test_every_scale_has_a_family_with_numbers(kind):
    family = FAMILIES[SCALES[kind].family]

    if family.splits:
        assert SCALES[kind].list_options is not Scale.list_options
    elif family.is_analysed:
        assert get_numbers(family).family is family
    else:
        assert family.planner is None

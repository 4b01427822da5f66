"""Only forms read what is posted, and only the decorator makes a page of a study."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# what returns forms, beside their classes: the builder's form is made from the fields of an
# instrument, and the form of an answer is found by what the page was
MAKERS = {
    "Post", "confirmation", "make_form", "make_forms", "make_open_form", "make_options_form",
    "read_sent",
}  # fmt: skip
EXCEPTED = {
    # the decorator
    "evalsite/studies/staff_pages.py": "StudyPage",
    # what was sent too often is sent back, whichever form it was
    "evalsite/people/access.py": "request.POST",
}


def get_name(node: ast.AST) -> str:
    """Return `name` of `name` and of `module.name`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_post(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "request.POST"


def find_reader(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return what the node is passed to, whatever the condition or the name of the argument."""
    reader = parents[node]
    is_branch = isinstance(reader, ast.IfExp) and reader.test is not node
    return find_reader(reader, parents) if is_branch or isinstance(reader, ast.keyword) else reader


def list_faults(code: str) -> Iterator[str]:
    """Yield the line of each page in a list, and of each post read outside a form."""
    nodes = list(ast.walk(ast.parse(code)))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    names = set()
    for node in nodes:
        if isinstance(node, ast.Call) and get_name(node.func) == "StudyPage":
            yield f"{node.lineno}: StudyPage"
        if not is_post(node):
            continue
        reader = find_reader(node, parents)
        if isinstance(reader, ast.Assign):
            names |= {get_name(target) for target in reader.targets}
            continue
        name = get_name(reader.func) if isinstance(reader, ast.Call) else ""
        if not name.endswith("Form") and name not in MAKERS:
            yield f"{node.lineno}: request.POST"
    # a post with a name, as in data = request.POST if is_post else None, goes on to forms
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in names:
            reader = parents[node]
            is_in = isinstance(reader, ast.Compare) and isinstance(
                reader.ops[0], ast.In | ast.NotIn
            )
            if is_in or isinstance(reader, ast.Attribute | ast.Subscript):
                yield f"{node.lineno}: {node.id}"


def test_only_forms_read_what_is_posted():
    faults = [
        (str(path.relative_to(ROOT)), fault)
        for path in sorted((ROOT / "evalsite").rglob("*.py"))
        for fault in list_faults(path.read_text(encoding="utf-8"))
    ]
    assert {path: fault.partition(": ")[2] for path, fault in faults} == EXCEPTED
    assert len(faults) == len(EXCEPTED)


@pytest.mark.parametrize(
    "code",
    [
        "views = [StudyPage(path='a/')]",
        "views = [staff_pages.StudyPage(path='a/')]",
        "request.POST.get('do')",
        "request.POST['do']",
        "'do' in request.POST",
        "dict(request.POST)",
        "Form(None if request.POST else None)",
        "Form(request.POST.dict())",
        "data = request.POST if is_post else None\ndata.get('do')",
        "data = request.POST\ndata['do']",
        "data = request.POST\n'do' in data",
    ],
)
def test_a_read_by_hand_is_seen(code):
    assert list(list_faults(code)) != []


@pytest.mark.parametrize(
    "code",
    [
        "Form(request.POST)",
        "forms.NameForm(request.POST if request.method == 'POST' else None)",
        "NameForm(data=request.POST, study=study)",
        "StepForm(request.POST if is_post else request.GET)",
        "make_options_form(study, request.POST)",
        "screen.make_form(request.POST, with_marks=False)",
        "data = request.POST if is_post else None\nform = kind(data) if data is not None else None",
    ],
)
def test_what_a_form_reads_passes(code):
    assert list(list_faults(code)) == []

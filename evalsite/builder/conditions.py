"""When a question is asked, or a comment on it: a form of its own, read and written."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from evalsite.builder.answers import find_scale, name_answers, read_number
from evalsite.builder.controls import Plain
from evalsite.builder.forms import PartForm, Piece, name_at
from evalsite.builder.posts import clean
from evalsite.builder.reader import Reader
from evalsite.instruments.scales import Scale

# a condition that the form can't show field by field
KEPT = "*"
_TESTS = {
    "is": "is one of",
    "at_least": "is at least",
    "at_most": "is at most",
    "has": "has a passage marked as",
    "changed": "was changed",
    "unchanged": "wasn’t changed",
    "answered": "is answered",
    "unanswered": "isn’t answered",
}
# tests of one key that is true or false
_SWITCHES = {
    "answered": ("answered", True), "unanswered": ("answered", False),
    "changed": ("changed", True), "unchanged": ("changed", False),
}  # fmt: skip
_WIDTHS = {"item": 0, "output": 1, "turn": 2}


def is_narrower(per: Any, than: Any) -> bool:
    """Tell whether a question that is asked per `per` may have several answers for one `than`."""
    return _WIDTHS.get(str(per), 0) > _WIDTHS.get(str(than), 0)


def make_condition(
    form: PartForm, at: str, condition: Any, title: str, earlier: list[Plain]
) -> Piece:
    """Return the form of a condition on one of these questions."""
    shown = _write_condition(condition, earlier)
    known = {str(question.get("key")): str(question.get("label")) for question in earlier}
    key = shown["criterion"]
    if key == KEPT:
        known[KEPT] = "the condition below"
    elif key and key not in known:
        # a condition on a question that was removed or moved stays until somebody decides
        known[key] = f"{key} (no longer an earlier question)"
    fields = forms.Form(prefix=name_at(at), label_suffix="")
    fields.fields = {
        "criterion": forms.ChoiceField(
            label=title, choices=[("", "always"), *known.items()], initial=key
        ),
        "test": forms.ChoiceField(label="Its answer", choices=_TESTS, initial=shown["test"]),
        "answers": forms.CharField(
            label="Answers or number", initial=shown["answers"], help_text=_help(key, earlier),
            widget=forms.Textarea(attrs={"rows": 2, "cols": None}),
        ),
        "outputs": forms.ChoiceField(
            label="Of several answers", initial=shown["outputs"],
            choices=[("any", "at least one"), ("every", "every one")],
        ),
        "not": forms.BooleanField(
            label="Ask where this doesn’t hold", initial=bool(shown["not"]), required=False
        ),
    }  # fmt: skip
    words = describe_condition(condition, earlier) if key == KEPT else ""
    return Piece(
        "condition", title=title, id=f"id_{name_at(at)}", place=at, form=fields, words=words,
        is_wide=True, errors=form.draft.list_faults(at),
    )  # fmt: skip


def read_condition(reader: Reader, at: str, before: Any, earlier: list[Plain]) -> Any:
    """Return the condition that was posted; None for none. `earlier` are those of the base."""
    post, shown = reader.post, _write_condition(before, earlier)
    entered = {
        name: post.read(name_at(at, name)) for name in ("criterion", "test", "answers", "outputs")
    } | {"not": "on" if post.is_ticked(name_at(at, "not")) else ""}
    if (
        entered == {name: clean(text) for name, text in shown.items()}
        or entered["criterion"] == KEPT
    ):
        return before
    key = entered["criterion"]
    if not key:
        return None
    asked = [_find(key, earlier), _find(key, reader.questions)]
    test, value = _read_answers(entered["test"], entered["answers"], asked)
    inner = before.get("not", before) if isinstance(before, dict) else {}
    was: Any = inner.get(test) if isinstance(inner, dict) else None
    if isinstance(was, list) and isinstance(value, list):
        is_reordered = sorted(map(str, was)) == sorted(map(str, value))
        value = was if is_reordered else value  # the order of a file stays
    condition = {"criterion": key, test: value, "outputs": entered["outputs"]}
    return {"not": condition} if entered["not"] else condition


def settle_outputs(condition: Any, pers: Mapping[str, Any], per: str) -> None:
    """Let a condition on a narrower question say which of its answers, and no other."""
    inner = condition.get("not", condition) if isinstance(condition, dict) else {}
    if isinstance(inner, dict) and "criterion" in inner:
        if is_narrower(pers.get(inner["criterion"]), per):
            inner.setdefault("outputs", "any")
        else:
            inner.pop("outputs", None)


def describe_condition(condition: Any, earlier: Iterable[Plain]) -> str:
    """Say a condition in words: “Tone” is “Rude” or “Fluency” is at most 2."""
    if not isinstance(condition, dict):
        return "a condition that isn’t right yet"
    for joined in ("all", "any"):
        if isinstance(condition.get(joined), list):
            parts = [describe_condition(part, earlier) for part in condition[joined]]
            return (" and " if joined == "all" else " or ").join(parts)
    if "not" in condition:
        return f"it isn’t true that {describe_condition(condition['not'], earlier)}"
    asked = next((q for q in earlier if q.get("key") == condition.get("criterion")), {})
    scale = find_scale(asked)
    names = name_answers(scale) if scale else {}
    label = f"“{asked.get('label') or condition.get('criterion', '')}”"
    for test in ("is", "includes"):
        if isinstance(condition.get(test), list):
            words = " or ".join(f"“{names.get(a, a)}”" for a in condition[test])
            return f"{label} {test} {words}"
    for test, words in (("at_least", "is at least"), ("at_most", "is at most")):
        if test in condition:
            return f"{label} {words} {condition[test]}"
    if "answered" in condition:
        return f"{label} is{'' if condition['answered'] else 'n’t'} answered"
    if "changed" in condition:
        return f"{label} was{'' if condition['changed'] else 'n’t'} changed"
    if isinstance(condition.get("has"), dict):
        kinds = " and ".join(f"“{kind}”" for kind in _write_kinds(condition["has"], scale))
        return f"{label} has a marked passage{f' that is {kinds}' if kinds else ''}"
    return "a condition that isn’t right yet"


# --- as text ------------------------------------------------------------------------


def _write_condition(condition: Any, earlier: list[Plain]) -> dict[str, str]:
    """Return what the fields show of a condition."""
    shown = {"criterion": "", "test": "is", "answers": "", "outputs": "any", "not": ""}
    if not isinstance(condition, dict):
        return shown
    is_not = isinstance(condition.get("not"), dict)
    inner = condition["not"] if is_not else condition
    test = next((t for t in ("is", "includes", *_TESTS) if t in inner), "")
    if "criterion" not in inner or not test:
        return shown | {"criterion": KEPT}
    value = inner[test]
    for switch, known in _SWITCHES.items():
        if (test, value) == known:
            test, value = switch, ""
            break
    scale = find_scale(_find(inner["criterion"], earlier))
    names = name_answers(scale) if scale else {}
    if test == "has":
        value = _write_kinds(value, scale) if isinstance(value, dict) else []
    listed = value if isinstance(value, list) else [value]
    return {
        "criterion": str(inner["criterion"]),
        "test": "is" if test == "includes" else test,
        "answers": "\n".join(str(names.get(a, a)) if test == "is" or test == "includes" else str(a)
                             for a in listed),
        "outputs": str(inner.get("outputs", "any")),
        "not": "on" if is_not else "",
    }  # fmt: skip


def _read_answers(test: str, text: str, asked: list[Plain]) -> tuple[str, Any]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if test in _SWITCHES:
        return _SWITCHES[test]
    if test == "has":
        return test, _read_kinds(lines, asked)
    if test != "is":
        return test, read_number(lines[0]) if lines else 0
    named: dict[str, Any] = {}
    tests: set[str] = set()
    for scale in filter(None, map(find_scale, asked)):
        tests |= scale.tests
        named |= {str(answer).casefold(): answer for answer in scale.list_testable() or ()}
        named |= {words.casefold(): answer for answer, words in name_answers(scale).items()}
    answers = [named.get(line.casefold(), read_number(line)) for line in lines]
    return ("includes" if "includes" in tests else "is"), answers


def _write_kinds(kinds: Mapping[str, Any], scale: Scale | None) -> list[str]:
    named = scale.name_kinds() if scale else {}
    return [named.get((name, str(key)), str(key)) for name, key in kinds.items()]


def _read_kinds(lines: list[str], asked: list[Plain]) -> dict[str, str]:
    """Return a category, a severity or both; what can't be one of them is left to the check."""
    known: dict[str, tuple[str, str]] = {}
    for scale in filter(None, map(find_scale, asked)):
        for (name, key), label in scale.name_kinds().items():
            known |= {key.casefold(): (name, key), label.casefold(): (name, key)}
    kinds: dict[str, str] = {}
    for line in lines:
        name, key = known.get(line.casefold(), ("category", line))
        kinds[name] = f"{kinds[name]}, {key}" if name in kinds else key
    return kinds


def _help(key: str, earlier: list[Plain]) -> str:
    scale = find_scale(_find(key, earlier))
    if scale and scale.name_kinds():
        return "A category, a severity, or one of each, one per line. Empty: any passage."
    words = list(name_answers(scale).values()) if scale else []
    return f"One per line: {', '.join(words)}." if words else "One answer per line."


def _find(key: Any, questions: list[Plain]) -> Plain:
    return next((question for question in questions if question.get("key") == key), {})

"""Words that several sections share: who is ahead of whom, differences, p values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.lib.words import list_of
from evalsite.results.document.blocks import isolate, start_sentence
from evalsite.results.document.figures import write_interval, write_number, write_p
from evalsite.results.report.source import Criterion, Pair

# more systems or pairs than this are counted
MOST_NAMED = 6


def list_names(names: Sequence[str]) -> str:
    """Return the names of systems as a sentence lists them; of many, the first few."""
    shown = [isolate(name) for name in names[:MOST_NAMED]]
    more = len(names) - MOST_NAMED
    return list_of([*shown, f"{more:,} more"] if more > 0 else shown)


def say_is(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def say_leads(criterion: Criterion, names: Sequence[str]) -> str:
    """Return what these systems do that are ahead: "is rated higher than"."""
    if criterion.family.has_marks:
        return f"{'have' if len(names) > 1 else 'has'} fewer penalty points than"
    return f"{say_is(names)} {say_ahead(criterion)}"


def say_ahead(criterion: Criterion) -> str:
    """Return what a system is that is ahead: "rated higher than"."""
    if criterion.family.compares:
        return "preferred to"
    if criterion.family.decides:
        more = "less" if criterion.better == "lower" else "more"
        return f"accepted {more} often than"
    return "rated lower than" if criterion.better == "lower" else "rated higher than"


def write_amount(figure: Figure, criterion: Criterion) -> str:
    """Return the size of a difference, without its sign: "0.42 points"."""
    value = figure.value or 0.0
    if figure.unit == "ratio":
        return f"{write_number(value, figure.unit)} times"
    text, words = write_number(abs(value), figure.unit), criterion.unit_words
    if text == "1":
        words = words.removesuffix("s")
    return f"{text} {words}".strip()


def write_ci(figure: Figure) -> str:
    """ "95% CI 0.23 to 0.61", or "no interval"."""
    interval = write_interval(figure)
    return f"{100 * figure.level:g}% CI {interval}" if interval else "no interval"


def say_p(p: float | None, lead: str = "p") -> str:
    """ "p = .012", "corrected p < .001"; "" for None."""
    if p is None:
        return ""
    text = write_p(p)
    return f"{lead} {text}" if text[0] in "<>" else f"{lead} = {text}"


def say_tested(pair: Pair, *, is_size: bool = False) -> str:
    """ "95% CI 0.23 to 0.61, corrected p < .001"; `is_size`: of the difference without its sign."""
    figure = pair.difference
    if is_size and figure.unit != "ratio" and (figure.value or 0) < 0:
        low, high = (None if end is None else -end for end in (figure.high, figure.low))
        figure = replace(figure, low=low, high=high)
    p = say_p(figure.p_corrected, "corrected p") or say_p(figure.p)
    return ", ".join(filter(None, (write_ci(figure), p)))


def find_higher(pair: Pair) -> tuple[str, str]:
    """Return the system with the better figure first, whether or not the difference is clear."""
    if pair.ahead:
        return pair.ahead
    equal = 1.0 if pair.difference.unit == "ratio" else 0.0
    is_first = ((pair.difference.value or equal) > equal) != (pair.criterion.better == "lower")
    return (pair.first, pair.second) if is_first else (pair.second, pair.first)


def name_label(criterion: Criterion) -> str:
    """Return the label of a question as it stands within a sentence."""
    label = criterion.label
    first = label.partition(" ")[0]
    # "BLEU" and names keep their capitals
    return label[:1].lower() + label[1:] if first[1:].islower() or len(first) == 1 else label


def join_sentences(sentences: Iterable[str]) -> str:
    return " ".join(start_sentence(sentence) for sentence in sentences if sentence)


@dataclass(frozen=True)
class Notes:
    """Sentences of notes: a function for each code, whose arguments are the facts of the note."""

    by_code: dict[str, Callable[..., str]] = field(default_factory=dict)

    def add(self, write: Callable[..., str]) -> Callable[..., str]:
        """Register the sentence of the code that the function is named after."""
        self.by_code[write.__name__] = write
        return write

    def write(self, note: Mapping[str, Any]) -> str:
        return self.by_code[note["code"]](**_isolate_names(note["facts"]))


def _isolate_names(facts: Any) -> Any:
    """Return the facts with every text as `isolate` leaves it."""
    if isinstance(facts, str):
        return isolate(facts)
    if isinstance(facts, Mapping):
        return {key: _isolate_names(value) for key, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [_isolate_names(value) for value in facts]
    return facts

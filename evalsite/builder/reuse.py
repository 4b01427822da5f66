"""Questions of all instruments that a person may use, to be found and used again."""

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django.utils.html import strip_tags

from evalsite.builder.controls import Plain
from evalsite.builder.gallery import Entry, list_gallery, list_own, list_protocols
from evalsite.builder.keys import make_key
from evalsite.instruments.schema import Criterion
from evalsite.instruments.texts import digest_content
from evalsite.lib.markdown import render_markdown
from evalsite.studies.models import Study

# kept with a question that was taken from another instrument: which one, and what it was
ORIGIN = "x_from"


@dataclass(frozen=True, kw_only=True)
class Known:
    """A question of an instrument. `studies` counts those that the reader may see."""

    entry: Entry
    criterion: Criterion
    studies: int

    @property
    def value(self) -> str:
        return f"{self.entry.value}:{self.criterion.key}"

    @property
    def answer(self) -> str:
        return self.criterion.scale.words()

    @property
    def text(self) -> str:
        """Return what is asked, without its marks."""
        criterion = self.criterion
        return strip_tags(render_markdown(criterion.question or criterion.definition))

    @property
    def version(self) -> int:
        return self.entry.config.version


def list_questions(user: Any, search: str) -> list[Known]:
    """Return the questions with all these words, of protocols, the gallery and instruments."""
    words = search.casefold().split()
    studies = Study.objects.visible_to(user)
    of_key = Counter(studies.order_by().values_list("protocol", flat=True))
    questions = []
    for entry in [*list_protocols(), *list_gallery(), *list_own(user)]:
        for criterion in entry.config.criteria:
            text = " ".join([
                criterion.label, criterion.question, criterion.definition,
                criterion.scale.name_title(), entry.config.title, entry.config.source.cite,
            ]).casefold()  # fmt: skip
            if all(word in text for word in words):
                known = Known(entry=entry, criterion=criterion, studies=of_key[entry.config.key])
                questions.append(known)
    return questions


def take_question(value: str, user: Any, taken: set[str]) -> Plain | None:
    """Return a question as data, with where it comes from, under a key that isn't taken."""
    known = next(
        (question for question in list_questions(user, "") if question.value == value), None
    )
    if known is None:
        return None
    config = known.entry.config
    data = next(part for part in config.to_data()["criteria"] if part["key"] == known.criterion.key)
    question: Plain = deepcopy(data)
    question.pop("ask_if", None)  # it refers to questions that aren't here
    question["key"] = make_key(question["key"], taken)
    return question | {
        ORIGIN: {
            "title": config.title, "version": config.version, "sha256": _digest(question),
        }
    }  # fmt: skip


def _digest(question: Mapping[str, Any]) -> str:
    """Return the name of what people are asked, whatever its column and its condition."""
    left_out = (ORIGIN, "key", "ask_if", "required")
    return digest_content({name: part for name, part in question.items() if name not in left_out})


def describe_origin(question: Mapping[str, Any]) -> str:
    """Say where a question was taken from, and whether it was changed since."""
    origin = question.get(ORIGIN)
    if not isinstance(origin, Mapping):
        return ""
    named = f"“{origin.get('title')}”, version {origin.get('version')}"
    if _digest(question) == origin.get("sha256"):
        return f"From {named}, unchanged"
    return f"Differs from {named}"

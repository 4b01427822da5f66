"""Search in instruments: their words, and what people call them elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.builder.gallery import TASKS, Entry


@dataclass(frozen=True)
class Synonyms:
    """Words that people use for instruments of these keys, or for all of two outputs."""

    meaning: str
    words: tuple[str, ...]
    keys: tuple[str, ...] = ()

    def has(self, entry: Entry) -> bool:
        return entry.config.key in self.keys if self.keys else entry.config.layout.is_pair


SYNONYMS = (
    Synonyms(
        "two outputs side by side",
        ("A/B test", "AB test", "A/B", "AB", "pairwise", "side by side", "arena", "Elo",
         "preference", "win rate"),
    ),
    Synonyms("translation", ("MT", "WMT", "DA", "SQM", "MQM", "ESA"), TASKS["Translation"]),
    Synonyms(
        "summaries and factual consistency",
        ("SummEval", "summarisation", "summarization", "faithfulness", "hallucination"),
        ("summeval", "summarize_feedback", "factual_checklist"),
    ),
    Synonyms(
        "answers with a source",
        ("RAG", "grounding", "citation"),
        ("attribution", "factual_checklist"),
    ),
    Synonyms(
        "chat replies",
        ("rubric", "Likert", "helpfulness", "HelpSteer", "MT-Bench"),
        ("arena_preference", "helpsteer2_preference", "helpsteer2"),
    ),
    Synonyms(
        "text from data", ("data-to-text", "NLG", "WebNLG", "RankME"), TASKS["Text from data"]
    ),
    Synonyms(
        "conversations",
        ("chatbot", "multi-turn"),
        ("conversation_turns", *TASKS["Dialogue"]),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Search:
    """What was searched for: words to find in texts, and words known from elsewhere."""

    words: tuple[str, ...]
    known: tuple[tuple[str, Synonyms], ...]

    def matches(self, entry: Entry) -> bool:
        text = f" {_normalise(entry.text)}"
        return all(f" {word}" in text for word in self.words) and all(
            synonyms.has(entry) or f" {word} " in f"{text} " for word, synonyms in self.known
        )


def read_search(query: str) -> Search:
    """Set the words apart that people use elsewhere; the longest first: MT-Bench isn't MT."""
    text = f" {_normalise(query)} "
    phrases = [(_normalise(word), group) for group in SYNONYMS for word in group.words]
    known = []
    for phrase, group in sorted(phrases, key=lambda named: -len(named[0])):
        if f" {phrase} " in text:
            text = text.replace(f" {phrase} ", " ")
            known.append((phrase, group))
    return Search(tuple(text.split()), tuple(known))


def search(entries: Sequence[Entry], query: str) -> list[Entry]:
    """Return the entries that have all words of a query."""
    asked = read_search(query)
    return [entry for entry in entries if asked.matches(entry)]


def _normalise(text: str) -> str:
    """Return letters and digits in words: "A/B" and "a b" are alike, so are "a" and "A"."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))

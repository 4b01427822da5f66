"""Instruments are found by their own words, and by what people call them elsewhere."""

import pytest

from evalsite.builder.gallery import list_shipped
from evalsite.builder.instrument_search import search

PAIRS = {"arena_preference", "helpsteer2_preference", "which_is_better", "pairwise"}
TRANSLATION = {
    "adequacy_fluency", "da_sqm", "direct_assessment", "esa", "mqm", "sqm",
}  # fmt: skip
SUMMARIES = {"summeval", "summarize_feedback", "factual_checklist"}
CHAT = {"arena_preference", "helpsteer2_preference", "helpsteer2"}
DATA = {"webnlg", "magnitude"}
CONVERSATIONS = {"conversation_turns", "dialogue", "fluency", "pairwise"}


def find(query: str) -> set[str]:
    return {entry.config.key for entry in search(list_shipped(), query)}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (
            ["A/B", "AB test", "ab", "pairwise", "side by side", "arena", "Elo", "win rate",
             "preference"],
            PAIRS,
        ),
        (["MT", "WMT", "DA", "SQM", "MQM", "ESA"], TRANSLATION),
        (["SummEval", "summarisation", "faithfulness", "hallucination"], SUMMARIES),
        (["RAG", "grounding", "citation"], {"factual_checklist"}),
        (["rubric", "Likert", "HelpSteer", "MT-Bench", "mt bench"], CHAT),
        (["data-to-text", "NLG", "WebNLG", "RankME"], DATA),
        (["chatbot", "multi-turn", "Multi turn"], CONVERSATIONS),
    ],
)  # fmt: skip
def test_words_of_elsewhere_find_what_they_mean(words, meant):
    for word in words:
        assert meant <= find(word), word
        # by its meaning, not because it is a part of many other words
        assert len(find(word)) <= len(meant) + 2, word


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("adequacy ldc", {"adequacy_fluency"}),
        ("pairwise readability", {"pairwise"}),
        ("Which text is better", {"which_is_better"}),
        ("zebra", set()),
    ],
)
def test_all_words_are_found_in_title_summary_questions_or_source(query, keys):
    assert find(query) == keys


def test_empty_search_finds_everything():
    assert find("  ") == {entry.config.key for entry in list_shipped()}

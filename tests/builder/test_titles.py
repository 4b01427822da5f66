"""The title of a new study comes from its files, and never names a system without a warning."""

from datetime import date

import pytest

from evalsite.builder.titles import find_system, propose_title

DAY = date(2026, 11, 28)


@pytest.mark.parametrize(
    ("paths", "run", "title"),
    [
        (["station-news/src.txt", "station-news/mt.txt"], "", "Station news"),
        (["a/news/one.csv", "a/news/two.csv"], "", "News"),
        (["refund_v1.jsonl", "refund_v2.jsonl"], "", "Refund"),
        (["refund_one.jsonl", "refund_two.jsonl"], "", "Refund"),
        (["hotel replies.csv"], "", "Hotel replies"),
        (["results.json"], "Refund assistant, two prompts", "Refund assistant, two prompts"),
        (["results.json"], "", "Study of 28 November"),
        (["one.txt", "two.txt"], "", "Study of 28 November"),
        (["alpha.csv"], "", "Study of 28 November"),
        ([], "", "Study of 28 November"),
        (["2026.csv"], "", "Study of 28 November"),
        ([f"{'word ' * 40}.csv"], "", f"Word {'word ' * 23}".strip()),
    ],
)  # fmt: skip
def test_title_is_proposed_from_folder_stem_or_run(paths, run, title):
    assert propose_title(paths, run=run, systems=["alpha", "b"], today=DAY) == title


@pytest.mark.parametrize(
    ("title", "system"),
    [
        ("Alpha and the others", "alpha"),
        ("GPT-4 in hotels", "gpt-4"),
        ("Alphabet", ""),
        ("A study of b", ""),
    ],
)
def test_system_is_named_only_as_a_word_of_its_own(title, system):
    assert find_system(title, ["a", "b", "alpha", "gpt-4"]) == system

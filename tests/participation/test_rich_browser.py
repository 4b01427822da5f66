"""Markdown, code, tables and conversations on a participant's page, in a browser."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evalsite.studies.models import Output, Study, StudyVersion
from evalsite.studies.version_cache import forget_versions
from tests.support.batches import import_rows
from tests.support.browsing import Watch, find_faults_in_turn, take_a_set
from tests.support.factories import launch, make_study
from tests.support.hostile import EVERYTHING

pytestmark = pytest.mark.django_db(transaction=True)

REPLY = """You can do it with a dictionary whose keys are the **sorted letters** of each word:

```python
from collections import defaultdict
def group_anagrams(words):
    groups = defaultdict(list)  # by sorted letters
    for word in words:
        groups["".join(sorted(word))].append(word)
    return list(groups.values())
```

It runs in `O(n · k log k)`, that is $k \\log k$ for each word. See [the docs](https://example.org/a).

| Key | Time | Good for |
| --- | --- | --- |
| sorted letters | k log k | short words |
| 26 counts | k | long words, a to z only |

# Notes

1. Call `word.lower()` first if case doesn't matter.
2. The order of the groups is the order in which they first appear.
"""
TURNS = [
    {"role": "user", "content": "Write a Python function that groups anagrams."},
    {"role": "assistant", "tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]},
    {"role": "tool", "name": "search", "content": "3 results"},
]


def make_rich_study(kind: str, texts: list[str], *, source: str, of: str) -> Study:
    """A live study whose instrument, frozen at its launch, has these kinds of texts."""
    study: Study = make_study(protocol="pairwise", items=0, k=1, set_size=1)
    import_rows(study, [
        {"item": "1", "dialogue": source, "system": f"s{number}", "output": text}
        for number, text in enumerate(texts)
    ])  # fmt: skip
    launch(study)
    for version in StudyVersion.objects.filter(study=study):
        item: dict[str, Any] = version.content["instrument"]["item"]
        item["outputs"]["kind"] = kind
        item["inputs"][0]["kind"] = of
        version.save(update_fields=["content"])
    forget_versions()
    return study


@pytest.mark.torture
def test_markdown_and_a_conversation_are_shown_as_such(page: Page, live_server):
    watch = Watch(page)
    study = make_rich_study(
        "markdown", [REPLY, EVERYTHING], source=json.dumps(TURNS), of="conversation"
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    take_a_set(page, live_server.url, study)

    expect(page.locator(".md pre .hk").first).to_have_text("from")
    expect(page.get_by_role("table")).to_have_count(1)
    expect(page.get_by_text("the docs (https://example.org/a)")).to_be_visible()
    # nothing has to be opened first
    expect(page.get_by_text("Call of search")).to_be_visible()
    expect(page.get_by_text("{}", exact=True)).to_be_visible()
    assert page.locator(".md :is(a, img, script, [evil], [onclick])").count() == 0
    assert page.evaluate("'evil' in window") is False
    assert find_faults_in_turn(page) == []
    assert [url for url in asked if not url.startswith(live_server.url)] == []
    assert watch.found == []
    # what is stored is what came
    assert set(
        Output.objects.filter(item__study=study, item__batch__isnull=False).values_list(
            "text", flat=True
        )
    ) == {REPLY, EVERYTHING}


@pytest.mark.torture
def test_words_are_found_in_a_long_text(page: Page, live_server):
    watch = Watch(page)
    paragraphs = [
        f"Paragraph {number} of the report. {'More words. ' * 20}" for number in range(40)
    ]
    paragraphs[35] += "The Season Tickets stay valid."
    study = make_rich_study(
        "code", ["x = 1", "y = 2"], source="\n\n".join(paragraphs), of="markdown"
    )

    take_a_set(page, live_server.url, study)
    field = page.get_by_role("searchbox")
    field.fill("season tickets")

    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    expect(page.get_by_text("The Season Tickets stay valid.")).to_be_in_viewport()
    field.fill("paragraph 3")
    field.press("Enter")
    expect(page.get_by_text("2 of 11", exact=True)).to_be_visible()
    field.fill("nowhere")
    expect(page.get_by_text("Not found", exact=True)).to_be_visible()
    assert page.get_by_role("radio").first.is_visible()
    assert find_faults_in_turn(page) == []
    assert watch.found == []

"""Questions of pages are kept as HTML: each page shows those of its own item and version."""

from typing import Any

import pytest
from django.template.loader import render_to_string

from evalsite.instruments.checks import read_instrument
from evalsite.participation.view_models import view_item
from tests.support.instruments import read_instrument as read_content


def render(scale: dict[str, Any], statements: str = "It is right.") -> str:
    content = read_content("da_sqm")
    for part in ("practice", "examples", "comprehension", "translations"):
        content.pop(part, None)
    claims = {"name": "claims", "label": "Claims", "kind": "statements"}
    content["item"]["inputs"] = [claims]
    question = {"key": "score", "label": "Score", "question": "How good?", "per": "output"}
    content["criteria"] = [question | {"scale": scale}]
    item = view_item(
        read_instrument(content), inputs={"claims": statements}, texts=["A text"], options={}
    )
    (asked,) = item.questions
    return render_to_string(
        "participation/_question.html", {"question": asked, "item": item, "LANGUAGE_CODE": "en"}
    )


@pytest.mark.parametrize("values", [(-1, -2), (0, 1), (0.5, 1)])
def test_question_with_another_point_is_another_question(values):
    pages = [
        render({"kind": "likert", "points": [
            {"value": value, "label": "Bad"}, {"value": 3, "label": "Good"},
        ]})
        for value in values
    ]  # fmt: skip

    assert [f'value="{value}"' in page for value, page in zip(values, pages, strict=True)] == [
        True, True,
    ]  # fmt: skip


def test_statements_are_those_of_the_item():
    scale = {"kind": "checklist", "yes": "Yes", "no": "No", "from_column": "claims"}

    first, second = (render(scale, text) for text in ("The sky is blue.", "Snow is white."))

    assert "The sky is blue." in first
    assert "Snow is white." in second

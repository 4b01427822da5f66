"""Items that wait for more of their rows, in memory or in a file, are the same."""

import pytest

from evalsite.data.items import items
from evalsite.data.items.items import DraftItem, DraftOutput, Drafts

TEXTS = ["plain", "“é”\u2028 😀", 'a "b"\n\r\n\\', "\0\x1f", "\ud800"]


@pytest.mark.parametrize("at_hand", [2, 4_000])
@pytest.mark.parametrize("in_memory", [10, 1024 * 1024])
def test_drafts_come_back_in_order_with_what_was_added(
    monkeypatch: pytest.MonkeyPatch, at_hand: int, in_memory: int
) -> None:
    monkeypatch.setattr(items, "_AT_HAND", at_hand)
    monkeypatch.setattr(items, "_IN_MEMORY", in_memory)
    drafts, expected = Drafts(), []
    for number, text in enumerate(TEXTS):
        draft = DraftItem(f"key {number}", number, number, {"input": text})
        drafts.begin(draft)
        draft.outputs.append(DraftOutput("alpha", text, 1, 1, draft.shared, {"more": text}))
        expected.append(draft)
    # later rows of items in another order, one of them with values of its own
    for number in (3, 0, 2, 0):
        draft = drafts.get(f"key {number}")
        assert draft is not None
        draft.outputs.append(DraftOutput("beta", "b", 2, 2, draft.shared, {}))
        draft.outputs.append(DraftOutput("beta", "b", 2, 2, {"input": "own"}, {}, "p"))
        if draft is not expected[number]:
            expected[number] = draft

    twice = [list(drafts), list(drafts)]

    assert twice == [expected, expected]
    assert len(drafts) == len(TEXTS)
    assert "key 0" in drafts
    assert drafts.get("none") is None
    assert all(draft.outputs[0].shared is draft.shared for draft in twice[0])

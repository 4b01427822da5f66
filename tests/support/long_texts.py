"""Items of extreme lengths, for each layout of a rating page."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.conf import settings

from evalsite.studies.models import Study
from tests.support.batches import Row, import_rows
from tests.support.factories import launch, make_study
from tests.support.instruments import GALLERY, make_built_study

_FIELDS: dict[str, Any] = {
    "k": 1,
    "groups": "free",
    "is_practice_on": False,
    "is_eligibility_on": False,
}


@lru_cache(maxsize=1)
def read_texts() -> dict[str, Any]:
    """Return the texts by name."""
    return json.loads((settings.BASE_DIR / "fixtures" / "long_texts.json").read_bytes())


def _talk(turns: int, words: int = 0) -> str:
    """Return a dialogue of so many turns; with a number, each has so many words."""
    texts = read_texts()
    spoken = texts["turns_20"][:turns]
    long = " ".join(texts["words_120"].split()[:words])
    return "\n".join(f"{turn['speaker']}: {long or turn['text']}" for turn in spoken)


def _chat(turns: int) -> str:
    spoken = read_texts()["turns_20"][:turns]
    roles = ("user", "assistant")
    return json.dumps(
        [{"role": roles[n % 2], "content": turn["text"]} for n, turn in enumerate(spoken)]
    )


def _items(inputs: Sequence[Mapping[str, str]], outputs: Sequence[Sequence[str]]) -> list[Row]:
    return [
        {"item": f"i{number}", **columns, "system": f"s{place}", "output": text}
        for number, (columns, texts) in enumerate(zip(inputs, outputs, strict=True), start=1)
        for place, text in enumerate(texts, start=1)
    ]


def _pairs() -> list[tuple[str, tuple[str, str]]]:
    """Return what both are about and the two texts; where it is empty, a conversation."""
    t = read_texts()
    word, short, middle = t["one_word"], t["words_30"], t["words_120"]
    spaceless = (t["no_spaces_300"], t["no_break_cjk"][:240])
    return [
        (word, (word, word)),
        (short, (middle, short)),
        (short, (t["words_3000"], word)),
        (t["words_300"], (t["words_600"], t["words_600"])),
        ("", (middle, f"{middle} {word}")),
        (short, spaceless),
        (short, (t["right_to_left"], t["blank_lines"])),
        (short, (t["code_markdown"], t["table_10_columns"])),
    ]


def _rows(layout: str) -> list[Row]:
    t = read_texts()
    word, middle, long = t["one_word"], t["words_120"], t["words_3000"]
    if layout == "pairwise":
        talks = [{"dialogue": f"user: {text}" if text else _talk(20)} for text, _ in _pairs()]
        return _items(talks, [texts for _, texts in _pairs()])
    if layout == "arena_preference":
        asked = [{"prompt": text or _talk(20)} for text, _ in _pairs()]
        return _items(asked, [texts for _, texts in _pairs()])
    if layout == "rrgen":
        reviews = (t["words_30"], long, t["table_10_columns"], t["right_to_left"])
        replies = (long, middle, t["table_10_columns"], t["no_spaces_300"])
        return _items([{"review": text} for text in reviews], [[text] for text in replies])
    if layout == "magnitude":
        utterances = [[word, word + ".", word + "!"], [long, word, t["words_300"]],
                      t["slots_40_utterances"]]  # fmt: skip
        standards = [("name[A]", word), (t["slots_40"], long),
                     (t["slots_40_standard"], t["slots_40_standard_utterance"])]  # fmt: skip
        items = [
            {
                "mr": mr,
                "standard_mr": standard,
                "standard_utterance": utterance,
                "standard_score": "100",
            }
            for mr, (standard, utterance) in zip(
                ("name[B]", t["slots_40"], t["slots_40"]), standards, strict=True
            )
        ]
        return _items(items, utterances)
    if layout == "webnlg":
        tables = (t["table_10_columns"].replace("| --- " * 10 + "|\n", ""), "a,b\n1,2")
        return _items([{"data": text} for text in tables], [[middle], [long]])
    if layout == "helpsteer2":
        chats = [{"prompt": _chat(20)}, {"prompt": _chat(1)}]
        return _items(chats, [[t["code_markdown"]], [t["table_10_columns"]]])
    talks = [_talk(1), _talk(1), _talk(20), _talk(20, words=120)]
    replies = [word, long, t["turns_20_reply"], t["words_600"]]
    return _items([{"dialogue": text} for text in talks], [[text] for text in replies])


LAYOUTS = ("arena_preference", "dialogue", "magnitude", "pairwise", "rrgen", "webnlg", "helpsteer2")


def make_long_study(layout: str) -> Study:
    """A live study of this protocol or gallery instrument, all its long items in one set."""
    rows = _rows(layout)
    count = len({row["item"] for row in rows})
    path = GALLERY / f"{layout}.json"
    if path.exists():
        study = make_built_study(json.loads(path.read_bytes()), set_size=count, **_FIELDS)
    else:
        study = make_study(protocol=layout, items=0, set_size=count, **_FIELDS)
    import_rows(study, rows)
    return launch(study)


def read_marco() -> list[list[Row]]:
    """Return the items of the MarCo evaluation, each as its rows, in the order of the file."""
    path = settings.BASE_DIR / "fixtures" / "published" / "marco_pairwise" / "batch_long.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [list(group) for _, group in groupby(rows, key=itemgetter("item"))]


def make_marco_study(items: Sequence[Sequence[Row]]) -> Study:
    """A live pairwise study of these items, all of them in one set."""
    study = make_study(protocol="pairwise", items=0, set_size=len(items), **_FIELDS)
    import_rows(study, [row for rows in items for row in rows])
    return launch(study)

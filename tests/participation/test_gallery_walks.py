"""A whole set of every gallery instrument, on a screen and on a phone, with texts that are ugly."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from evalsite.builder.gallery import list_gallery
from evalsite.core.jobs.services import run_job
from evalsite.data.items.importer import import_file
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Annotation
from evalsite.instruments.invented import invent_inputs, invent_outputs
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Study
from tests.support.batches import Row, import_rows
from tests.support.browsing import LOOKS, Watch, find_faults, find_overflow, follow
from tests.support.factories import make_annotator, make_user, mint_link
from tests.support.instruments import GALLERY, make_built_study, read_instrument
from tests.support.long_texts import read_texts

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MAIN = ".actions .main:visible, .dock .main"
# of the instruments that have a batch of their own in the gallery
BATCHES = {
    "adequacy_fluency": "adequacy_fluency.csv",
    "arena_preference": "arena_preference.jsonl",
    "best_worst_four": "best_worst_four.jsonl",
    "conversation_turns": "conversation_turns.jsonl",
    "da_sqm": "esa.csv",
    "direct_assessment": "esa.csv",
    "esa": "esa.csv",
    "mqm": "esa.csv",
    "post_edit": "post_edit.csv",
    "ranking": "ranking.jsonl",
    "sqm": "esa.csv",
    "summeval": "summeval.jsonl",
}
WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
UGLY = (
    f"{WORD} https://example.org/{'a' * 180}?q=%F0%9F%99%83 <b>not bold</b> &amp; 👩‍👩‍👧‍👦👩‍👩‍👧‍👦 "
    f"هذا نص طويل من اليمين إلى اليسار 这是一段没有空格的很长的文字{'字' * 120} "
)
MARKDOWN = f"""# {WORD}

| {WORD} | b | c | d | e | f |
| --- | --- | --- | --- | --- | --- |
| 1 | {WORD} | 3 | {"x" * 90} | 5 | 6 |

```
{"return_a_very_long_line_of_code(" * 8}
```

1. {UGLY}
"""
# parts whose text is cut off or outside of the window, unless they can be scrolled to
FIND_CUT = """() => {
  const faults = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, part = text.parentElement;
    if (!text.data.trim() || !part.checkVisibility()) continue;
    if (part.closest(".vh, script, select")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    for (let around = part; around !== document.body; around = around.parentElement) {
      const {overflowX, overflowY, position, clipPath} = getComputedStyle(around);
      if (clipPath !== "none" && position === "absolute") break;
      const edge = around.getBoundingClientRect();
      if (["auto", "scroll"].includes(overflowX) || ["auto", "scroll"].includes(overflowY)) break;
      const cutsX = ["hidden", "clip"].includes(overflowX);
      const cutsY = ["hidden", "clip"].includes(overflowY);
      if ((cutsX && (box.right > edge.right + 2 || box.left < edge.left - 2))
        || (cutsY && (box.bottom > edge.bottom + 2 || box.top < edge.top - 2))) {
        faults.push("cut: " + text.data.trim().slice(0, 40) + " in " + around.className);
        break;
      }
      if (around.tagName === "MAIN" && (box.right > innerWidth + 1 || box.left < -1)) {
        faults.push("outside: " + text.data.trim().slice(0, 40));
      }
    }
  }
  return [...new Set(faults)].slice(0, 5);
}"""
# controls that something else covers when they are in the middle of the window, or too small
FIND_COVERED = """() => [...document.querySelectorAll(
  "main :is(input:not([type=hidden]), button, textarea, select, summary), .dock :is(button, a)"
)].filter((control) => control.checkVisibility() && !control.disabled && !control.closest(".vh"))
.filter((control) => {
  const shown = control.closest("label") || control;
  shown.scrollIntoView({block: "center", behavior: "instant"});
  const box = shown.getBoundingClientRect();
  if (box.width < 2 || box.height < 2) return false;
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return !hit || !(shown.contains(hit) || hit.contains(shown) || hit.closest("label") === shown);
}).map((control) => {
  const box = control.getBoundingClientRect();
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return `covered by ${hit?.outerHTML.slice(0, 60)}: ${control.outerHTML.slice(0, 60)}`;
}).slice(0, 5)"""


def make_ugly_rows(config: Instrument) -> list[Row]:
    """Return two items of this instrument: with ugly texts, and with very long ones."""
    long = read_texts()["words_600"]
    rows = []
    for number, (text, rich) in enumerate(((UGLY * 2, MARKDOWN), (long, long)), start=1):
        line = " ".join(text.split())
        turns = [("user", text), ("assistant", rich), ("user", line)]
        chat = json.dumps([{"role": role, "content": words} for role, words in turns])
        kinds = {
            "text": text, "markdown": rich, "conversation": chat, "statements": f"{line}\n{line}",
            "table": f"{WORD},b\n{WORD},{WORD}\n1,{'x' * 90}", "code": f"{'call(' * 60}\n{text}",
        }  # fmt: skip
        columns = {column.name: column.kind for column in config.columns}
        inputs = {
            name: kinds.get(columns[name], cell) for name, cell in invent_inputs(config).items()
        }
        for place, output in enumerate(invent_outputs(config), start=1):
            words = json.dumps(
                [{"role": "user", "content": text}, {"role": "assistant", "content": rich}]
            )
            shown = words if output.startswith("[{") else (rich if place == 1 else text)
            rows.append(
                {"item": f"ugly-{number}", **inputs, "system": f"s{place}", "output": shown}
            )
    return rows


def make_live(key: str) -> Study:
    """A live study whose only set has an item of its gallery batch, and two ugly ones."""
    content = read_instrument(key)
    study = make_built_study(
        content, k=1, set_size=3, is_practice_on=False, item_order="uploaded", groups="free"
    )
    import_rows(study, make_ugly_rows(Instrument.model_validate(content)))
    if key in BATCHES:
        batch = import_file(study=study, path=GALLERY / "batches" / BATCHES[key], by=None)
        batch.items.exclude(pk=batch.items.earliest("pk").pk).delete()
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    return study


def answer_all(page: Page) -> None:
    """Every question that is asked has an answer, those that an answer brings up, too."""
    written = set()
    for _ in range(3):
        for box in page.locator("#work textarea:visible").all():
            if (name := box.get_attribute("name")) not in written:
                box.fill("Because it is shorter.")
                written.add(name)
        names = page.eval_on_selector_all(
            "#work input[type=radio]:enabled",
            "all => [...new Set(all.filter(one => one.checkVisibility()).map(one => one.name))]",
        )
        for name in names:
            group = page.locator(f'#work [type=radio][name="{name}"]')
            if not page.locator(f'#work [type=radio][name="{name}"]:checked').count():
                group.nth(group.count() // 2).check()
    ticks = page.locator("#work fieldset:has([type=checkbox]):not(.post-edit):visible")
    for group in ticks.all():
        if not group.locator(":checked").count():
            group.locator("[type=checkbox]").first.check()
    for box in page.locator("#work .number:visible").all():
        box.fill("50")


def look_at(page: Page) -> list[str]:
    """Return what is wrong with the page in this window."""
    width = page.viewport_size["width"] if page.viewport_size else 0
    page.evaluate("window.scrollTo(0, 0)")
    return [
        *find_overflow(page, width),
        *page.evaluate(FIND_CUT),
        *page.evaluate(FIND_COVERED),
        *find_faults(page),
    ]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(entry.config.key, marks=() if number == 0 else pytest.mark.torture)
        for number, entry in enumerate(
            sorted(list_gallery(), key=lambda entry: entry.config.key != "arena_preference")
        )
    ],
)
def test_set_can_be_rated_whatever_the_texts(
    page: Page, live_server: Any, key: str, width: int, scheme: Any
) -> None:
    watch = Watch(page)
    study = make_live(key)
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{live_server}{mint_link(make_annotator(study))}")
    follow(page, MAIN)
    faults = {}
    while "/items/" in page.url:
        place = page.url.rstrip("/").rpartition("/")[2]
        faults[place] = look_at(page)
        answer_all(page)
        faults[f"{place}, answered"] = look_at(page)
        follow(page, MAIN)
    faults["review"] = look_at(page)
    follow(page, MAIN)

    assert {place: texts for place, texts in faults.items() if texts} == {}
    assert Annotation.objects.counted().count() == study.items.main().count()
    assert watch.found == []

import json, pytest
from tests.support.factories import make_annotator, mint_link
from tests.support.instruments import GALLERY, make_built_study
from tests.support.browsing import find_faults, walk_to_work
from tests.support.geometry import find_hidden
from tests.annotation.test_gallery_browser import make_live

pytestmark = pytest.mark.django_db(transaction=True)
OUT = "/work/notes/spans-shots"


@pytest.mark.parametrize("key,width", [("esa", 1280), ("mqm", 360), ("attribution", 1280)])
def test_x(page, live_server, key, width):
    study = make_live(key, "esa.csv", is_practice_on=True) if key != "attribution" else None
    if study is None:
        content = json.loads((GALLERY / f"{key}.json").read_bytes())
        study = make_built_study(content, k=1, set_size=1)
        from tests.support.batches import import_rows
        from tests.support.factories import launch

        import_rows(
            study,
            [
                {
                    "item": "a",
                    "question": "When?",
                    "evidence": "It was **built** in 1887.",
                    "system": "x",
                    "output": "In *1887* by Brandt.",
                }
            ],
        )
        study = launch(study)
    page.set_viewport_size({"width": width, "height": 800})
    errors = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    from tests.support.factories import open_to_everyone

    open_to_everyone(study)
    page.goto(f"{live_server}/join/{study.pk}/")
    for n in range(9):
        page.screenshot(path=f"{OUT}/walk-{key}-{n}.png", full_page=True)
        if "/practice/" in page.url:
            break
        for q in page.locator("fieldset.q:visible").all():
            label = q.locator("label").all()
            rights = [
                c["right"]
                for c in json.loads((GALLERY / f"{key}.json").read_bytes()).get("comprehension", [])
            ]
            for l in label:
                if any(r in l.inner_text() for r in rights):
                    l.click()
        page.click("button[value=agree]") if page.locator(
            "button[value=agree]"
        ).count() else page.click(".actions .main:visible, .dock .main, .btn.main")
        page.wait_for_load_state("networkidle")
    page.wait_for_load_state("networkidle")
    if key == "attribution":
        page.get_by_label("Yes, I understand it").check()
        page.get_by_label("In part").check()
        page.wait_for_timeout(300)
        page.screenshot(path=f"{OUT}/practice-{key}-asked.png", full_page=True)
    page.focus("h1")
    page.keyboard.press("m")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    if key == "mqm":
        page.keyboard.type("mis")
    page.keyboard.press("1")
    if key == "esa":
        page.fill("[name=score]", "30")
    if key == "attribution":
        page.locator("fieldset:has-text('How far') label").first.click()
    page.click(".dock .main")
    page.wait_for_timeout(1500)
    page.screenshot(path=f"{OUT}/practice-{key}-{width}.png", full_page=True)
    print(page.url, errors, find_faults(page), find_hidden(page, (width, 800)))

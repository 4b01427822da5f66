import pytest
from evalsite.protocol import get_protocol
from tests.support.answering import make_live
from tests.support.browsing import *
pytestmark = pytest.mark.django_db(transaction=True)

@pytest.mark.parametrize("width,height,scheme", [(1280, 800, "light"), (360, 740, "dark")])
def test_shots(page, live_server, width, height, scheme):
    watch = Watch(page)
    study = make_live(get_protocol("dialogue"), 11, set_size=11, k=1, options={"screen": "sheet"}, max_sets=5, has_bonus=True)
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    take_a_set(page, str(live_server), study)
    print(page.url)
    d = f"/tmp/sheetshots/{width}"
    page.screenshot(path=f"{d}-top.png")
    page.screenshot(path=f"{d}-full.png", full_page=True)
    page.click(".jump > summary")
    page.screenshot(path=f"{d}-menu.png")
    page.click(".jump a[href='#q1']")
    page.screenshot(path=f"{d}-q1.png")
    for name, v in (("appropriateness", 3), ("information_content", 2), ("human_likeness", 5)):
        page.check(f"#q1-{name}-{v}")
    page.wait_for_selector(".jump .done", state="attached")
    page.screenshot(path=f"{d}-q1done.png")
    page.click(MAIN)
    page.wait_for_timeout(800)
    page.screenshot(path=f"{d}-q2.png")
    page.check("#q2-appropriateness-1")
    page.click(MAIN)
    page.wait_for_timeout(1000)
    page.screenshot(path=f"{d}-q2err.png")
    print(watch.found)
    print(find_faults(page))
    assert find_overflow(page, width) == []

"""The pages of Set up in a browser: accessible, short, by keyboard, and without scripts."""

import pytest
from django.urls import reverse

from evalsite.decisions.models import AnalysisPlan
from evalsite.studies.items import count_words
from evalsite.studies.models import Output, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_all_looks, follow, press_tab_to
from tests.support.checks import add_checks
from tests.support.factories import launch, make_study, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# of the plan of the pages: words a tenth more at most, and one field more in sight at most
MOST = {"setup-work": (225, 5), "setup-quality": (202, 1), "setup-plan": (226, 6)}
# words in sight in main without table bodies and previews; fields in sight, a choice counted once
COUNT = """() => {
  const main = document.querySelector("main").cloneNode(true);
  // or a choice of the copy would take the place of the page's own
  main.querySelectorAll("input").forEach((field) => field.removeAttribute("name"));
  document.body.append(main);
  main.querySelectorAll(
    "tbody, .preview, .panel, iframe, script, .vh, details:not([open]) > :not(summary)"
  ).forEach((part) => part.remove());
  const words = main.innerText.split(/\\s+/).filter(Boolean).length;
  main.remove();
  const fields = [...document.querySelectorAll("main :is(input, select, textarea)")].filter(
    (field) => field.type !== "hidden" && field.checkVisibility() && !field.closest(".preview"));
  const choices = new Set(fields.filter((field) => field.type === "radio").map(({name}) => name));
  return [words, fields.filter((field) => field.type !== "radio").length + choices.size];
}"""


def make_full(user, **fields) -> Study:
    """A study on whose pages there is much to say: too little time, checks, and pay."""
    given = {"minutes_per_set": 15, "pay_per_set": "2.25", "set_size": 9, **fields}
    study = make_study(protocol="fluency", items=40, k=3, title="News summaries", by=user, **given)
    study.items.main().update(inputs={})
    Output.objects.filter(item__kind="main").update(text="word " * 326)
    count_words(study)
    add_checks(study, 2, kind="attention", outputs=1)
    return study


def go_to(page, live_server, name: str, study: Study) -> None:
    page.goto(f"{live_server}{reverse(f'admin:{name}', args=[study.pk])}")


def test_pages_are_accessible_and_short(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    watch = Watch(page)
    draft = make_full(user, checks_per_person=2)
    live = launch(make_full(user))
    counts = {}

    faults = {}
    for study, state in ((draft, "draft"), (live, "live")):
        for name in MOST:
            go_to(page, live_server, name, study)
            counts[name, state] = page.evaluate(COUNT)
            page.evaluate("document.querySelectorAll('main details').forEach(d => d.open = true)")
            faults[name, state] = find_faults_in_all_looks(page)

    assert {place: found for place, found in faults.items() if found} == {}
    assert watch.found == []
    over = {
        place: count
        for place, count in counts.items()
        if count[0] > 1.1 * MOST[place[0]][0] or count[1] > MOST[place[0]][1] + 1
    }
    assert over == {}


def test_line_follows_what_is_typed_and_enter_saves_nothing(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_full(user)
    go_to(page, live_server, "setup-work", study)

    page.focus("#id_k")
    page.keyboard.press("Control+A")
    page.keyboard.type("5")
    page.wait_for_selector("#live-headline:has-text('200 answers')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#live-headline:has-text('200 answers')")

    study.refresh_from_db()
    assert study.k == 3
    assert page.input_value("#id_k") == "5"
    page.press("button[value=save]", "Enter")
    page.wait_for_selector("text=Saved: answers per output.")
    study.refresh_from_db()
    assert study.k == 5


def test_without_scripts_buttons_do_what_typing_does(browser, live_server):
    user = make_user("jane", is_superuser=True)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, live_server, user)
    study = make_full(user)
    go_to(page, live_server, "setup-work", study)

    page.fill("#id_k", "5")
    follow(page, "button[value=preview]")
    assert "200 answers from 23 people, for £51.75" in page.inner_text("h1")
    follow(page, "text=Use 37 minutes and £5.55")
    assert page.input_value("#id_minutes_per_set") == "37"
    follow(page, "text=Save and continue")
    page.select_option("#id_checks_per_person", "2")
    follow(page, "text=Continue to the plan")

    study.refresh_from_db()
    assert (study.k, study.minutes_per_set, str(study.pay_per_set)) == (5, 37, "5.55")
    assert study.checks_per_person == 2
    assert page.url.endswith("/set-up/plan/")
    context.close()


def test_plan_is_written_by_keyboard_and_its_line_follows(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(protocol="pairwise", items=20, k=5, by=user)
    names = list(study.systems.order_by("name").values_list("name", flat=True))
    go_to(page, live_server, "setup-plan", study)

    page.focus("#id_question-0-system")
    for key in (names[1], "Tab", "is not", "Tab", names[0], "Tab", "Tab", "30"):
        if key == "Tab":
            page.keyboard.press(key)
        else:
            page.keyboard.type(key)
    page.wait_for_selector(".adds")
    page.keyboard.press("Enter")
    page.wait_for_load_state()

    assert "20 items can’t decide 30 points" in page.text_content("h1")
    assert not AnalysisPlan.objects.exists()
    # without a margin in the claim, none is asked for
    page.select_option("#id_question-0-relation", "differs")
    assert not page.is_visible("#id_question-0-margin")
    page.select_option("#id_question-0-relation", "not_worse")
    page.check("#id_hides_results")
    follow(page, "text=Save and continue to launch")
    assert page.url.endswith("/launch/")
    study.refresh_from_db()
    assert study.hides_results
    assert AnalysisPlan.objects.get().margins[0]["margin"] == 0.3


def test_plan_without_scripts(browser, live_server):
    user = make_user("jane", is_superuser=True)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, live_server, user)
    study = make_study(protocol="pairwise", items=20, k=5, by=user)
    names = list(study.systems.order_by("name").values_list("name", flat=True))
    go_to(page, live_server, "setup-plan", study)

    page.select_option("#id_question-0-system", names[0])
    page.select_option("#id_question-0-other", names[1])
    page.click("button[value=add-question]")
    page.wait_for_selector("#id_question-1-system")
    assert page.input_value("#id_question-0-system") == names[0]
    page.click("button[value=remove-question-2]")
    page.click("button.small[value=preview]")
    page.wait_for_selector(".adds")
    page.click("button[value=save]")
    page.wait_for_selector(".messagelist")
    assert AnalysisPlan.objects.get().hypotheses[0]["relation"] == "better"
    context.close()


def test_options_of_a_protocol_are_changed_below_what_people_are_asked(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(protocol="magnitude", by=user)
    go_to(page, live_server, "batch-list", study)

    page.click("#options > summary")
    faults = find_faults_in_all_looks(page)
    page.fill("#id_option-standard_score", "0")
    follow(page, "#options button")
    # refused, with the reason beside it
    assert page.locator("#options .problem").is_visible()
    page.fill("#id_option-standard_score", "250")
    follow(page, "#options button")

    study.refresh_from_db()
    assert faults == []
    assert study.options["standard_score"] == 250


@pytest.mark.parametrize("has_scripts", [True, False])
def test_systems_are_renamed_by_keyboard(browser, live_server, has_scripts):
    context = browser.new_context(java_script_enabled=has_scripts)
    page = context.new_page()
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(protocol="fluency", items=2, by=user)
    system = study.systems.order_by("name").first()
    go_to(page, live_server, "batch-list", study)

    press_tab_to(page, f"#id_system-{system.pk}", most=80)
    page.keyboard.press("Control+a")
    page.keyboard.type("renamed")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    system.refresh_from_db()
    assert system.name == "renamed"
    context.close()


def test_screening_question_is_added_by_keyboard(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_full(user)
    go_to(page, live_server, "setup-quality", study)

    press_tab_to(page, "summary:has-text('Add a question')", most=80)
    page.keyboard.press("Enter")
    for field, text in (("label", "Which?"), ("choices", "one\ntwo"), ("answers", "one")):
        press_tab_to(page, f"#question_{field}")
        page.keyboard.type(text)
    press_tab_to(page, "button:text-is('Add')")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    study.refresh_from_db()
    (question,) = study.config.eligibility.questions
    assert (question.label, [choice.value for choice in question.choices]) == (
        "Which?", ["one", "two"],
    )  # fmt: skip


@pytest.mark.parametrize("has_scripts", [True, False])
def test_example_is_written_by_keyboard_on_an_accessible_page(browser, live_server, has_scripts):
    context = browser.new_context(java_script_enabled=has_scripts)
    page = context.new_page()
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(protocol="fluency", by=user)
    count = len(study.config.examples)
    go_to(page, live_server, "setup-read", study)
    press_tab_to(page, "summary:has-text('Instructions')", most=80)
    page.keyboard.press("Enter")
    with page.expect_navigation():
        page.click("text=Add an example…")
    faults = find_faults_in_all_looks(page) if has_scripts else []

    fields = page.locator("main textarea, main input[type=text]").all()
    for field in fields:
        press_tab_to(page, f"#{field.get_attribute('id')}", most=80)
        is_answer = "ratings" in str(field.get_attribute("id"))
        page.keyboard.type("4" if is_answer else "A: Good morning.")
    press_tab_to(page, "button:text-is('Save example')")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert faults == []
    study.refresh_from_db()
    assert len(study.config.examples) == count + 1
    context.close()

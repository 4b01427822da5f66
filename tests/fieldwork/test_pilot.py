"""Colleagues try a draft by one link: times, answers side by side, comments, none of it data."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.test import Client
from django.urls import reverse

from evalsite.fieldwork.pilot import join_as_tester, pilot_token, switch_link
from evalsite.fieldwork.pilot_results import suggest_time_and_pay
from evalsite.people.models import Consent, ItemSet, Participant, PilotComment
from evalsite.people.random_codes import hash_token
from evalsite.studies.models import Item, Study
from tests.site.test_staff_pages import answer
from tests.support.batches import import_rows, make_rows
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link
from tests.support.rounds import make_round, panel_of

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def url(name: str, study: Study, *args: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *args])


def make_tester(study: Study, name: str) -> Participant:
    token = join_as_tester(study=study, name=name)
    return Participant.objects.get(links__token_hash=hash_token(token))


def take(study: Study, name: str, *, scores: tuple[int, ...], minutes: int) -> Participant:
    """A colleague agreed at 9:00, answered the first item in one-minute steps, and finished."""
    me = make_tester(study, name)
    Consent.objects.create(
        study=study, participant=me, text_sha256="x", is_given=True, answered_at=START
    )
    item = study.items.main().first()
    end = START + timedelta(minutes=minutes)
    moments = [START + timedelta(minutes=step) for step in range(1, minutes + 1)]
    given = answer(study, item, status="pilot", by=me, started_at=moments[0], submitted_at=end)
    for output, score in zip(item.outputs.order_by("position"), scores, strict=True):
        given.ratings.create(study=study, criterion="informativeness", output=output, value=score)
    # practice in between, so that no pause is longer than five minutes
    for practice, moment in zip(study.items.practice(), moments[3::4], strict=False):
        answer(study, practice, status="pilot", by=me, started_at=moment, submitted_at=moment)
    ItemSet.objects.create(
        study=study, participant=me, number=1, item_ids=[item.pk], finished_at=end
    )
    return me


def test_colleague_comes_by_the_link_under_a_name_and_the_link_ends_with_the_launch(staff_client):
    study = make_study()
    staff_client.post(url("study-pilot-link", study), {"do": "on"})
    study.refresh_from_db()
    address = reverse("pilot-join", args=[pilot_token(study)])
    shown = staff_client.get(url("study-pilot", study)).text

    nameless = Client().post(address, {"name": " "})
    joined = Client().post(address, {"name": "Priya Nair"})

    assert address in shown
    assert nameless.status_code == 422
    assert joined.url.startswith("/p/")
    me = study.participants.get()
    assert (me.is_pilot, me.tester.name) == (True, "Priya Nair")
    assert not joined.cookies
    assert "Comment" in Client().get(joined.url, follow=True).text
    launch(study)
    assert Client().get(address).status_code == 404


def test_new_link_ends_the_old_one_and_no_other_text_opens_anything(db):
    study, by = make_study(), make_user()
    switch_link(study=study, is_on=True, by=by)
    study.refresh_from_db()
    old = pilot_token(study)
    switch_link(study=study, is_on=False, by=by)
    off = Client().get(reverse("pilot-join", args=[old])).status_code
    switch_link(study=study, is_on=True, by=by)
    study.refresh_from_db()

    tokens = [old, pilot_token(study)[:-1], "x", "é" * 64, pilot_token(study)]

    statuses = [Client().get(reverse("pilot-join", args=[one])).status_code for one in tokens]
    assert (off, statuses) == (404, [404, 404, 404, 404, 200])


def test_comment_on_a_question_a_text_or_an_item_is_read_resolved_and_opened_again(staff_client):
    study = make_study()
    token = join_as_tester(study=study, name="Lena")
    me = study.participants.get()
    item = study.items.main().first()
    ItemSet.objects.create(study=study, participant=me, number=1, item_ids=[item.pk])
    address = reverse("pilot-comment", args=[token])
    for about in ("question:informativeness", "text:consent", f"item:{item.pk}"):
        for _ in range(2):
            Client().post(address, {"about": about, "text": f"What is {about}?"})
    other = Client().post(address, {"about": "item:999999", "text": "No."})

    page = staff_client.get(url("study-pilot", study))

    assert other.status_code == 422
    assert [one["about"] for one in page.context["open_comments"]] == [
        "Question: Informativeness", "Text: consent", f"Item: {item.key}",
    ]  # fmt: skip
    first = PilotComment.objects.first()
    settle = url("pilot-comment-settle", study, first.pk)
    staff_client.post(settle, {"do": "resolve"})
    first.refresh_from_db()
    assert first.resolved_by.get_username() == "jane"
    staff_client.post(settle, {"do": "reopen"})
    first.refresh_from_db()
    assert first.resolved_at is None
    stranger = make_study(title="Another")
    assert staff_client.post(url("pilot-comment-settle", stranger, first.pk)).status_code == 404


def test_nobody_but_a_pilot_comments(db):
    study = launch(make_study())
    response = Client().post(
        f"{mint_link(make_annotator(study))}comment/", {"about": "text:consent", "text": "x"}
    )

    assert response.status_code == 302
    assert not PilotComment.objects.exists()


def test_answers_stand_side_by_side_with_the_largest_difference_first(staff_client):
    study = make_study()
    take(study, "Tomás", scores=(100, 100, 10), minutes=4)
    take(study, "Lena", scores=(100, 90, 95), minutes=4)
    take(study, "Priya", scores=(100, 110, 100), minutes=4)

    page = staff_client.get(url("study-pilot", study))

    [widest] = page.context["differences"]
    cells = {cell.name: (cell.text, cell.is_far) for cell in widest.cells}
    assert widest.apart == 90
    assert cells == {"Tomás": ("10", True), "Lena": ("95", False), "Priya": ("100", False)}
    assert "<mark>10</mark>" in page.text


def test_difference_on_a_pair_names_neither_of_its_outputs(staff_client):
    study = make_study(protocol="pairwise", items=0)
    import_rows(study, make_rows(study.config, 1))
    item = study.items.main().first()
    first, second = item.outputs.order_by("position")
    for name, preferred in (("Lena", first), ("Priya", second)):
        given = answer(study, item, status="pilot", by=make_tester(study, name))
        key = study.config.criteria[0].key
        given.ratings.create(study=study, criterion=key, output=preferred, value=1)

    page = staff_client.get(url("study-pilot", study))

    [widest] = page.context["differences"]
    assert (widest.apart, widest.text) == (1, "")


def test_one_click_uses_the_median_and_the_target(staff_client):
    study = make_study(minutes_per_set=10, pay_per_set="1.80", pay_target="12.00")
    for name, minutes in (("A", 3), ("B", 4), ("C", 5)):
        take(study, name, scores=(1, 2, 3), minutes=minutes)
    page = staff_client.get(url("study-pilot", study)).text

    staff_client.post(url("study-pilot-use", study))

    study.refresh_from_db()
    assert "Use 4 minutes and £0.80" in page
    assert (study.minutes_per_set, study.pay_per_set) == (4, Decimal("0.80"))
    assert not study.annotations.exclude(status="pilot").exists()


def test_time_is_not_suggested_before_three_have_finished(staff_client):
    study = make_study(minutes_per_set=10)
    for name in ("A", "B"):
        take(study, name, scores=(1, 2, 3), minutes=3)

    staff_client.post(url("study-pilot-use", study))

    study.refresh_from_db()
    assert study.minutes_per_set == 10
    assert suggest_time_and_pay(study, []) is None


def test_round_says_if_it_promises_less_time_than_the_pilot_took_or_more_places_than_work(
    staff_client, django_assert_max_num_queries
):
    study = make_study(items=4, set_size=2, k=3, minutes_per_set=5)
    for name in "abc":
        take(study, name, scores=(1, 2, 3), minutes=8)
    enough, scarce = (make_round(study, "prolific", is_on=False, places=n) for n in (6, 7))

    with django_assert_max_num_queries(15):
        pages = [staff_client.get(panel_of(enough))]
    Study.objects.filter(pk=study.pk).update(minutes_per_set=8)
    pages.append(staff_client.get(panel_of(scarce)))

    states = [{point.title: point.state for point in page.context["points"]} for page in pages]
    assert [(state["People"], state["Minutes"]) for state in states] == [
        ("ok", "look"),
        ("look", "ok"),
    ]


def test_pilot_page_takes_as_few_queries_for_many_people(
    staff_client, django_assert_max_num_queries
):
    study = make_study()
    counts = []
    for people in (3, 12):
        for number in range(people):
            take(study, f"P{number}", scores=(1, 2, 3), minutes=3)
        with django_assert_max_num_queries(14) as queries:
            staff_client.get(url("study-pilot", study))
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert Item.objects.main().count() == 2


def test_trial_opens_in_a_new_tab_and_leads_its_team_back_but_not_colleagues(staff_client):
    study = make_study(items=1)
    page = staff_client.get(url("study-pilot", study)).text
    back = f'href="{url("study-pilot", study)}"'

    mine = staff_client.get(staff_client.post(url("study-pilot-take", study)).url, follow=True).text
    token = join_as_tester(study=study, name="Priya Nair")
    theirs = Client().get(reverse("participant-home", args=[token]), follow=True).text

    assert f'action="{url("study-pilot-take", study)}" target="_blank"' in page
    assert back in mine
    assert back not in theirs

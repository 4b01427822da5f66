"""Staff pages in a browser: accessible, quiet, and no wider than a phone."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.fieldwork.launch import close_study
from evalsite.fieldwork.pilot import join_as_tester, pilot_token, switch_link
from evalsite.people.platforms import installed_platforms
from evalsite.studies.members import invite_colleague
from evalsite.studies.models import Invitation, Membership, TeamRole
from tests.fieldwork.test_pilot import take
from tests.support.browsing import (
    Watch,
    find_faults,
    find_faults_in_turn,
    follow,
    read_clipboard,
)
from tests.support.factories import add_batch, launch, make_study, make_user, open_to_everyone
from tests.support.rounds import make_round, panel_of

pytestmark = pytest.mark.django_db(transaction=True)

DRAFT = (
    "study-setup",
    "setup-read",
    "setup-quality",
    "setup-work",
    "study-pilot",
    "study-launch",
    "study-progress",
    "study-people",
    "results-design",
    "study-delete-confirm",
    "study-team",
    "study-hand-over",
)
LIVE = (
    "study-overview",
    "study-progress",
    "study-setup",
    "setup-read",
    "study-invite",
    "study-close-confirm",
    "results-design",
)


PASSWORD = "four unrelated words work"


def sign_in(page, live_server, user: User) -> None:
    """The browser holds the session of this person."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    [cookie] = [one for name, one in client.cookies.items() if "session" in name]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": str(live_server)}])


def walk(page, live_server):
    """Each staff page, one after another, a form with faults among them."""
    user = make_user(is_superuser=True)
    user.set_password(PASSWORD)
    user.save()
    sign_in(page, live_server, user)
    draft = make_study(items=3, title="A draft with a long title " * 4, by=user)
    live = launch(make_study(items=3, title="A live one", by=user))
    addresses = [reverse("admin:index"), reverse("admin:study-new"), reverse("admin:records")]
    addresses += ["/account/", "/account/password/", "/account/confirm/"]
    addresses += [reverse(f"admin:{name}", args=[draft.pk]) for name in DRAFT]
    addresses += [reverse(f"admin:{name}", args=[live.pk]) for name in LIVE]
    # further answers foreseen, a number that is none, and a batch that waits
    answers = reverse("admin:study-answers", args=[live.pk])
    waiting = add_batch(live, items=2, first=9)
    addresses += [f"{answers}?k=5", f"{answers}?k=0", reverse("admin:batch-list", args=[live.pk])]
    addresses += [reverse("admin:batch-open-confirm", args=[live.pk, waiting.pk])]
    # a team with somebody else on it, and an invitation with a long label
    colleague = Membership.objects.create(study=draft, user=make_user("ann"), role="editor")
    invitation = invite_colleague(
        study=draft, key=uuid4(), role=TeamRole.OWNER, label="priya@example.org " * 5, by=user
    )
    addresses += [reverse("admin:study-member", args=[draft.pk, colleague.pk])]
    addresses += [reverse("admin:team-invitation", args=[draft.pk, invitation.pk])]
    addresses += [reverse("invitation", args=[invitation.token])]
    for platform in installed_platforms().values():
        round_ = make_round(live, platform.key, is_on=False)
        if platform.hands_back:
            addresses += [panel_of(round_)]
    for address in addresses:
        page.goto(f"{live_server}{address}")
        yield address
    # a pilot with answers and comments, then the colleagues' pages
    pilot = make_study(items=3, title="A pilot", by=user)
    switch_link(study=pilot, is_on=True, by=user)
    pilot.refresh_from_db()
    for number, name in enumerate(("Priya Nair", "Lena Hofmann", "Tomás Silva")):
        take(pilot, name, scores=(100, 60 + number * 40, 90), minutes=9 + number)
    token = join_as_tester(study=pilot, name="Ada")
    join = reverse("pilot-join", args=[pilot_token(pilot)])
    comment = reverse("pilot-comment", args=[token])
    sent = Client().post(comment, {"about": "text:consent", "text": "Which law? " * 30})
    assert sent.status_code == 302
    for address in (reverse("admin:study-pilot", args=[pilot.pk]), join, f"/p/{token}/", comment):
        page.goto(f"{live_server}{address}")
        yield address
    page.goto(f"{live_server}/account/two-factor/")
    page.fill("#id_password", PASSWORD)
    follow(page, "text=Continue")
    yield "two-factor sign-in"
    closed = launch(make_study(items=3, title="A closed one", by=user))
    close_study(study=closed, by=user)
    page.goto(f"{live_server}{reverse('admin:study-overview', args=[closed.pk])}")
    page.click(".do summary")
    yield "menu of a closed study"
    follow(page, ".do button")
    yield "archived"
    page.goto(f"{live_server}{reverse('admin:index')}")
    follow(page, "a[href*=archived]")
    yield "archived studies"
    page.goto(f"{live_server}{reverse('admin:setup-work', args=[draft.pk])}")
    page.fill("#id_k", "0")
    follow(page, "button[value=save]")
    page.wait_for_selector(".problem")
    yield "settings with a fault"


@pytest.mark.torture
def test_staff_pages_are_accessible_complain_of_nothing_and_fit_a_phone(page, live_server):
    watch = Watch(page)

    faults = {step: find_faults_in_turn(page) for step in walk(page, live_server)}

    assert {step: found for step, found in faults.items() if found} == {}
    assert watch.found == []


@pytest.mark.torture
def test_link_to_share_is_copied_by_its_button(page, live_server):
    user = make_user()
    sign_in(page, live_server, user)
    study = launch(make_study(by=user))
    open_to_everyone(study)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server}{reverse('admin:study-invite', args=[study.pk])}")

    page.click("[data-copy=join]")
    page.wait_for_selector("text=Copied.")

    copied = read_clipboard(page)
    assert copied == f"{live_server}/join/{study.pk}/"


@pytest.mark.torture
def test_menu_closes_with_escape_and_a_click_elsewhere_and_a_long_title_fits_a_phone(
    page, live_server
):
    user = make_user()
    sign_in(page, live_server, user)
    study = launch(make_study(by=user, title="W" * 120))
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server}{reverse('admin:index')}")
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    page.goto(f"{live_server}{reverse('admin:study-overview', args=[study.pk])}")

    states = []
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.mouse.click(195, 830)):
        page.focus(".study .menu summary")
        page.keyboard.press("Enter")
        states.append(page.locator(".study .menu[open]").count())
        close()
        states.append(page.locator(".study .menu[open]").count())

    assert overflow <= 0
    assert states == [1, 0, 1, 0]


@pytest.fixture
def invitation() -> Invitation:
    user = make_user()
    study = make_study(items=0, title="A study with a title of some length", by=user)
    return invite_colleague(study=study, key=uuid4(), role=TeamRole.EDITOR, by=user)


def open_invitation(page, live_server, invitation) -> None:
    page.goto(f"{live_server}{reverse('invitation', args=[invitation.token])}")


@pytest.mark.torture
@pytest.mark.parametrize(
    ("width", "scheme"), [pytest.param(1280, "light", marks=pytest.mark.torture), (360, "dark")]
)
def test_colleague_creates_an_account_and_is_on_the_team(
    page, live_server, invitation, width, scheme
):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{live_server}{reverse('invitation', args=['unknown'])}")
    faults = [find_faults(page)]
    open_invitation(page, live_server, invitation)
    faults += [find_faults(page)]
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.fill("#id_username", "priya")
    page.fill("#id_password1", "four unrelated words work")
    page.fill("#id_password2", "four unrelated words work")

    follow(page, "text=Accept and create account")

    assert page.url == f"{live_server}{reverse('admin:batch-list', args=[invitation.study_id])}"
    assert (faults, wide) == ([[], []], width)
    assert Membership.objects.get(user__username="priya").role == "editor"


def test_colleague_signs_in_on_the_invitation_and_accepts(page, live_server, invitation):
    user = make_user("ann")
    user.set_password("four unrelated words work")
    user.save()
    open_invitation(page, live_server, invitation)
    follow(page, "a:text-is('Sign in')")
    page.fill("#id_login", "ann")
    page.fill("#id_password", PASSWORD)

    follow(page, "button:text-is('Sign in')")
    follow(page, "text=Accept as ann")

    assert page.url == f"{live_server}{reverse('admin:batch-list', args=[invitation.study_id])}"
    assert Membership.objects.get(user=user).role == "editor"

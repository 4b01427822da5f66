"""The team of a study: who is in it, who may change that, and that an owner always remains."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.studies.members import StepDown, change_role, hand_over, remove_member
from evalsite.studies.models import Membership, Study, TeamRole
from tests.site.test_staff_pages import sign_in
from tests.support.factories import launch, make_study, make_user
from tests.support.races import at_once

pytestmark = pytest.mark.django_db


def add_member(study: Study, role: TeamRole, name: str = "") -> Membership:
    user = make_user(name or role.value)
    return Membership.objects.create(study=study, user=user, **role.columns)


def url(name: str, study: Study, *more: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *more])


def owner_of(study: Study) -> Membership:
    return Membership.objects.get(study=study, user__username="jane")


def roles(study: Study) -> dict[str, str]:
    found = Membership.objects.filter(study=study).select_related("user")
    return {one.user.username: one.team_role.value for one in found}


@pytest.fixture
def study() -> Study:
    return make_study(items=0)


@pytest.fixture
def owner(study: Study) -> Client:
    return sign_in(User.objects.get(username="jane"))


def test_whoever_was_taken_off_the_team_is_led_back_to_their_studies(study):
    member = add_member(study, TeamRole.VIEWER, "member")
    client = sign_in(member.user)
    remove_member(membership=member, by=User.objects.get(username="jane"))

    gone = client.get(url("study-overview", study))

    assert gone.status_code == 404
    assert f'href="{reverse("admin:index")}"' in gone.text


# --- the page -----------------------------------------------------------------------


@pytest.mark.parametrize("role", TeamRole)
def test_everybody_sees_who_is_on_the_team_and_owners_can_change_it(study, role):
    member = add_member(study, role, "member")

    response = sign_in(member.user).get(url("study-team", study))

    html = response.content.decode()
    assert "jane" in html
    assert (url("team-invite", study) in html) == (role == TeamRole.OWNER)
    assert (url("study-member", study, owner_of(study).pk) in html) == (role == TeamRole.OWNER)
    assert url("study-member", study, member.pk) in html


def test_page_takes_as_many_queries_for_two_members_as_for_twenty(
    study, owner, django_assert_max_num_queries
):
    add_member(study, TeamRole.VIEWER, "first")
    with django_assert_max_num_queries(14) as few:
        owner.get(url("study-team", study))
    for number in range(20):
        add_member(study, TeamRole.VIEWER, f"member-{number}")

    with django_assert_max_num_queries(14) as many:
        owner.get(url("study-team", study))

    assert len(many) == len(few)


def test_names_on_the_team_are_never_markup(study, owner):
    hostile = "<b>x</b>"
    add_member(study, TeamRole.VIEWER, hostile)

    assert hostile not in owner.get(url("study-team", study)).content.decode()


# --- roles --------------------------------------------------------------------------


@pytest.mark.parametrize("role", TeamRole)
def test_owner_gives_each_role_once_and_the_log_has_it(study, owner, role):
    member = add_member(study, TeamRole.VIEWER, "ann")
    for _ in range(2):
        response = owner.post(url("member-role", study, member.pk), {"role": role.value})
        assert response.status_code == 302

    assert roles(study)["ann"] == role.value
    entries = AuditEntry.objects.filter(action="role changed")
    assert entries.count() == (role != TeamRole.VIEWER)
    if entries:
        detail = entries.get().detail
        assert (detail["member"], detail["former"], detail["role"]) == ("ann", "viewer", role.value)


def test_unknown_role_changes_nothing(study, owner):
    member = add_member(study, TeamRole.VIEWER, "ann")

    owner.post(url("member-role", study, member.pk), {"role": "emperor"})

    assert roles(study)["ann"] == "viewer"


@pytest.mark.parametrize(
    "role", [TeamRole.VIEWER, TeamRole.EDITOR, TeamRole.EDITOR_WITH_IDENTITIES]
)
def test_only_an_owner_can_change_another_members_role_or_remove_them(study, role):
    member, other = add_member(study, role, "ann"), add_member(study, TeamRole.VIEWER, "ben")
    client = sign_in(member.user)

    given = [
        client.post(url("member-role", study, member.pk), {"role": "owner"}).status_code,
        client.post(url("member-role", study, other.pk), {"role": "editor"}).status_code,
        client.post(url("member-remove", study, other.pk)).status_code,
        client.get(url("study-member", study, other.pk)).status_code,
    ]

    assert given == [403] * 4
    assert roles(study) == {"jane": "owner", "ann": role.value, "ben": "viewer"}


def test_member_of_another_study_is_not_found(study, owner):
    other = add_member(make_study(items=0, title="Another", by=make_user("zoe")), TeamRole.VIEWER)

    assert owner.get(url("study-member", study, other.pk)).status_code == 404
    assert owner.post(url("member-role", study, other.pk), {"role": "owner"}).status_code == 404
    owner.post(url("member-remove", study, other.pk))
    assert Membership.objects.filter(pk=other.pk, role="viewer").exists()


# --- removing and leaving -----------------------------------------------------------


def test_owner_removes_a_member_who_then_finds_no_study(study, owner):
    member = add_member(study, TeamRole.EDITOR, "ann")
    for _ in range(2):
        assert owner.post(url("member-remove", study, member.pk)).status_code == 302

    assert roles(study) == {"jane": "owner"}
    assert sign_in(member.user).get(url("study-overview", study)).status_code == 404
    entry = AuditEntry.objects.get(action="member removed")
    assert (entry.actor_name, entry.detail) == ("jane", {"member": "ann", "former": "editor"})


def test_what_a_removed_member_did_stays_in_the_log(study, owner):
    member = add_member(study, TeamRole.OWNER, "ann")
    AuditEntry.objects.record("settings changed", by=member.user, study_id=study.pk)

    owner.post(url("member-remove", study, member.pk))

    assert AuditEntry.objects.get(action="settings changed").actor_name == "ann"


@pytest.mark.parametrize("role", TeamRole)
def test_member_may_leave(study, role):
    member = add_member(study, role, "ann")
    client = sign_in(member.user)

    assert client.get(url("study-member", study, member.pk)).status_code == 200
    response = client.post(url("member-remove", study, member.pk))

    assert response.url == reverse("admin:index")
    assert roles(study) == {"jane": "owner"}
    assert AuditEntry.objects.filter(action="member left").count() == 1


def test_last_owner_can_neither_leave_nor_be_lowered(study, owner):
    last = owner_of(study)
    add_member(study, TeamRole.EDITOR)

    owner.post(url("member-remove", study, last.pk))
    owner.post(url("member-role", study, last.pk), {"role": "viewer"})

    assert roles(study)["jane"] == "owner"
    for change in (
        partial(remove_member, membership=last, by=last.user),
        partial(change_role, membership=last, role=TeamRole.VIEWER, by=last.user),
    ):
        with pytest.raises(ValidationError) as error:
            change()
        assert error.value.code == "last_owner"


def test_owner_whose_account_is_disabled_does_not_count_as_one(study):
    other = add_member(study, TeamRole.OWNER, "ann")
    User.objects.filter(pk=other.user_id).update(is_active=False)

    with pytest.raises(ValidationError):
        remove_member(membership=owner_of(study), by=owner_of(study).user)


def test_administrator_may_change_every_team_but_leaves_an_owner(study):
    admin = sign_in(make_user("root", is_superuser=True))
    member = add_member(study, TeamRole.VIEWER, "ann")

    admin.post(url("member-role", study, member.pk), {"role": "owner"})
    admin.post(url("member-remove", study, owner_of(study).pk))
    admin.post(url("member-remove", study, member.pk))

    assert roles(study) == {"ann": "owner"}


# --- handing over -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step_down", "left"),
    [
        ("owner", {"ann": "owner", "jane": "owner"}),
        ("editor", {"ann": "owner", "jane": "editor"}),
        ("leave", {"ann": "owner"}),
    ],
)
def test_owner_hands_the_study_over(study, owner, step_down, left):
    member = add_member(study, TeamRole.VIEWER, "ann")

    page = owner.get(url("study-hand-over", study))
    response = owner.post(url("study-hand-over", study), {"to": member.pk, "step_down": step_down})

    assert (page.status_code, response.status_code) == (200, 302)
    assert roles(study) == left


def test_administrator_outside_the_team_makes_a_member_owner_and_has_no_role_to_give_up(study):
    member = add_member(study, TeamRole.VIEWER, "ann")
    root = sign_in(make_user("root", is_superuser=True))

    page = root.get(url("study-hand-over", study))
    root.post(url("study-hand-over", study), {"to": member.pk})

    assert 'name="step_down"' not in page.text
    assert roles(study) == {"ann": "owner", "jane": "owner"}


def test_handing_over_to_nobody_changes_nothing(study, owner):
    stranger = make_user("zoe")
    other = Membership.objects.create(
        study=make_study(items=0, title="Another", by=stranger),
        user=make_user("ben"),
        role="viewer",
    )
    disabled = add_member(study, TeamRole.EDITOR, "ann")
    User.objects.filter(username="ann").update(is_active=False)
    wrong: list[Any] = [owner_of(study).pk, other.pk, disabled.pk, "", "x"]

    given = [
        owner.post(url("study-hand-over", study), {"to": to, "step_down": "leave"}).status_code
        for to in wrong
    ]

    assert given == [422] * 5
    assert roles(study) == {"ann": "editor", "jane": "owner"}


# --- at one moment ------------------------------------------------------------------


def attempt(change: Any) -> str:
    try:
        change()
    except PermissionDenied:
        return "denied"
    except ValidationError as error:
        return str(error.code)
    return "done"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("times", range(3))
def test_two_owners_who_demote_each_other_at_once_leave_one(times):
    study = make_study(items=0)
    first, second = owner_of(study), add_member(study, TeamRole.OWNER, "ann")

    done = at_once([
        partial(attempt, partial(change_role, membership=lowered, role=TeamRole.VIEWER, by=by.user))
        for lowered, by in ((second, first), (first, second))
    ])  # fmt: skip

    assert sorted(done) == ["denied", "done"]
    assert sorted(roles(study).values()) == ["owner", "viewer"]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_owners_who_leave_at_once_leave_one():
    study = make_study(items=0)
    owners = [owner_of(study), add_member(study, TeamRole.OWNER, "ann")]

    done = at_once([
        partial(attempt, partial(remove_member, membership=one, by=one.user)) for one in owners
    ])  # fmt: skip

    assert sorted(done) == ["done", "last_owner"]
    assert list(roles(study).values()) == ["owner"]


# --- states and the database --------------------------------------------------------


def test_team_of_an_archived_study_stays_as_it_is(study, owner):
    member = add_member(study, TeamRole.VIEWER, "ann")
    launch(study)
    Study.objects.filter(pk=study.pk).update(state=Study.State.ARCHIVED)

    owner.post(url("member-remove", study, member.pk))
    owner.post(url("member-role", study, member.pk), {"role": "owner"})
    owner.post(url("study-hand-over", study), {"to": member.pk, "step_down": "leave"})

    assert roles(study) == {"jane": "owner", "ann": "viewer"}
    assert owner.get(url("study-team", study)).status_code == 200


@pytest.mark.both_databases
def test_nobody_steps_down_for_a_member_who_has_just_gone(study):
    member = add_member(study, TeamRole.VIEWER, "ann")
    add_member(study, TeamRole.OWNER, "ben")
    Membership.objects.filter(pk=member.pk).delete()

    with pytest.raises(ValidationError) as error:
        hand_over(study=study, to=member, step_down=StepDown.LEAVE, by=owner_of(study).user)

    assert error.value.code == "not_a_member"
    assert roles(study) == {"jane": "owner", "ben": "owner"}


@pytest.mark.both_databases
def test_database_refuses_identities_for_other_roles_than_editor(study):
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(study=study).update(has_identities=True)

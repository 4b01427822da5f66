"""Staff pages of a study: a view becomes a page with the decorator `study_page`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from django.db.models import F, FilteredRelation, Q
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import NoReverseMatch, reverse

from evalsite.studies.models import Membership, Study

StudyViewFunction = Callable[..., HttpResponseBase]

PLACES = ("Overview", "Set up", "People", "Results", "Files")
# of a draft without answers, whose other places would be empty; Invite is a part of People later
PLACES_OF_A_DRAFT = ("Set up", "Invite")
# the navigation of these stands beside the page; that of the others is a line above it
SIDED = ("Set up", "Results")

_RANK = {Membership.Role.VIEWER: 0, Membership.Role.EDITOR: 1, Membership.Role.OWNER: 2}


@dataclass(frozen=True, kw_only=True)
class StudyPage:
    """A staff page of one study, under its address, with the least role that may open it.

    The view gets the request, the study (one the person may see) and what the path captures.
    It returns a TemplateResponse on a template that extends `studies/study.html`, or a redirect.
    A page with a `place` is in its navigation as `tab`, sorted by `order`, if `is_shown` is true; a
    place leads to the first of its tabs. A page behind a tab names that tab, or its page, in
    `within`.
    What is posted to a page changes the study, so an archived one refuses it, unless the page
    says with `is_reading` that it only computes, exports, or brings the study back. While results
    are hidden, a page with `is_revealing` leads to the form that reveals them.
    """

    path: str
    name: str
    view: StudyViewFunction
    role: Membership.Role = Membership.Role.VIEWER
    place: str = ""
    tab: str = ""
    within: str = ""
    order: int = 100
    is_reading: bool = False
    is_revealing: bool = False
    is_shown: Callable[[Study], bool] = field(default=lambda study: True)


# every page, in the order in which its module was loaded
REGISTERED: list[StudyPage] = []


def study_page(path: str, **about: Any) -> Callable[[StudyViewFunction], StudyViewFunction]:
    """Register the view below as a page of a study, under this address, with what StudyPage has."""

    def register(view: StudyViewFunction) -> StudyViewFunction:
        REGISTERED.append(StudyPage(path=path, view=view, **about))
        return view

    return register


def find_home(study: Study) -> str:
    """Return the name of the page where a study opens: a draft has no overview."""
    return "study-setup" if study.version_id is None else "study-overview"


def get_study(request: HttpRequest, study_id: UUID) -> Study:
    """Return the study of this id; Http404 if there is none or this person may not see it."""
    mine = FilteredRelation("memberships", condition=Q(memberships__user=request.user.pk))
    visible = Study.objects.visible_to(request.user)
    study: Any = (
        visible.select_related("version", "instrument", "size_plan")
        .defer("instrument__content")
        .annotate(own=mine, own_role=F("own__role"), has_identities=F("own__has_identities"))
        .filter(pk=study_id)
        .first()
    )
    if study is None:
        raise Http404("No such study.")
    _memberships(request)[study.pk] = (
        Membership(role=study.own_role, has_identities=study.has_identities)
        if study.own_role
        else None
    )
    return cast(Study, study)


def held_rank(request: HttpRequest, study: Study) -> int:
    """Return how much this person may do in the study, as a number; a superuser may do all."""
    if getattr(request.user, "is_superuser", False):
        return _RANK[Membership.Role.OWNER]
    membership = _get_membership(request, study)
    return -1 if membership is None else _RANK[Membership.Role(membership.role)]


def _get_membership(request: HttpRequest, study: Study) -> Membership | None:
    """Return this person's role, which came with the study; of another study it is asked for."""
    known = _memberships(request)
    if study.pk not in known:
        mine = Membership.objects.filter(study=study, user_id=request.user.pk or 0)
        known[study.pk] = mine.first()
    return known[study.pk]


def _memberships(request: HttpRequest) -> dict[UUID, Membership | None]:
    known: dict[UUID, Membership | None] = request.__dict__.setdefault("memberships", {})
    return known


def is_enough(rank: int, role: Membership.Role) -> bool:
    """Return whether this rank includes this role."""
    return rank >= _RANK[role]


def has_role(request: HttpRequest, study: Study, role: Membership.Role) -> bool:
    """Return whether this person has at least this role in the study; superusers may all."""
    return is_enough(held_rank(request, study), role)


def may_edit(request: HttpRequest, study: Study) -> bool:
    """Return whether this person may change the study: archived ones refuse what is posted."""
    is_open = study.state != Study.State.ARCHIVED
    return is_open and has_role(request, study, Membership.Role.EDITOR)


def may_see_identities(request: HttpRequest, study: Study) -> bool:
    """Return whether this person may see who takes part: owners, and editors who were allowed to.

    It covers identities from outside, entry answers and receipts.
    """
    if getattr(request.user, "is_superuser", False):
        return True
    membership = _get_membership(request, study)
    return membership is not None and (
        membership.role == Membership.Role.OWNER or membership.has_identities
    )


def study_url(name: str, study: Study) -> str:
    """Return the address of a study's page; empty while no app offers one of this name."""
    try:
        return reverse(f"admin:{name}", args=[study.pk])
    except NoReverseMatch:
        return ""

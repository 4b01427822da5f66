"""The admin site: the composition root of staff pages."""

from dataclasses import dataclass, replace
from functools import partial, wraps
from http import HTTPStatus
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.generic import RedirectView

from evalsite.core.accounts.time_zones import name_zone, zone_of
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event
from evalsite.core.jobs.clock_watch import find_jump, trust_clock
from evalsite.core.jobs.outbox import list_refused
from evalsite.core.jobs.schedule import count_problems, list_schedule
from evalsite.help_pages import search_help, show_chapter, show_help
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import (
    PLACES,
    PLACES_OF_A_DRAFT,
    REGISTERED,
    SIDED,
    StudyPage,
    find_home,
    get_study,
    held_rank,
    is_enough,
)
from evalsite.studies.summary_lines import describe_study, name_unit

# each has a module study_views, which loads the app's pages
APPS_WITH_PAGES = (
    "results", "operations", "builder", "data", "data.files", "decisions", "fieldwork", "studies",
)  # fmt: skip
MACHINERY = ("django_tasks_database",)
ARCHIVED = (
    "This study is archived, so nothing was changed. An owner can restore it from the menu above."
)


def collect_study_views() -> list[StudyPage]:
    """Return every page of a study, in the order of the navigation."""
    for app in APPS_WITH_PAGES:
        import_module(f"evalsite.{app}.study_views")
    return sorted(REGISTERED, key=lambda page: page.order)


class EvalsiteAdminSite(AdminSite):
    site_header = site_title = "Evalsite"
    site_url = None  # participants have links; there is no other site
    index_title = "Studies"
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLResolver | URLPattern]:
        from evalsite.builder.addresses import PAGES  # noqa: PLC0415 (needs the URLs)
        from evalsite.core.accounts.views import show_sign_ins  # noqa: PLC0415 (needs the URLs)
        from evalsite.studies.site_invitation_views import (  # noqa: PLC0415 (need the URLs)
            show_site_invitations,
        )

        pages = [
            path(
                f"studies/<uuid:study_id>/{page.path}",
                self.admin_view(self._serve(page)),
                name=page.name,
            )
            for page in collect_study_views()
        ]
        building = [
            path(address, self.admin_view(self._frame(page)), name=name)
            for address, name, page in PAGES
        ]
        records = path("records/", self.admin_view(self._frame(self.records)), name="records")
        invitations = path(
            "invitations/",
            self.admin_view(self._frame(show_site_invitations)),
            name="site-invitations",
        )
        sign_ins = path("sign-ins/", self.admin_view(self._frame(show_sign_ins)), name="sign-ins")
        schedule = path("schedule/", self.admin_view(self._frame(self.schedule)), name="schedule")
        chapters = [
            path("help/", self.admin_view(self._frame(show_help)), name="help"),
            path("help/search/", self.admin_view(self._frame(search_help)), name="help-search"),
            path(
                "help/<slug:name>/",
                self.admin_view(self._frame(show_chapter)),
                name="help-chapter",
            ),
        ]
        password = path(
            "password_change/",
            RedirectView.as_view(pattern_name="account_change_password"),
            name="password_change",
        )
        return [
            *building,
            records,
            invitations,
            schedule,
            sign_ins,
            *chapters,
            password,
            *pages,
            *super().get_urls(),
        ]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Return the view for staff; Django's pages about one row answer 404 to people without
        permission, because Django's own answers reveal whether the row exists."""
        owner = getattr(view, "__self__", None)
        if not isinstance(owner, ModelAdmin):
            return _guide_senders(super().admin_view(view, cacheable))

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **captured: Any) -> HttpResponseBase:
            if captured and not owner.has_view_permission(request):
                raise Http404
            return view(request, *args, **captured)

        return _guide_senders(super().admin_view(guarded, cacheable))

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Show the studies of this person, those with the newest change first."""
        from evalsite.builder.upload_views import describe_start  # noqa: PLC0415 (needs models)
        from evalsite.results.overview.studies import list_studies  # noqa: PLC0415 (needs models)

        request.current_app = self.name
        studies = list_studies(request.user, request.GET)
        start = describe_start(request.user) if studies["is_empty"] else {}
        context = {**self._name(), **studies, **start}
        return TemplateResponse(request, "admin/index.html", context | (extra_context or {}))

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the page for signing in; tell people who are signed in that they may not see
        this page."""
        if request.user.is_authenticated and not self.has_permission(request):
            return TemplateResponse(request, "account/no_access.html", self._name(), status=403)
        following = request.GET.get("next") or reverse("admin:index")
        return redirect(f"{reverse('account_login')}?{urlencode({'next': following})}")

    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Sign out, and record it."""
        user: Any = request.user
        was_signed_in = user.is_authenticated
        response = super().logout(request, extra_context)
        if was_signed_in and not request.user.is_authenticated:
            record_account(Event.SIGNED_OUT, user, request)
        return response

    def records(self, request: HttpRequest) -> TemplateResponse:
        """Show superusers the tables; those of MACHINERY keep their addresses but have no link."""
        if not request.user.is_superuser:
            raise PermissionDenied
        apps = [app for app in self.get_app_list(request) if app["app_label"] not in MACHINERY]
        context = {"apps": apps, "title": "Records", "problems": count_problems()}
        return TemplateResponse(request, "admin/records.html", context)

    def schedule(self, request: HttpRequest) -> HttpResponse:
        """Show superusers the scheduled tasks and their results; POST confirms that the clock is
        right."""
        if not request.user.is_superuser:
            raise PermissionDenied
        if request.method == "POST":
            trust_clock(by=request.user)
            return redirect("admin:schedule")
        tasks = list_schedule()
        context = {
            "tasks": tasks,
            "problems": sum(task.has_problem for task in tasks),
            "jumped_at": find_jump(),
            "refused": list_refused(),
        }
        return TemplateResponse(request, "admin/schedule.html", context)

    def _name(self) -> dict[str, Any]:
        """Return the part of Django's context for our pages; all of it queries every permission."""
        return {"site_title": self.site_title, "site_header": self.site_header}

    def _frame(self, page: Any) -> Any:
        """Return the page with the context that the admin's frame needs."""

        @wraps(page)
        def view(request: HttpRequest, **captured: Any) -> HttpResponseBase:
            response = page(request, **captured)
            if isinstance(response, TemplateResponse):
                response.context_data = {
                    **self._name(),
                    **(response.context_data or {}),
                }
            return response

        return view

    def _serve(self, page: StudyPage) -> Any:
        """Return the page as a view: 404 for an invisible study, 403 for a role that is too low."""
        from evalsite.decisions.frozen_plans import is_hidden  # noqa: PLC0415
        from evalsite.people.names import name_people  # noqa: PLC0415 (needs the models)

        def view(request: HttpRequest, study_id: UUID, **captured: Any) -> HttpResponseBase:
            study = get_study(request, study_id)
            if not is_enough(held_rank(request, study), page.role):
                raise PermissionDenied
            if study.state == Study.State.ARCHIVED and not (page.is_reading or is_safe(request)):
                messages.error(request, ARCHIVED)
                return redirect(f"admin:{find_home(study)}", study.pk)
            if page.is_revealing and is_hidden(study):
                return redirect(f"{reverse('admin:study-results', args=[study.pk])}#reveal")
            response = page.view(request, study, **captured)
            if isinstance(response, TemplateResponse):
                zone = zone_of(request.user)
                response.context_data = {
                    **self._name(),
                    "study": study,
                    "zone": name_zone(zone),
                    "people_names": SimpleLazyObject(partial(name_people, request, study)),
                    "frame": build_frame(request, study, page, captured, response.context_data),
                    **(response.context_data or {}),
                }
                with timezone.override(zone):
                    response.render()
            return response

        return view


@dataclass(frozen=True, kw_only=True)
class Link:
    """One entry of the navigation."""

    label: str
    url: str
    is_current: bool
    is_revealing: bool = False
    entry: Any = None  # in Set up: its present value, and whether it blocks the launch
    waiting: int = 0  # in People: what is to be decided there
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The frame of each page of a study: header, its places and the tabs of this place."""

    facts: list[str]
    unit: str  # what answers are counted of: outputs, pairs or items
    done: int
    target: int
    can_edit: bool
    is_owner: bool
    place: str
    tab: str
    is_sided: bool
    places: list[Link]
    tabs: list[Link]
    groups: list[Any]  # of Results: its navigation
    setup: Any = None  # how far a draft is, for editors

    @property
    def has_side(self) -> bool:
        """Return whether the navigation of this place stands beside the page."""
        return self.is_sided and (bool(self.groups) or len(self.tabs) > 1)


def build_frame(
    request: HttpRequest,
    study: Study,
    current: StudyPage,
    captured: dict[str, Any],
    context: dict[str, Any] | None,
) -> Frame:
    """Return the frame of a page, with only the pages that this person may open.

    `context`: of the page, which may know what the frame would have to count.
    """
    from evalsite.fieldwork.setup import describe_setup  # noqa: PLC0415 (needs models)
    from evalsite.results.navigation import count_evidence, list_groups  # noqa: PLC0415
    from evalsite.results.people.work import count_tabs  # noqa: PLC0415
    from evalsite.results.progress import count_edge  # noqa: PLC0415

    rank, edge = held_rank(request, study), count_edge(study)
    views = collect_study_views()
    can_edit = is_enough(rank, Membership.Role.EDITOR)
    is_draft = study.version_id is None
    labels = PLACES_OF_A_DRAFT if is_draft and not edge.done else PLACES

    def find_place(page: StudyPage) -> str:
        return page.tab if page.place and page.tab in labels else page.place

    # an upload belongs where its file was dropped
    within = (context or {}).get("within", current.within)
    behind = (page for page in views if page.place and within in (page.name, page.tab))
    entry = next(behind, current) if within else current
    place = find_place(entry)
    shown = [
        page
        for page in views
        if page.place
        and (find_place(page) in labels or page is entry)
        and is_enough(rank, page.role)
        and page.is_shown(study)
    ]
    firsts = {find_place(page): page for page in reversed(shown)}
    setup = describe_setup(study) if can_edit and (is_draft or place == "Set up") else None
    counts = {}
    if place == "People" and current is entry:
        counts = count_tabs(study, flagged=(context or {}).get("flagged"))
    groups = []
    if place == "Results":
        evidence = (context or {}).get("evidence") or count_evidence(study)
        groups = list_groups(study, edge, evidence, page=entry.name, key=captured.get("key", ""))
    return Frame(
        facts=describe_study(study, items=edge.records, systems=edge.systems, reader=request.user),
        unit=name_unit(study, edge.systems),
        done=edge.done,
        target=edge.target,
        can_edit=can_edit,
        is_owner=is_enough(rank, Membership.Role.OWNER),
        place=place,
        tab=entry.tab,
        is_sided=place in SIDED,
        places=[
            _link(study, firsts[label], label, label == place)
            for label in labels
            if label in firsts
        ],
        tabs=[
            replace(
                _link(study, page, page.tab, page == entry, setup if place == "Set up" else None),
                **counts.get(page.name, {}),
            )
            for page in shown
            if find_place(page) == place
        ],
        groups=groups,
        setup=setup if is_draft and study.state == Study.State.DRAFT else None,
    )


def _link(study: Study, page: StudyPage, label: str, is_current: bool, setup: Any = None) -> Link:
    return Link(
        label=label,
        url=reverse(f"admin:{page.name}", args=[study.pk]),
        is_current=is_current,
        is_revealing=page.is_revealing,
        entry=None if setup is None else setup.entries.get(page.name),
    )


def is_safe(request: HttpRequest) -> bool:
    """Return whether the request changes nothing."""
    return request.method in ("GET", "HEAD")


def _guide_senders(view: Any) -> Any:
    """Ask people who submit a form while signed out to sign in, then return to its page.

    GET on an address that only accepts POST shows a page, for people who reload it.
    """

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **captured: Any) -> HttpResponseBase:
        if is_safe(request) or request.user.is_authenticated:
            response: HttpResponseBase = view(request, *args, **captured)
            if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and is_safe(request):
                page = render(request, "405.html", status=response.status_code)
                page.headers["Allow"] = response.headers["Allow"]
                return page
            return response
        sent_from = request.headers.get("Referer", "")
        if url_has_allowed_host_and_scheme(sent_from, {request.get_host()}):
            sent_from = urlsplit(sent_from)._replace(scheme="", netloc="").geturl()
        else:
            sent_from = ""
        messages.error(
            request, "You were signed out, so nothing was changed. Sign in, then do it again."
        )
        return redirect_to_login(sent_from or reverse("admin:index"), reverse("admin:login"))

    return checked

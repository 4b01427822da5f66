"""Staff pages: people of earlier studies who are kept out or required, and their block list."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.participants.models import EarlierStudyRule
from evalsite.participants.recognition import change_rules, count_marked, list_platform_ids
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import StudyView, may_see_identities

_RULES = {"": "No rule", **dict(EarlierStudyRule.Rule.choices)}


def _list_earlier(request: HttpRequest, study: Study) -> list[Study]:
    """Return the other studies that this person is a member of."""
    members = Study.objects.filter(memberships__user=request.user.pk)
    return list(members.exclude(pk=study.pk).order_by("-created_at").distinct())


@require_http_methods(["GET", "HEAD", "POST"])
def show_earlier(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The rules on people of earlier studies, which may change while the study runs."""
    earlier = _list_earlier(request, study)
    if request.method == "POST":
        return _save(request, study, earlier)
    stored = dict(study.earlier_rules.values_list("earlier", "rule"))
    people = count_marked(earlier)
    owned = set(
        Membership.objects.filter(user=request.user.pk, study__in=earlier, has_identities=True)
        .values_list("study", flat=True)
    ) | set(
        Membership.objects.filter(
            user=request.user.pk, study__in=earlier, role=Membership.Role.OWNER
        ).values_list("study", flat=True)
    )  # fmt: skip
    context: dict[str, Any] = {
        "rows": [
            {
                "study": one,
                "people": people.get(one.pk, 0),
                "rule": stored.get(one.pk, ""),
                "sees_identities": one.pk in owned,
            }
            for one in earlier
        ],
        "others": len(stored.keys() - {one.pk for one in earlier}),
        "rules": _RULES,
    }
    return TemplateResponse(request, "studies/earlier.html", context)


def _save(request: HttpRequest, study: Study, earlier: list[Study]) -> HttpResponseBase:
    given = {one: request.POST.get(f"rule-{one.pk}") for one in earlier}
    rules = {one: rule for one, rule in given.items() if rule is not None}
    if set(rules.values()) - _RULES.keys():
        messages.error(request, "Choose one of the rules.")
    else:
        change_rules(study=study, rules=rules, by=request.user)
        messages.success(request, "Saved.")
    return redirect("admin:study-earlier", study.pk)


@require_POST
def show_block_list(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the ids of an earlier study's people, to those who may see identities there."""
    wanted = request.POST.get("earlier", "")
    earlier = next((one for one in _list_earlier(request, study) if str(one.pk) == wanted), None)
    if earlier is None:
        raise Http404
    if not may_see_identities(request, earlier):
        raise PermissionDenied
    lists = [(name, "\n".join(ids), len(ids)) for name, ids in
             list_platform_ids(earlier, by=request.user)]  # fmt: skip
    context = {"earlier": earlier, "lists": lists}
    response = TemplateResponse(request, "studies/block_list.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


earlier_views = [
    StudyView(
        path="earlier/",
        name="study-earlier",
        view=show_earlier,
        role=Membership.Role.EDITOR,
        within="setup-quality",
    ),
    StudyView(
        path="earlier/block-list/",
        name="block-list",
        view=show_block_list,
        role=Membership.Role.EDITOR,
        within="setup-quality",
        is_reading=True,
    ),
]

"""Staff pages: people of earlier studies who are kept out or required, and their block list."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.people.models import EarlierStudyRule
from evalsite.people.recognition import change_rules, count_marked, list_platform_ids
from evalsite.studies.models import Membership, Study
from evalsite.studies.staff_pages import may_see_identities, study_page

_RULES = {"": "No rule", **dict(EarlierStudyRule.Rule.choices)}


class RulesForm(forms.Form):
    """A rule for the people of each earlier study; what isn't posted stays."""

    def __init__(self, data: Any, *, earlier: list[Study]) -> None:
        super().__init__(data)
        self.earlier = {f"rule-{study.pk}": study for study in earlier}
        for name in self.earlier:
            self.fields[name] = forms.ChoiceField(choices=list(_RULES.items()), required=False)

    def read_rules(self) -> dict[Study, str]:
        posted = self.data.keys()
        return {
            study: self.cleaned_data[name] for name, study in self.earlier.items() if name in posted
        }


class BlockListForm(forms.Form):
    """The study whose people are listed."""

    earlier = forms.UUIDField()


def _list_earlier(request: HttpRequest, study: Study) -> list[Study]:
    """Return the other studies that this person is a member of."""
    members = Study.objects.filter(memberships__user=request.user.pk)
    return list(members.exclude(pk=study.pk).order_by("-created_at").distinct())


@study_page("earlier/", name="study-earlier", role=Membership.Role.EDITOR, within="setup-quality")
@require_http_methods(["GET", "HEAD", "POST"])
def show_earlier(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The rules on people of earlier studies, which may change while the study runs."""
    earlier = _list_earlier(request, study)
    form = RulesForm(request.POST if request.method == "POST" else None, earlier=earlier)
    if form.is_bound:
        if form.is_valid():
            change_rules(study=study, rules=form.read_rules(), by=request.user)
            messages.success(request, "Saved.")
        else:
            messages.error(request, "Choose one of the rules.")
        return redirect("admin:study-earlier", study.pk)
    stored = dict(study.earlier_rules.values_list("earlier", "rule"))
    people = count_marked(earlier)
    memberships = Membership.objects.filter(user=request.user.pk, study__in=earlier)
    may_see = Q(has_identities=True) | Q(role=Membership.Role.OWNER)
    with_identities = set(memberships.filter(may_see).values_list("study", flat=True))
    context: dict[str, Any] = {
        "rows": [
            {
                "study": other,
                "people": people.get(other.pk, 0),
                "rule": stored.get(other.pk, ""),
                "sees_identities": other.pk in with_identities,
            }
            for other in earlier
        ],
        "others": len(stored.keys() - {other.pk for other in earlier}),
        "rules": _RULES,
    }
    return TemplateResponse(request, "fieldwork/earlier.html", context)


@study_page(
    "earlier/block-list/",
    name="block-list",
    role=Membership.Role.EDITOR,
    within="setup-quality",
    is_reading=True,
)
@require_POST
def show_block_list(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the ids of an earlier study's people, to those who may see identities there."""
    form = BlockListForm(request.POST)
    known = {other.pk: other for other in _list_earlier(request, study)}
    earlier = known.get(form.cleaned_data["earlier"]) if form.is_valid() else None
    if earlier is None:
        raise Http404
    if not may_see_identities(request, earlier):
        raise PermissionDenied
    lists = [
        (name, "\n".join(ids), len(ids))
        for name, ids in list_platform_ids(earlier, by=request.user)
    ]
    context = {"earlier": earlier, "lists": lists}
    response = TemplateResponse(request, "fieldwork/block_list.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response

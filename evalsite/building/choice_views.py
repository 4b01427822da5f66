"""What people will be asked: three instruments with the researcher's own first item in each."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.building.adaptation import adapt, has_comment_box
from evalsite.building.choice_forms import ChoiceForm, PageForm
from evalsite.building.fitting import Fit, FirstItem, fit_entry, propose
from evalsite.building.gallery import Entry, choose, find_entry, list_shipped
from evalsite.building.trying import render_pick
from evalsite.instruments.schema import Instrument
from evalsite.studies.instruments import adopt_instrument

INVALID, CONFLICT = 422, 409


def list_picks(request: HttpRequest, first: FirstItem, chosen: str) -> list[Fit]:
    """Return what is shown to choose from: the instrument that is chosen, and the best others."""
    fits = propose(first, list_shipped())
    entry = find_entry(chosen, request.user)
    if entry is None or chosen in [fit.entry.value for fit in fits]:
        return fits
    fit = fit_entry(entry, first)
    return fits if fit.lacks else [fit, *fits[:2]]


def describe_pick(fit: Fit, first: FirstItem, form: PageForm) -> dict[str, Any]:
    """Return what the page shows of an instrument: the first item, and what may be added."""
    config = Instrument.model_validate(adapt(fit, first, has_comments=False, added=()))
    texts = [*first.outputs.values()][: config.item.outputs.most]
    inputs = {name: first.inputs[source].text for name, source in fit.inputs.items()}
    return {
        "entry": fit.entry,
        "html": render_pick(config, inputs, texts),
        "work": first.describe_work(config),
        "has_box": has_comment_box(config),
        "unused": fit.list_unused(first),
        "form": form,
    }


def take_choice(form: ChoiceForm, page: PageForm, user: Any) -> dict[str, Any]:
    """Return what makes a study of the choice: a protocol, or the version of an instrument."""
    fit = form.fit
    if fit is None:
        raise ValueError("no instrument was chosen")
    added = page.cleaned_data["added"]
    content = adapt(fit, form.first, has_comments=page.cleaned_data["comments"], added=added)
    if content == fit.entry.config.to_data():
        return choose(fit.entry.value, user)
    return {"instrument": adopt_instrument(data=content, by=user)}

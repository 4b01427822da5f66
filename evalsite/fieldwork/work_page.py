"""Staff page of Set up: how many answers, by how many people, for how much."""

from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.fieldwork.checklist import check_people
from evalsite.fieldwork.invited_people import count_expected
from evalsite.fieldwork.setup import Setup, describe_dates, describe_setup
from evalsite.fieldwork.setup_page import (
    PREVIEW,
    choose_status,
    describe_page,
    make_form,
    save_settings,
)
from evalsite.studies.models import Membership, Study
from evalsite.studies.set_size import WORDS_A_MINUTE, estimate_reading
from evalsite.studies.settings import PAGES
from evalsite.studies.setup_forms import SettingsForm, WorkForm
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import (
    describe_sets,
    estimate_work,
    format_money,
    minutes_per_set,
)

_PENNY = Decimal("0.01")
LONGER, SMALLER = "long", "few"


@dataclass(frozen=True, kw_only=True)
class Mend:
    """What gives people time to read: more minutes, with as much pay for each, or smaller sets."""

    minutes: int
    announced: int
    pay: str  # for the minutes it takes; "" if nobody is paid
    hourly: str  # what the pay as it is comes to
    set_size: int | None  # None: not even one page can be read in time
    changes: dict[str, dict[str, str]]  # by the button that makes them


@study_page(
    "set-up/work/",
    name="setup-work",
    role=Membership.Role.EDITOR,
    place="Set up",
    tab=PAGES["work"],
    order=32,
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_work(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Show the settings of the work with what they add up to; a button may fill in some."""
    form = make_form(WorkForm, request, study)
    if form.action in (LONGER, SMALLER):
        form = _fill_in(form, study)
    saved = save_settings(request, form)
    if saved is not None:
        return saved
    context = describe_page(study, form)
    setup, shown = describe_setup(study), context["shown"]
    expected = count_expected(shown)
    context |= _add_up(shown, setup, expected)
    mend = find_mend(shown)
    context |= {
        "unit": setup.unit,
        "dates": describe_dates(shown, form.zone),
        "mend": mend,
        "words_a_minute": WORDS_A_MINUTE,
        "costs": [] if form.is_frozen else _list_costs(shown, setup, mend),
        "people_check": check_people(shown, setup.measure(shown), expected or 0),
    }
    status = choose_status(context)
    return TemplateResponse(request, "fieldwork/setup_work.html", context, status=status)


def find_mend(study: Study) -> Mend | None:
    """Return what would help where a set takes longer to read than people are told; else None."""
    minutes, announced = estimate_reading(study), minutes_per_set(study)
    if minutes <= announced:
        return None
    smaller = copy(study)
    sizes = []
    for smaller.set_size in range(study.set_size - 1, 0, -1):
        if estimate_reading(smaller) <= minutes_per_set(smaller):
            sizes.append(smaller.set_size)
            break
    pay = study.pay_per_set
    scaled = None if pay is None else (pay * minutes / announced).quantize(_PENNY)
    longer = {"minutes_per_set": str(minutes)}
    return Mend(
        minutes=minutes,
        announced=announced,
        pay="" if scaled is None else format_money(scaled, study.currency),
        hourly="" if pay is None else format_money(pay * 60 / minutes, study.currency),
        set_size=sizes[0] if sizes else None,
        changes={
            LONGER: longer | ({} if scaled is None else {"pay_per_set": str(scaled)}),
            SMALLER: {"set_size": str(sizes[0])} if sizes else {},
        },
    )


def _fill_in(form: SettingsForm, study: Study) -> SettingsForm:
    """Return the form with what the pressed button fills in; it isn't saved yet."""
    mend = find_mend(form.instance) if form.is_valid() else None
    changes = {} if mend is None else mend.changes[form.action]
    data = {name: form.data[name] for name in form.data} | changes | {"do": PREVIEW}
    return WorkForm(data, instance=copy(study), zone=form.zone)


def count_people(study: Study, sets: int) -> int:
    """Return how many people it takes: each paid set goes to a person of its own, if they may
    do no more."""
    return max(study.k, ceil(sets / (study.max_sets or 1))) if sets else 0


def _add_up(study: Study, setup: Setup, expected: int | None) -> dict[str, object]:
    """Return what these settings add up to, for the headline and the line below the fields."""
    total = estimate_work(study, setup.work.items, setup.find_groups(study))
    return {
        "total": total,
        "sets_note": describe_sets(study, total.items, setup.find_groups(study)),
        "set_size": min(study.set_size, max(total.items, 1)),
        "minutes": minutes_per_set(study, total.items or None),
        "cost": "" if total.cost is None else format_money(total.cost, study.currency),
        "pay": "" if study.pay_per_set is None else format_money(study.pay_per_set, study.currency),
        "hourly": "" if total.hourly is None else format_money(total.hourly, study.currency),
        "people": count_people(study, total.sets),
        "expected": expected,
        "is_short": expected is not None and expected < study.k,
    }


def _list_costs(study: Study, setup: Setup, mend: Mend | None) -> list[tuple[str, int, str]]:
    """Return what some changes would come to: in words, with the people and the cost."""
    if study.pay_per_set is None or not setup.work.items:
        return []
    changes: list[tuple[str, dict[str, object]]] = [
        (f"{k} answer{'' if k == 1 else 's'} per {setup.unit}", {"k": k})
        for k in (study.k - 1, study.k + 2)
        if k > 0
    ]
    if mend is not None:
        pay = Decimal(mend.changes[LONGER]["pay_per_set"])
        changes.append((f"{mend.minutes} minutes and {mend.pay}", {"pay_per_set": pay}))
    rows = []
    for words, values in changes:
        changed = copy(study)
        for name, value in values.items():
            setattr(changed, name, value)
        total = estimate_work(changed, setup.work.items, setup.find_groups(changed))
        cost = format_money(total.cost or Decimal(0), study.currency)
        rows.append((words, count_people(changed, total.sets), cost))
    return rows

"""Staff page of Set up: checks, who may take part, and which flags can find careless work."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.analysis.families import get_family
from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import FEWEST_SHARED, Thresholds, make_thresholds
from evalsite.decisions.frozen_plans import plan_of
from evalsite.decisions.models import AnalysisPlan
from evalsite.fieldwork.checklist import Counts
from evalsite.fieldwork.made_checks import describe_checks
from evalsite.fieldwork.setup import describe_setup
from evalsite.fieldwork.setup_page import (
    choose_status,
    describe_page,
    make_form,
    save_settings,
)
from evalsite.results.analysis_plan.stored import own_thresholds
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.question_forms import QuestionForm
from evalsite.studies.question_views import describe_entry_questions, find_next_key
from evalsite.studies.set_size import answers_each, checks_in, mains_per_set
from evalsite.studies.settings import PAGES
from evalsite.studies.setup_forms import QualityForm
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of


@dataclass(frozen=True, kw_only=True)
class FlagRow:
    """A flag: when it is raised, whether it can be in this study, and from when or why not."""

    label: str
    when: str
    can_fire: bool
    note: str = ""


@study_page(
    "set-up/quality/",
    name="setup-quality",
    role=Membership.Role.EDITOR,
    place="Set up",
    tab=PAGES["quality"],
    order=34,
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_quality(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = make_form(QualityForm, request, study)
    saved = save_settings(request, form)
    if saved is not None:
        return saved
    context = describe_page(study, form)
    shown, counts = context["shown"], describe_setup(study).counts
    flags = find_flags(shown, counts, plan_of(study))
    context |= {
        "checks": describe_checks(study),
        "answers": answers_each(shown, counts.items),
        "flags": flags,
        "can_fire": sum(flag.can_fire for flag in flags),
        "questions": describe_entry_questions(study),
        "next_key": find_next_key(study),
        "question_form": QuestionForm(
            initial={"kind": "choice", "revision": study.revision}, auto_id="question_%s"
        ),
    }
    status = choose_status(context)
    return TemplateResponse(request, "results/setup_quality.html", context, status=status)


def find_flags(study: Study, counts: Counts, plan: AnalysisPlan) -> list[FlagRow]:
    """Return the five flags, for the answers and checks that these settings give a person."""
    attention = counts.by_kind.get(Item.Kind.ATTENTION, 0)
    fitting = checks_in(study, mains_per_set(study)) if study.max_sets == 1 else attention
    return list_flags(
        study,
        make_thresholds(own_thresholds(study, plan)),
        answers=answers_each(study, counts.items),
        attention=min(study.checks_per_person, attention, fitting),
    )


def list_flags(study: Study, limits: Thresholds, *, answers: int, attention: int) -> list[FlagRow]:
    """Return the five flags of people, for a person who gives so many answers and checks."""
    has_order = any(get_family(criterion.family).is_scored for criterion in study.config.criteria)
    is_shared = study.k > 1

    def judge(label: str, when: str, *, needs: float, has: int, note: str = "") -> FlagRow:
        if has >= needs:
            return FlagRow(label=label, when=when, can_fire=True, note=note)
        words = f"needs {needs:.0f} {'checks' if label == _CHECKS else 'answers'}"
        return FlagRow(label=label, when=when, can_fire=False, note=words)

    rows = [
        judge(
            _CHECKS,
            f"At least {limits.attention:.0%} of {limits.attention_checks:.0f} attention checks or "
            "more",
            needs=limits.attention_checks,
            has=attention,
        ),
        judge(
            "Too fast",
            f"At least {limits.floor_share:.0%} of at least {limits.floor_pages:.0f} pages read "
            "faster than 10 words a second",
            needs=limits.floor_pages,
            has=answers,
        ),
        judge(
            "Same answer",
            f"One value in over {limits.top_share:.0%}, more than others give it",
            needs=limits.top_share_ratings,
            has=answers,
            note=f"rare values from {count_of(int(limits.top_share_ratings), 'answer')}",
        ),
        judge(
            "Copied answers",
            "Two people give the same answers more often than their quality explains",
            needs=FEWEST_SHARED,
            has=answers,
            note=f"from {FEWEST_SHARED} shared pages",
        ),
        judge(
            "Disagrees with others",
            f"Agreement with the others under {write_coefficient(limits.rho)}, for sure",
            needs=limits.rho_few_ratings,
            has=answers,
        ),
    ]
    reasons = {
        "Same answer": "" if has_order else "needs scores",
        "Copied answers": "" if is_shared else "needs 2 answers to each page",
        "Disagrees with others": (
            "needs scores" if not has_order else "" if is_shared else "needs 2 answers to each page"
        ),
    }
    return [
        FlagRow(label=row.label, when=row.when, can_fire=False, note=reason)
        if (reason := reasons.get(row.label))
        else row
        for row in rows
    ]


_CHECKS = "Fails checks"

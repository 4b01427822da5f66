"""The navigation of Results: the same entries on every page, for every study, hidden or not."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse

from evalsite.data.models import Judge, MetricScore
from evalsite.decisions.frozen_plans import list_hidden
from evalsite.handout.models import Annotation
from evalsite.lib.rating_columns import name_option
from evalsite.people.models import Participant
from evalsite.results.comments.written import find_notes, find_texts
from evalsite.results.items.records import count_records
from evalsite.results.progress import Edge, count_for
from evalsite.studies.models import Study

# of more questions, all but this many are behind one entry
MOST_QUESTIONS = 8


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A page of Results. `note` stands beside its name: a count, "primary" or "hidden"."""

    label: str
    url: str
    note: str = ""
    is_current: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    heading: str
    entries: list[Entry]


def list_groups(
    study: Study, edge: Edge, counts: dict[str, Any], *, page: str, key: str = ""
) -> list[Group]:
    """List what the navigation shows. `page`: the name of the page that is open; `key`: of a
    question's page, its question."""

    def enter(label: str, name: str, count: int = 0) -> Entry:
        return Entry(
            label=label,
            url=reverse(f"admin:{name}", args=[study.pk]),
            note=f"{count:,}" if count else "",
            is_current=page == name and not key,
        )

    return [
        Group(heading="", entries=[enter("Summary", "study-results")]),
        Group(heading="Questions", entries=_list_questions(study, counts, page=page, key=key)),
        Group(
            heading="Evidence",
            entries=[
                enter("Comments", "results-comments", counts["comments"]),
                enter("Items", "results-items", counts.get("records", edge.records)),
                enter("Raters", "results-raters", counts["raters"]),
                enter("Design", "results-design"),
                enter(
                    "Judges & metrics", "results-judges", counts["metrics"] + counts["judge_count"]
                ),
            ],
        ),
        Group(heading="Take away", entries=[enter("Files", "study-export")]),
    ]


def _list_questions(
    study: Study, counts: dict[str, Any], *, page: str, key: str
) -> list[Entry]:  # fmt: skip
    """List the questions in the order of the instrument; of many, the first few and all."""
    criteria = study.config.criteria
    is_hidden = counts["is_hidden"]
    shown = criteria if len(criteria) <= MOST_QUESTIONS else criteria[: MOST_QUESTIONS - 1]
    entries = [
        Entry(
            label=criterion.label,
            url=find_question_url(study, criterion.key, is_hidden=is_hidden),
            note="hidden"
            if is_hidden
            else "primary" * (criterion.key == counts["primary"]),
            is_current=criterion.key == key,
        )
        for criterion in shown
    ]  # fmt: skip
    if len(shown) < len(criteria):
        summary = reverse("admin:study-results", args=[study.pk])
        entries.append(Entry(label=f"All {len(criteria)} questions", url=f"{summary}#findings"))
    return entries


def find_question_url(study: Study, key: str, *, is_hidden: bool = False) -> str:
    """Return the address of a question's page; while results are hidden, of the form that reveals
    them."""
    summary = reverse("admin:study-results", args=[study.pk])
    if is_hidden:
        return f"{summary}#reveal"
    if key not in {criterion.key for criterion in study.config.criteria}:
        # an option of a choice
        key = key.partition(name_option("", ""))[0]
    return reverse("admin:results-question", args=[study.pk, key])


def count_evidence(study: Study) -> dict[str, Any]:
    """Count comments, raters and metrics; say which question is primary, and whether results are
    hidden: all in one query."""
    is_mine = Q(participant=OuterRef("pk"))
    answers = Annotation.objects.counted().filter(is_mine)
    scores: Any = MetricScore.objects.filter(file__study=OuterRef("pk")).order_by()
    metrics = scores.values("file__study").annotate(number=Count("metric", distinct=True))
    # the header knows how many there are where people see all outputs at once
    records = {} if study.config.unit_name == "item" else {"records": count_records()}
    row: Any = Study.objects.filter(pk=study.pk).order_by()
    counts: dict[str, Any] = row.values(
        primary=F("analysis_plan__primary"),
        is_hidden=Exists(list_hidden().filter(pk=OuterRef("pk"))),
        raters=count_for(Participant.objects.filter(Exists(answers))),
        metrics=Coalesce(Subquery(metrics.values("number")), 0),
        judge_count=count_for(Judge.objects.all()),
        with_note=count_for(find_notes(study, is_everyone=False)),
        written=count_for(find_texts(study, is_everyone=False)),
        **records,
    ).get()
    return counts | {"comments": counts["with_note"] + counts["written"]}

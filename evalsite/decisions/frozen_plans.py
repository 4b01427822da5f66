"""Plans that are frozen: their versions, what was done about them, and what departs from them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.exclusion_rules import list_conditions
from evalsite.decisions.models import (
    AnalysisPlan,
    AnalysisPlanVersion,
    Exclusion,
    ExclusionRule,
    PlanEvent,
)
from evalsite.decisions.plan_commitment import commit_plan
from evalsite.fieldwork.checklist import counts_of
from evalsite.fieldwork.launch import AT_LAUNCH, AtLaunch, count_held, insist_on_owner
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.lib.counts import count_together
from evalsite.people.models import Origin
from evalsite.studies.models import Change, Item, Study
from evalsite.studies.versions import hash_content, list_in_force

# --- what was known when a plan was written

_OF_PILOTS = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


def plan_of(study: Study) -> AnalysisPlan:
    """Return the study's plan, or an empty one that isn't saved."""
    plan = AnalysisPlan.objects.filter(study=study).first() or AnalysisPlan()
    # the one at hand: it isn't read once more
    plan.study = study
    return plan


def _find_answers(study: Study, *, before: datetime) -> QuerySet[Annotation]:
    """Return all answers so far, those left out since too; none of practice, checks or pilots."""
    answers = Annotation.objects.agreed().filter(
        study=study,
        item__kind__in=(Item.Kind.MAIN, Item.Kind.WITHDRAWN),
        submitted_at__lt=before,
    )
    return answers.exclude(_OF_PILOTS)


def count_answers(study: Study, *, before: datetime) -> int:
    return _find_answers(study, before=before).count()


def count_answers_at(plan: AnalysisPlan) -> dict[str, int]:
    """Return how many answers were in when each part was last changed, of those that were."""
    if not plan.moments:
        return {}
    return count_together(
        None, **{name: _find_answers(plan.study, before=at) for name, at in plan.moments.items()}
    )


def has_imported(study: Study) -> bool:
    """Return whether ratings were collected elsewhere; nobody knows who saw those, and when."""
    return Annotation.objects.filter(study=study, origin=Origin.IMPORTED).exists()


# in the place of a flag: an exclusion by the plan's rule in words
PLANNED = "plan"
FROZEN = "analysis plan frozen"
REVEALED = "results revealed early"
# a plan is more than thresholds of flags and numbers
_PARTS = ("primary", "hypotheses", "margins", "exclusion_rule", "rules")
Kind = PlanEvent.Kind


def build_plan(study: Study, plan: AnalysisPlan | None = None) -> dict[str, Any]:
    """Return the plan as it is now as plain data, without what is empty."""
    plan = plan or plan_of(study)
    content = {
        "primary": plan.primary,
        "hypotheses": plan.hypotheses,
        "margins": plan.margins,
        "exclusion_rule": plan.exclusion_rule,
        "rules": list_conditions(study),
        "thresholds": plan.thresholds,
        "smallest": plan.smallest,
        "has_own_errors": plan.has_own_errors or None,
    }
    # a plan that hides nothing has the hash that it always had
    content["hides_results"] = study.hides_results or None
    content = {name: value for name, value in content.items() if value not in ("", None, [], {})}
    if not has_plan(content):
        return content
    is_draft = study.version_id is None
    items = counts_of(study).items if is_draft else Item.objects.main().filter(study=study).count()
    planned = {"items": items, "answers": items * study.k, "stopping": plan.stopping}
    clusters = list_cluster_answers(study)
    return content | {"planned": planned} | ({"clusters": clusters} if clusters else {})


def list_cluster_answers(study: Study) -> list[dict[str, Any]]:
    """Return what was answered at imports whose items seemed to come from talks or documents."""
    batches = study.batches.order_by("uploaded_at").values_list("import_notes", flat=True)
    return [
        {"code": note["code"], "facts": note["facts"]}
        for notes in batches
        for note in notes
        if note["code"] in ("clusters_used", "clusters_not_used")
    ]


def has_plan(content: dict[str, Any]) -> bool:
    """Return whether anything is planned."""
    return any(name in content for name in _PARTS)


def count_answers_in(study: Study) -> int:
    """Count the answers that are in and count."""
    return Annotation.objects.counted().filter(study=study).count()


@transaction.atomic
def freeze_plan(study: Study, by: Any, reason: str = "") -> AnalysisPlanVersion:
    """Keep the plan as it is now as its newest version."""
    content = build_plan(study)
    newest = AnalysisPlanVersion.objects.filter(study=study).order_by("-number").first()
    digest = hash_content(content)
    if newest is not None and newest.sha256 == digest:
        return newest
    version = AnalysisPlanVersion.objects.create(
        study=study,
        number=1 if newest is None else newest.number + 1,
        content=content,
        sha256=digest,
        has_plan=has_plan(content),
        reason=reason,
        answers=count_answers_in(study),
        frozen_by=by if getattr(by, "is_authenticated", False) else None,
    )
    if study.is_launched:
        commit_plan(study, version)
    if version.has_plan or newest is not None:
        AuditEntry.objects.record(
            FROZEN, by=by, study_id=study.pk, version=version.number, sha256=digest
        )
    return version


def freeze_at_launch(study: Study, by: Any) -> None:
    freeze_plan(study, by)


def mark_content(content: dict[str, Any]) -> str:
    """Return the hash of a plan alone: the items of its study are marked by themselves."""
    return hash_content({name: part for name, part in content.items() if name != "planned"})


AT_LAUNCH.append(
    AtLaunch(
        name="plan",
        mark=lambda study: mark_content(build_plan(study)),
        name_last=lambda study: str(plan_of(study).changed_by or ""),
        freeze=freeze_at_launch,
        finish=commit_plan,
    )
)


def list_versions(study: Study) -> list[AnalysisPlanVersion]:
    """Return the frozen versions of the plan, the first first.

    Each says whether anything was changed after launch: few studies need a query for that.
    """
    changes = Exists(Change.objects.filter(study=OuterRef("study")))
    versions = study.plan_versions.select_related("frozen_by").annotate(has_changes=changes)
    return list(versions.order_by("number"))


def find_first(versions: Sequence[AnalysisPlanVersion]) -> AnalysisPlanVersion | None:
    """Return version 1 of the plan, if something was planned."""
    return next((version for version in versions if version.number == 1 and version.has_plan), None)


def find_version(study: Study) -> AnalysisPlanVersion | None:
    """Return version 1 of the plan, if something was planned."""
    return AnalysisPlanVersion.objects.filter(study=study, number=1, has_plan=True).first()


# --- hidden until closing -------------------------------------------------------------------


def is_hidden(study: Study) -> bool:
    """Return whether results by system are hidden: the study hides them, and it isn't over yet.

    They are shown once the study is closed, nobody is at work, and the rules were applied or
    declined; or once an owner revealed them.
    """
    if study.launched_at is None or not study.hides_results:
        return False
    return study.pk in list_hidden().filter(pk=study.pk).values_list("pk", flat=True)


def list_hidden() -> Any:
    """Return the studies whose results by system are hidden."""
    mine = {"study": OuterRef("pk")}
    events = PlanEvent.objects.filter(**mine)
    rules = ExclusionRule.objects.current().filter(**mine)
    at_work = Slot.objects.leased().filter(lease_until__gt=now(), **mine)
    has_ended = Q(state__in=(Study.State.CLOSED, Study.State.ARCHIVED))
    is_over = has_ended & ~Exists(at_work) & (~Exists(rules) | Exists(_find_decided()))
    return (
        Study.objects.filter(hides_results=True, launched_at__isnull=False)
        .exclude(is_over)
        .exclude(Exists(events.filter(kind=Kind.REVEALED)))
        .order_by()
    )


class ItemNames:
    """Ids of items as pages show them beside answers: while systems are hidden, without systems."""

    def __init__(self, study: Study, *, is_blind: bool) -> None:
        names = study.systems.values_list("name", flat=True) if is_blind else ()
        longest_first = sorted(map(re.escape, names), key=len, reverse=True)
        whole = rf"(?<![^\W_])(?:{'|'.join(longest_first)})(?![^\W_])"
        self._systems = re.compile(whole, re.IGNORECASE) if longest_first else None

    def __getitem__(self, item: Item) -> str:
        return item.key if self._systems is None else self._systems.sub("…", item.key)


def needs_decision(study: Study) -> bool:
    """Return whether a closed study waits for an owner to apply or decline its rules."""
    return study.state == Study.State.CLOSED and find_state(study).needs_decision


def list_undecided() -> Any:
    """Return the closed studies that wait for an owner to apply or decline their rules."""
    mine = {"study": OuterRef("pk")}
    return Study.objects.filter(
        ~Exists(_find_decided()),
        Exists(AnalysisPlanVersion.objects.filter(has_plan=True, **mine)),
        Exists(ExclusionRule.objects.current().filter(**mine)),
        state=Study.State.CLOSED,
    )


def _find_decided() -> Any:
    decisions = PlanEvent.objects.filter(kind__in=(Kind.APPLIED, Kind.DECLINED))
    return decisions.filter(study=OuterRef("pk"), at__gte=OuterRef("closed_at"))


@dataclass(frozen=True, kw_only=True)
class State:
    """What a frozen plan means for a study now."""

    is_hidden: bool
    needs_decision: bool


def find_state(study: Study) -> State:
    """Return whether results are hidden and rules undecided, in one query."""
    if study.launched_at is None:
        return State(is_hidden=False, needs_decision=False)
    counts = count_together(
        hidden=list_hidden().filter(pk=study.pk), undecided=list_undecided().filter(pk=study.pk)
    )
    return State(is_hidden=counts["hidden"] > 0, needs_decision=counts["undecided"] > 0)


def count_at_work(study: Study) -> int:
    """Count the places that people at work hold."""
    holding = count_held(study)
    return 0 if holding is None else holding.places


def reveal_results(*, study: Study, by: Any, reason: str = "") -> bool:
    """Show results by system from now on, and keep who decided that; False if they are shown."""
    insist_on_owner(study, by)
    return _reveal(study, by, reason)


def note_reveal(study: Study, by: Any, reason: str) -> bool:
    """Keep that results by system left the site while they were hidden: a command wrote them."""
    return is_hidden(study) and _reveal(study, by, reason)


def _reveal(study: Study, by: Any, reason: str) -> bool:
    if not is_hidden(study):
        return False
    answers = count_answers_in(study)
    target = study.k * Item.objects.main().filter(study=study).count()
    try:
        with transaction.atomic():
            PlanEvent.objects.create(
                study=study,
                kind=Kind.REVEALED,
                by=by if getattr(by, "is_authenticated", False) else None,
                answers=answers,
                number=target,
                reason=reason.strip()[:200],
            )
            AuditEntry.objects.record(
                REVEALED, by=by, study_id=study.pk, answers=answers, planned=target
            )
    except IntegrityError:
        # somebody else did it at the same time
        return False
    return True


def note_more_answers(study: Study, by: Any, number: int) -> None:
    """Keep that more answers were asked for than planned, where a plan is frozen."""
    if number and find_version(study) is not None:
        PlanEvent.objects.create(
            study=study,
            kind=Kind.TOPPED_UP,
            by=by if getattr(by, "is_authenticated", False) else None,
            answers=count_answers_in(study),
            number=number,
        )


# --- what departs from the plan ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """Something done otherwise than planned, or results seen before the end."""

    kind: str
    at: datetime
    answers: int | None = None
    planned: int = 0
    number: int = 0
    reason: str = ""

    def to_data(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat()}


def list_deviations(
    study: Study,
    versions: Sequence[AnalysisPlanVersion] | None = None,
    events: Iterable[PlanEvent] | None = None,
    exclusions: Iterable[Exclusion] | None = None,
) -> list[Deviation]:
    """Return what departs from a frozen plan, the earliest first.

    `versions`, `events`, `exclusions`: all of the study, where they are at hand. Where nothing was
    planned, only hidden results can have been seen early. An exclusion for a reason outside the
    plan stays listed after it was taken back.
    """
    versions = list_versions(study) if versions is None else versions
    events = study.plan_events.all() if events is None else events
    if not any(version.has_plan for version in versions):
        return [_describe_event(event) for event in events if event.kind == Kind.REVEALED]
    deviations = [
        Deviation(
            kind="changed", at=version.frozen_at, answers=version.answers, number=version.number,
            reason=version.reason,
        )
        for version in versions
        if version.number > 1
    ]  # fmt: skip
    deviations += [_describe_event(event) for event in events if event.kind != Kind.APPLIED]
    outside = [
        exclusion
        for exclusion in (study.exclusions.all() if exclusions is None else exclusions)
        if exclusion.planned_rule_id is None
        and exclusion.rule != PLANNED
        and exclusion.decided_at >= versions[0].frozen_at
    ]
    if "planned" not in versions[0].content:
        # frozen by an upgrade: nobody was asked which rule they followed
        outside = []
    deviations += [
        Deviation(
            kind="taken_back" if exclusion.revoked_at else "excluded", at=exclusion.decided_at,
            reason=exclusion.reason,
        )
        for exclusion in outside
    ]  # fmt: skip
    more = [*_list_raised(study)]
    if getattr(versions[0], "has_changes", True):
        more += _list_changed(study)
    return sorted([*deviations, *more], key=lambda deviation: deviation.at)


def _describe_event(event: PlanEvent) -> Deviation:
    return Deviation(
        kind=event.kind,
        at=event.at,
        answers=event.answers,
        planned=event.number if event.kind == Kind.REVEALED else 0,
        number=event.number,
        reason=event.reason,
    )


def _list_changed(study: Study) -> Iterator[Deviation]:
    """Return each reason for which items were withdrawn or outputs corrected."""
    changed: dict[tuple[str, str], list[datetime]] = {}
    for change in list_in_force(study):
        if change.kind != Change.Kind.RENAMED:
            changed.setdefault((change.kind, change.reason), []).append(change.at)
    for (kind, reason), moments in changed.items():
        yield Deviation(kind=kind, at=moments[0], number=len(moments), reason=reason)


def _list_raised(study: Study) -> Iterator[Deviation]:
    """Return each time that more answers per item were asked for."""
    if study.version is None or study.version.number == 1:
        return
    before = None
    versions = study.versions.order_by("number").values_list("created_at", "content__settings__k")
    for at, k in versions:
        if before is not None and k > before:
            yield Deviation(kind="raised", at=at, number=k)
        before = k

"""How far the setting-up of a study is: what its pages hold and lack, and what it adds up to."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from django.utils.formats import date_format

from evalsite.core.accounts.time_zones import name_zone
from evalsite.fieldwork.checklist import (
    Check,
    Counts,
    check_launch,
    counts_of,
    measure_work,
    people_needed,
)
from evalsite.fieldwork.shares import find_problems
from evalsite.handout.feasibility import Workload
from evalsite.studies.models import Study
from evalsite.studies.set_size import mains_per_set
from evalsite.studies.summary_lines import (
    Estimate,
    MetOnce,
    count_of,
    estimate_work,
    format_money,
)

# where each page of Set up is, by its key in `studies.settings`
PAGE_NAMES = {
    "items": "batch-list",
    "read": "setup-read",
    "work": "setup-work",
    "quality": "setup-quality",
    "plan": "setup-plan",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the navigation says of a page: its present value, and whether it blocks the launch."""

    value: str = ""
    is_default: bool = False  # nobody chose the value
    is_blocking: bool = False


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a study has and lacks before its launch."""

    study: Study
    counts: Counts
    checks: list[Check]

    @cached_property
    def work(self) -> Workload:
        """Return how much there is to answer."""
        return measure_work(self.study, self.counts)

    @cached_property
    def problems(self) -> list[Check]:
        """Return what a launch waits for, that of the people invited by name last."""
        missing = [check for check in self.checks if not check.is_met]
        if self.study.version_id is not None or not self.counts.invited:
            return missing
        of_people = [
            Check(label="People", problem=error.messages[0], url_name="study-invite")
            for error in find_problems(self.study)
        ]
        return missing + of_people

    @cached_property
    def remarks(self) -> list[Check]:
        return [check for check in self.checks if check.is_met and check.remark]

    def find_groups(self, study: Study) -> MetOnce | None:
        """Return the groups that a person meets once each; None: as often as wanted."""
        if study.groups != Study.Groups.ONCE:
            return None
        work = self.measure(study)
        return MetOnce(work.group_count, max(work.sizes, default=0))

    def measure(self, study: Study) -> Workload:
        """Return how much there is to answer with the settings that this study has in memory."""
        if study.groups != self.work.groups:
            return measure_work(study, self.counts)  # groups weren't counted
        return replace(
            self.work,
            k=study.k,
            set_size=mains_per_set(study),
            max_sets=study.max_sets,
            max_items=study.max_items,
            groups=study.groups,
            is_size_fixed=mains_per_set(study) != study.set_size,
        )

    @property
    def unit(self) -> str:
        return self.work.unit

    @cached_property
    def estimate(self) -> Estimate:
        """Return what the design adds up to."""
        return estimate_work(self.study, self.work.items, self.find_groups(self.study))

    @cached_property
    def people(self) -> int:
        """Return how many people finish the study in any order."""
        return people_needed(self.study, self.work)[0]

    @property
    def cost(self) -> str:
        cost = self.estimate.cost
        return "" if not cost else format_money(cost, self.study.currency)

    @property
    def hourly(self) -> str:
        pay = self.estimate.hourly
        return "" if pay is None else format_money(pay, self.study.currency)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Return what the navigation says, by the name of the page."""
        study, counts = self.study, self.counts
        is_draft = study.version_id is None
        blocking = {check.url_name for check in self.problems} if is_draft else set()
        values = {
            "items": f"{counts.records:,}" if counts.items else "",
            "read": "notice" if study.has_notice else "page",
            "plan": self._name_plan() if counts.plans else "none",
            "work": self.cost or f"{count_of(study.k, 'answer')} each",
            "quality": (
                count_of(study.checks_per_person, "check") if study.checks_per_person else "none"
            ),
        }
        is_default = {"work": not self.cost and study.k == study.config.design.k}
        return {
            name: Entry(
                value=values.get(page, ""),
                is_default=is_default.get(page, False),
                is_blocking=name in blocking,
            )
            for page, name in PAGE_NAMES.items()
        }

    def _name_plan(self) -> str:
        """Return how many questions are planned; a plan may have rules only."""
        # which the study at hand remembers: the page of the plan has read it
        plan = self.study.analysis_plan
        planned = len(plan.hypotheses) + len(plan.margins)
        return count_of(planned, "question") if planned else "written"


def describe_setup(study: Study) -> Setup:
    """Return how far a study is; worked out once for each request's study."""
    known: Setup | None = study.__dict__.get("set_up")
    if known is None:
        counts = counts_of(study)
        known = study.__dict__["set_up"] = Setup(
            study=study,
            counts=counts,
            checks=check_launch(study, counts),
        )
    return known


def describe_dates(study: Study, zone: ZoneInfo) -> str:
    """Return when people can begin, and when the study closes by itself, in this time zone."""
    if study.has_ended:
        ended = study.closed_at
        return "" if ended is None else f"Closed on {_format_date(ended, zone)}"
    end = _describe_end(study, zone)
    if study.is_launched and not study.is_before_opening:
        return end
    opens_at = study.opens_at
    start = "Opens at launch" if opens_at is None else f"Opens on {_format_date(opens_at, zone)}"
    return f"{start}{',' if end.startswith('Closes') else ', and'} {end[0].lower()}{end[1:]}"


def _describe_end(study: Study, zone: ZoneInfo) -> str:
    last = "" if study.closes_at is None else _format_date(study.closes_at, zone)
    if study.closes_when_full:
        latest = f", on {last} at the latest" if last else ""
        return f"Closes when all answers are in{latest}"
    return f"Closes on {last}" if last else "Stays open until you close it"


def _format_date(moment: datetime, zone: ZoneInfo) -> str:
    return f"{date_format(moment.astimezone(zone), 'j F Y, H:i')} {name_zone(zone)}"

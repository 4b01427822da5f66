"""What an hour of work is paid: as it was promised, and at the median of what sets took."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from evalsite.participants.models import Recruitment
from evalsite.participants.recruiting import promised_minutes, promised_pay
from evalsite.quality.pay import list_payable
from evalsite.studies.models import Study

# as many sets as the median is taken of
_LATEST = 1000


def _find_median_minutes(study: Study) -> float | None:
    """Return the median time of the latest finished sets; None: there are none."""
    finished = list_payable(study).filter(finished_at__isnull=False).order_by("-finished_at")
    rows = finished.values_list("created_at", "finished_at", "visit__arrived_at")[:_LATEST]
    times = [
        (end - min(began, came or began)).total_seconds() / 60
        for began, end, came in rows
        if end is not None
    ]
    return median(times) if times else None


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What a study pays an hour: as promised, and at the median of what sets took."""

    promised: Decimal
    measured: Decimal
    promised_minutes: int
    minutes: float

    @property
    def is_low(self) -> bool:
        return self.measured < self.promised


def find_rate(study: Study, rounds: Sequence[Recruitment]) -> Rate | None:
    """Return the hourly pay of the study, once a set is finished; None without pay.

    By its first round that is on; without one, by the study's own link.
    """
    own = next((one for one in rounds if not one.number), Recruitment(study=study, number=0))
    recruitment = next((one for one in rounds if one.number and one.is_on), own)
    recruitment.study = study
    pay, minutes = promised_pay(recruitment), _find_median_minutes(study)
    if not pay or minutes is None:
        return None
    promised = promised_minutes(recruitment)
    return Rate(
        promised=pay * 60 / promised,
        measured=pay * 60 / Decimal(max(minutes, 0.1)),
        promised_minutes=promised,
        minutes=minutes,
    )

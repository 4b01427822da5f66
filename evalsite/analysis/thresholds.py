"""The thresholds at which a figure of a rater becomes a flag: starting values, which a study may
replace.

Nothing heavy is imported here: the page on which a study sets them needs the names and ranges only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from evalsite.analysis.families import get_family


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Where a figure becomes a flag; the starting values are guesses unless a survey rule."""

    top_share: float = 0.8
    top_share_ratings: int = 5
    sd_ratio: float = 0.25  # of the median rater's sd
    identical: float = 0.95
    identical_others: float = 0.6
    speed_ratio: float = 0.33
    speed_answers: int = 8
    speed_answers_alone: int = 10  # where the words aren't known
    under_floor: float = 0.2  # of the pages of a person who is fast
    floor_share: float = 0.5
    floor_pages: int = 4
    rho: float = 0.1
    rho_ratings: int = 20
    rho_few: float = -0.1
    rho_few_ratings: int = 12
    offset_sds: float = 2.0
    reserved: float = 0.4
    reserved_ratio: float = 2.0  # of the pool's share
    reserved_ratings: int = 20
    drift: float = 0.5  # points
    gold: float = 0.8
    attention: float = 0.5
    attention_checks: int = 2
    degraded_p: float = 0.05
    change_quantile: float = 0.95


START = Thresholds()
# outputs that two raters share, from which copied answers can be seen
FEWEST_SHARED = 8


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A threshold that a study may set, and its range.

    `in_percent`: it is shown and entered as a percentage, but stored as a share. `of_scores`,
    `of_points`: it applies only to criteria that are scored, or scored on points; `needs`: further
    conditions.
    """

    key: str
    least: float
    most: float
    in_percent: bool = False
    is_whole: bool = False
    of_scores: bool = False
    of_points: bool = False
    needs: str = ""

    @property
    def start(self) -> float:
        """The value that the software starts with."""
        value: float = getattr(START, self.key)
        return value


RESERVED, SEVERAL, REPEATS = "reserved", "several", "repeats"

LIMITS = (
    Limit(key="top_share", in_percent=True, least=0.5, most=1, of_scores=True),
    Limit(key="top_share_ratings", is_whole=True, least=2, most=1000, of_scores=True),
    Limit(key="sd_ratio", in_percent=True, least=0, most=1, of_scores=True),
    Limit(key="identical", in_percent=True, least=0.5, most=1, of_points=True, needs=SEVERAL),
    Limit(key="identical_others", in_percent=True, least=0, most=1, of_points=True, needs=SEVERAL),
    Limit(key="floor_share", in_percent=True, least=0.1, most=1),
    Limit(key="floor_pages", is_whole=True, least=2, most=1000),
    Limit(key="speed_ratio", in_percent=True, least=0, most=1),
    Limit(key="speed_answers", is_whole=True, least=2, most=1000),
    Limit(key="speed_answers_alone", is_whole=True, least=2, most=1000),
    Limit(key="rho", least=-1, most=1, of_scores=True),
    Limit(key="rho_ratings", is_whole=True, least=3, most=1000, of_scores=True),
    Limit(key="rho_few", least=-1, most=1, of_scores=True),
    Limit(key="rho_few_ratings", is_whole=True, least=3, most=1000, of_scores=True),
    Limit(key="offset_sds", least=0.5, most=10, of_scores=True),
    Limit(key="reserved", in_percent=True, least=0, most=1, of_points=True, needs=RESERVED),
    Limit(key="reserved_ratio", least=1, most=20, of_points=True, needs=RESERVED),
    Limit(key="reserved_ratings", is_whole=True, least=2, most=1000, of_points=True,
          needs=RESERVED),
    Limit(key="drift", least=0, most=10, of_points=True),
    Limit(key="change_quantile", in_percent=True, least=0.5, most=1, of_scores=True, needs=REPEATS),
    Limit(key="gold", in_percent=True, least=0, most=1),
    Limit(key="attention", in_percent=True, least=0.1, most=1),
    Limit(key="attention_checks", is_whole=True, least=1, most=100),
)  # fmt: skip
BY_KEY = {limit.key: limit for limit in LIMITS}


def list_limits(
    families: Iterable[str], *, has_reserved: bool = False, has_repeats: bool = False
) -> list[Limit]:
    """Return the thresholds that a study with criteria of these families may set.

    The other thresholds, for ties, places and circles, are the same for every study.
    """
    kinds = [get_family(name) for name in families]
    scored = sum(kind.is_scored for kind in kinds)
    on_points = sum(kind.has_points for kind in kinds)
    has = {
        "": True,
        RESERVED: has_reserved,
        SEVERAL: on_points > 1,
        REPEATS: has_repeats,
    }
    return [
        limit
        for limit in LIMITS
        if has[limit.needs]
        and (scored or not limit.of_scores)
        and (on_points or not limit.of_points)
    ]


def make_thresholds(chosen: Mapping[str, float]) -> Thresholds:
    """Return the starting values, replaced by the study's own; ValueError for an unknown name."""
    known = [field.name for field in fields(Thresholds)]
    for key in chosen:
        if key not in known:
            raise ValueError(f"There is no threshold {key}; choose one of {', '.join(known)}.")
    return Thresholds(**dict(chosen))  # type: ignore[arg-type]

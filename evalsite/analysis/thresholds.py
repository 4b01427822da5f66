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
    """A threshold that a study may set: its name, its meaning and its range.

    `in_percent`: it is shown and entered as a percentage, but stored as a share. `of_scores`,
    `of_points`: it applies only to criteria that are scored, or scored on points; `needs`: further
    conditions.
    """

    key: str
    label: str
    measures: str
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


RESERVED, SEVERAL, REPEATS = "reserved points", "several criteria", "hidden repeats"

LIMITS = (
    Limit(
        key="top_share", label="One value nearly always", in_percent=True,
        least=0.5, most=1, of_scores=True,
        measures="Share of a rater’s ratings that are their most used value. Flagged above this on "
        "every criterion, if others give that value so rarely that chance doesn’t explain it.",
    ),
    Limit(
        key="top_share_ratings", label="One value nearly always: answers needed", is_whole=True,
        least=2, most=1000, of_scores=True,
        measures="People with fewer answers are not flagged for their most used value.",
    ),
    Limit(
        key="sd_ratio", label="Little variation", in_percent=True,
        least=0, most=1, of_scores=True,
        measures="Standard deviation of a rater’s ratings, in % of the median rater’s. Flagged "
        "below this, from 20 ratings on.",
    ),
    Limit(
        key="identical", label="All criteria alike", in_percent=True,
        least=0.5, most=1, of_points=True, needs=SEVERAL,
        measures="Share of outputs to which a rater gives one value on all criteria. Flagged "
        "above this.",
    ),
    Limit(
        key="identical_others", label="All criteria alike: the other raters", in_percent=True,
        least=0, most=1, of_points=True, needs=SEVERAL,
        measures="Flagged only where the other raters’ median share is below this.",
    ),
    Limit(
        key="floor_share", label="Pages too fast to read", in_percent=True, least=0.1, most=1,
        measures="Share of a person’s pages that took less than a second for every 10 words that "
        "were new to them. Flagged from this share on.",
    ),
    Limit(
        key="floor_pages", label="Pages too fast to read: pages needed", is_whole=True,
        least=2, most=1000,
        measures="People with fewer pages are not flagged for them.",
    ),
    Limit(
        key="speed_ratio", label="Fast", in_percent=True,
        least=0, most=1,
        measures="Median seconds for an item, in % of the median rater’s. Flagged below this, if "
        "at least 20% of the pages were too fast to read.",
    ),
    Limit(
        key="speed_answers", label="Fast: answers needed", is_whole=True, least=2, most=1000,
        measures="People with fewer answers are not flagged as faster than others.",
    ),
    Limit(
        key="speed_answers_alone", label="Fast, where words aren’t known: answers needed",
        is_whole=True, least=2, most=1000,
        measures="The same where nobody knows how many words a page shows.",
    ),
    Limit(
        key="rho", label="Orders outputs unlike the others", least=-1, most=1, of_scores=True,
        measures="Rank correlation with the mean of the others, over all criteria. Flagged below "
        "this, if all of its 95% interval is below the mean of all people.",
    ),
    Limit(
        key="rho_ratings", label="Orders outputs unlike the others: answers needed",
        is_whole=True, least=3, most=1000, of_scores=True,
        measures="With fewer answers, the line for few answers holds.",
    ),
    Limit(
        key="rho_few", label="Orders outputs unlike the others, few answers", least=-1, most=1,
        of_scores=True,
        measures="The same line for people with fewer answers than that.",
    ),
    Limit(
        key="rho_few_ratings", label="Orders outputs unlike the others, few: answers needed",
        is_whole=True, least=3, most=1000, of_scores=True,
        measures="People with fewer answers are not flagged for their order.",
    ),
    Limit(
        key="offset_sds", label="Higher or lower than the others", least=0.5, most=10,
        of_scores=True,
        measures="Distance from what others give to the same outputs, in robust standard "
        "deviations of raters. Flagged above this, if it is more than half a point (of magnitudes: "
        "a ratio of 1.25) and the 95% interval leaves out the middle of raters.",
    ),
    Limit(
        key="reserved", label="Points meant to be rare", in_percent=True,
        least=0, most=1, of_points=True, needs=RESERVED,
        measures="Share of a rater’s ratings on points meant for difficult cases. Flagged above "
        "this.",
    ),
    Limit(
        key="reserved_ratio", label="Points meant to be rare, beside the others",
        least=1, most=20, of_points=True, needs=RESERVED,
        measures="The same share, in times that of all raters. Flagged above this too, where it is "
        "the lower of the two lines.",
    ),
    Limit(
        key="reserved_ratings", label="Points meant to be rare: ratings needed", is_whole=True,
        least=2, most=1000, of_points=True, needs=RESERVED,
        measures="Raters with fewer ratings are not flagged for points meant to be rare.",
    ),
    Limit(
        key="drift", label="Ratings rise or fall, in points", least=0, most=10, of_points=True,
        measures="Points by which ratings rise or fall over a set or over the study. Flagged "
        "above this, if the 95% interval leaves out zero.",
    ),
    Limit(
        key="change_quantile", label="Otherwise the second time", in_percent=True,
        least=0.5, most=1, of_scores=True, needs=REPEATS,
        measures="How much ratings change when the same item is shown again. Flagged where they "
        "change more than those of this share of raters, of five or more.",
    ),
    Limit(
        key="gold", label="Checks answered right", in_percent=True, least=0, most=1,
        measures="Share of gold and attention items that a rater answers right. Flagged below "
        "this.",
    ),
    Limit(
        key="attention", label="Attention checks failed", in_percent=True, least=0.1, most=1,
        measures="Share of attention checks that a person fails. Flagged from this share on.",
    ),
    Limit(
        key="attention_checks", label="Attention checks failed: checks needed",
        is_whole=True, least=1, most=100,
        measures="People with fewer attention checks are not flagged for failing them.",
    ),
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

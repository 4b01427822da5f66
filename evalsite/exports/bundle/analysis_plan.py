"""The analysis plan in a bundle: with when each part was fixed, and how many answers were in then.

Bundles of format 1 have none.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from evalsite.exports.bundle.layout import (
    ANALYSIS_PLAN,
    ANALYSIS_PLAN_FIELDS,
    PLAN_SINCE,
    to_plain,
)
from evalsite.exports.bundle.opening import BadBundle, Bundle
from evalsite.exports.bundle.shapes import Misshapen, read_fields, read_whole
from evalsite.lib.clock import now
from evalsite.quality.models import LONGEST_RULE, PLAN_MOMENTS, AnalysisPlan
from evalsite.quality.plans import count_answers_at, has_imported, plan_of
from evalsite.studies.models import Study

Plain = dict[str, Any]
_LONGEST_NAME = 60
# only where somebody wrote a plan
_CHANGED_AT = "changed_at"


def read_plan(study: Study) -> Plain:
    """The study's plan as plain data; one without a moment where nobody wrote one."""
    plan = plan_of(study)
    plain = {name: to_plain(getattr(plan, name)) for name in ANALYSIS_PLAN_FIELDS}
    return plain | {
        _CHANGED_AT: None if plan.pk is None else plain[_CHANGED_AT],
        "repeats": to_plain(plan.repeats_id),
        "answers_before": count_answers_at(plan),
        "has_imported": has_imported(study),
    }


def is_written(plain: Plain) -> bool:
    return plain[_CHANGED_AT] is not None


# --- verified -------------------------------------------------------------------------------


def open_plan(bundle: Bundle, about: Plain) -> Plain | None:
    """The plan, if it can be one; None where the format knows of none. Else BadBundle."""
    if about["format_version"] < PLAN_SINCE:
        return None
    plain = bundle.read_json(ANALYSIS_PLAN)
    try:
        _check_plan(plain)
    except Misshapen as error:
        raise BadBundle(f"{ANALYSIS_PLAN}: {error}.") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadBundle(f"{ANALYSIS_PLAN} lacks something, or has it of another kind.") from None
    return dict(plain)


def _check_plan(plain: Plain) -> None:
    """Misshapen where this can't be the plan of a study."""
    fields = [name for name in ANALYSIS_PLAN_FIELDS if name != _CHANGED_AT or is_written(plain)]
    values = read_fields(AnalysisPlan, fields, plain)
    if not is_written(plain) and (any(values.values()) or plain["repeats"] is not None):
        raise Misshapen(f"nobody wrote it by {_CHANGED_AT}, but it says something")
    if plain["repeats"] is not None and str(UUID(plain["repeats"])) != plain["repeats"]:
        raise Misshapen("repeats is not written as an id is")
    rule = values["exclusion_rule"]
    if len(rule) > LONGEST_RULE or any(ord(one) < 32 and one not in "\n\t" for one in rule):
        raise Misshapen("exclusion_rule is too long, or holds what is no text")
    for name, value in values["thresholds"].items():
        if len(name) > _LONGEST_NAME or type(value) not in (int, float) or abs(value) > 1e9:
            raise Misshapen(f"there is no threshold {name[:_LONGEST_NAME]}: {value!r}")
    if not isinstance(plain["has_imported"], bool):
        raise Misshapen(f"has_imported can't be {plain['has_imported']!r}")
    answers = plain["answers_before"]
    is_told = {name for name, field in PLAN_MOMENTS.items() if values[field] is not None}
    if answers.keys() != is_told or any(read_whole(count) < 0 for count in answers.values()):
        raise Misshapen("answers_before does not go with the moments")


def list_moments(plain: Plain | None) -> dict[str, datetime]:
    """When each part was last changed, of those that were."""
    told = {} if plain is None else {name: plain[field] for name, field in PLAN_MOMENTS.items()}
    return {name: datetime.fromisoformat(at) for name, at in told.items() if at is not None}


def compare_answers(plain: Plain, found: Mapping[str, int], imported: int) -> Iterator[str]:
    """What the plan says otherwise than the records: how many answers were in, and whence."""
    if plain["has_imported"] != bool(imported):
        yield f"{ANALYSIS_PLAN} is wrong about ratings that were collected elsewhere."
    for name, count in plain["answers_before"].items():
        if found[name] != count:
            yield (
                f"{ANALYSIS_PLAN} says that {count:,} answers were in when {name} was last "
                f"changed, but {found[name]:,} were."
            )


def tell_plan(plain: Plain | None) -> str:
    """That the plan was looked at, in a sentence."""
    if plain is None:
        return f"No analysis plan: bundles have one since format {PLAN_SINCE}."
    if not is_written(plain):
        return "No analysis plan was written."
    if not plain["answers_before"]:
        return "The analysis plan, which says nothing of how data are analysed."
    answers = plain["answers_before"].items()
    told = ", ".join(f"{name} {count:,}" for name, count in answers)
    return f"The analysis plan; answers that were in when a part was last changed: {told}."


# --- stored ---------------------------------------------------------------------------------


def store_plan(study: Study, plain: Plain | None, *, owner: Any, has_data: bool) -> None:
    """The plan stands here: with its moments where its data do, else as written just now.

    A draft without data repeats nothing yet: of which study, its owner says.
    """
    if plain is None or not is_written(plain):
        return
    values = read_fields(AnalysisPlan, ANALYSIS_PLAN_FIELDS, plain)
    if has_data:
        values["repeats"] = _find_original(study, plain, owner)
    else:
        moment = now()
        values |= {field: moment if values[name] else None for name, field in PLAN_MOMENTS.items()}
        values[_CHANGED_AT] = moment
    AnalysisPlan.objects.create(study=study, **values)


def _find_original(study: Study, plain: Plain, owner: Any) -> Study | None:
    """The study that this one repeats, if it stands here and the owner may see it."""
    seen = Study.objects.visible_to(owner).filter(protocol=study.protocol)
    return seen.filter(pk=plain["repeats"]).exclude(pk=study.pk).first()


def tell_missing(study: Study, plain: Plain | None) -> Iterator[str]:
    """What of the plan could not come along."""
    if plain is None or plain["repeats"] is None:
        return
    if AnalysisPlan.objects.filter(study=study, repeats=None).exists():
        yield (
            f"The study repeats {plain['repeats']}, which does not stand here or is not open to "
            "its owner. Import that too, and choose it under Results, Repeat of another study."
        )

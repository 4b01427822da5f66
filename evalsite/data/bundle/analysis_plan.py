"""Read analysis-plan.json strictly, and store the plan that it holds."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from evalsite.data.bundle.codec import Reader
from evalsite.data.bundle.fields import InvalidField, read_fields, read_whole
from evalsite.data.bundle.format import (
    ANALYSIS_PLAN,
    ANALYSIS_PLAN_FIELDS,
    FROZEN,
    FROZEN_FIELDS,
    LATER_PLAN_FIELDS,
)
from evalsite.data.bundle.read import UNREADABLE, BadBundle, Bundle, Row
from evalsite.data.bundle.tables import PLAN_PARTS
from evalsite.decisions.exclusion_rules import COMPARISONS, MEASURES
from evalsite.decisions.models import (
    DIFFERENCES,
    LEVELS,
    LONGEST_RULE,
    PLAN_MOMENTS,
    RELATIONS,
    AnalysisPlan,
)
from evalsite.decisions.plan_commitment import commit_plan
from evalsite.lib.clock import now
from evalsite.studies.models import Study

Plain = dict[str, Any]
_MARGIN = {"criterion", "system", "relation", "other", "margin"}
_HYPOTHESIS = {"criterion", "system", "relation", "other"}
_JUDGE = {"judge", "prompt_version"}
_CONDITION = {"measure", "comparison", "threshold"}
_LONGEST_NAME = 60
_MOST = 1_000


def read_analysis_plan(bundle: Bundle) -> Plain:
    """Return the plan, checked; BadBundle if it can't be one."""
    plain = bundle.read_json(ANALYSIS_PLAN)
    try:
        plain = {**LATER_PLAN_FIELDS, **plain}
        for hypothesis in (plain.get(FROZEN) or {}).get("hypotheses", ()):
            # before criteria said which values are better
            if hypothesis["relation"] == "higher":
                hypothesis["relation"] = "better"
        _check_plan(plain)
        if plain.get(FROZEN) is not None:
            _check_frozen(plain[FROZEN])
    except InvalidField as error:
        raise BadBundle("plan_invalid", f"{error}.", ANALYSIS_PLAN) from None
    except UNREADABLE:
        message = "Something is missing or has the wrong type."
        raise BadBundle("plan_invalid", message, ANALYSIS_PLAN) from None
    return dict(plain)


def is_written(plan: Plain) -> bool:
    return plan["changed_at"] is not None


def _check_plan(plain: Plain) -> None:
    """Raise InvalidField if this can't be the plan of a study."""
    fields = [name for name in ANALYSIS_PLAN_FIELDS if name != "changed_at" or is_written(plain)]
    values = read_fields(AnalysisPlan, fields, plain)
    if not is_written(plain) and (any(values.values()) or plain["repeats"] is not None):
        raise InvalidField("it has no changed_at, but it isn't empty")
    if plain["repeats"] is not None and str(UUID(plain["repeats"])) != plain["repeats"]:
        raise InvalidField("repeats isn't written as an id")
    rule = values["exclusion_rule"]
    if len(rule) > LONGEST_RULE or any(
        ord(letter) < 32 and letter not in "\n\t" for letter in rule
    ):
        raise InvalidField("exclusion_rule is too long, or has control characters")
    _check_numbers(values)
    if not isinstance(plain["has_imported"], bool):
        raise InvalidField(f"has_imported can't be {plain['has_imported']!r}")
    answers = plain["answers_before"]
    changed = {name for name, at in PLAN_MOMENTS.items() if values[at] is not None}
    if answers.keys() != changed or any(read_whole(count) < 0 for count in answers.values()):
        raise InvalidField("answers_before doesn't go with the times of the changes")


def _check_numbers(values: Plain) -> None:
    """Raise InvalidField if a threshold or a margin can't be."""
    for name, value in values["thresholds"].items():
        if len(name) > _LONGEST_NAME or type(value) not in (int, float) or abs(value) > 1e9:
            raise InvalidField(f"there is no threshold {name[:_LONGEST_NAME]}: {value!r}")
    for margin in values["margins"]:
        _check_margin(margin)


def _check_margin(margin: Any) -> None:
    """Raise InvalidField if this can't be a planned test against a margin."""
    if not isinstance(margin, dict) or margin.keys() - {"level", "slices", *_JUDGE} != _MARGIN:
        raise InvalidField(f"margins can't hold {str(margin)[:_LONGEST_NAME]!r}")
    size = margin["margin"]
    is_size = type(size) in (int, float) and 0 < size < 1e9
    if (
        margin["relation"] not in RELATIONS
        or not is_size
        or margin.get("level", LEVELS[0]) not in LEVELS
        or not all(isinstance(margin[name], str) for name in margin.keys() - {"margin", "level"})
        or not _names_judge(margin)
    ):
        raise InvalidField("a margin has a value that can't be")


def _names_judge(row: Plain) -> bool:
    """Return whether a planned question names a judge, or none; a prompt alone is nobody's."""
    return "prompt_version" not in row or bool(row.get("judge"))


def _check_frozen(frozen: Mapping[str, Any]) -> None:
    """Raise InvalidField if these can't be later parts of a plan."""
    read_fields(AnalysisPlan, FROZEN_FIELDS, frozen)
    for hypothesis in _list_rows(frozen, "hypotheses"):
        is_known = hypothesis.keys() - _JUDGE == _HYPOTHESIS
        is_known = is_known and hypothesis["relation"] in DIFFERENCES and _names_judge(hypothesis)
        if not is_known or not all(isinstance(value, str) for value in hypothesis.values()):
            raise InvalidField("a hypothesis has a value that can't be")
    for name, rows in PLAN_PARTS.items():
        for row in _list_rows(frozen, name):
            rows.read(row)
    for rule in frozen["rules"]:
        _check_conditions(rule["conditions"])
    if any(version["number"] < 1 for version in frozen["versions"]):
        raise InvalidField("a version of the plan has a number that can't be")


def _list_rows(frozen: Mapping[str, Any], name: str) -> list[Any]:
    rows = frozen[name]
    if not isinstance(rows, list) or len(rows) > _MOST:
        raise InvalidField(f"{name} isn't a list, or too long")
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidField(f"{name} holds something else than rows")
    return rows


def _check_conditions(conditions: Any) -> None:
    is_list = isinstance(conditions, list) and 0 < len(conditions) <= _MOST
    if not is_list or not all(
        isinstance(condition, dict)
        and condition.keys() == _CONDITION
        and condition["measure"] in MEASURES
        and condition["comparison"] in COMPARISONS
        and type(condition["threshold"]) in (int, float)
        for condition in conditions
    ):
        raise InvalidField("an exclusion rule has a condition that can't be")


def store_plan(
    study: Study, plain: Plain, *, owner: Any, has_data: bool, is_copy: bool = False
) -> None:
    """Store the plan: with its times if its data come too, else as written now.

    A draft without data repeats no study yet; its owner may choose one.
    """
    if is_written(plain):
        _store_written(study, plain, owner=owner, has_data=has_data)
    if plain.get(FROZEN) is not None:
        _store_frozen(study, plain[FROZEN], has_data=has_data, is_copy=is_copy)


def _store_written(study: Study, plain: Plain, *, owner: Any, has_data: bool) -> None:
    values = read_fields(AnalysisPlan, ANALYSIS_PLAN_FIELDS, plain)
    if has_data:
        seen = Study.objects.visible_to(owner).filter(protocol=study.protocol)
        values["repeats"] = seen.filter(pk=plain["repeats"]).exclude(pk=study.pk).first()
    else:
        moment = now()
        values |= {at: moment if values[name] else None for name, at in PLAN_MOMENTS.items()}
        values["changed_at"] = moment
    AnalysisPlan.objects.create(study=study, **values)


def _store_frozen(study: Study, frozen: Plain, *, has_data: bool, is_copy: bool) -> None:
    """Store later parts: a study without its data is a draft, in which nothing is frozen yet.

    Nobody committed to the plan of a copy, which has an id of its own.
    """
    values = read_fields(AnalysisPlan, FROZEN_FIELDS, frozen)
    AnalysisPlan.objects.filter(study=study).update(**values)
    reader = Reader(study, is_copy=is_copy, has_data=has_data)
    kept = [row for row in frozen["rules"] if has_data or row["removed_at"] is None]
    parts = {"rules": kept} | ({name: frozen[name] for name in PLAN_PARTS} if has_data else {})
    for name, rows in parts.items():
        reader.store(PLAN_PARTS[name], [Row(f"{ANALYSIS_PLAN}, {name}", 1, row) for row in rows])
    if not is_copy and study.version_id is not None:
        for version in study.plan_versions.all():
            commit_plan(study, version)


def list_missing(study: Study, plan: Plain) -> Iterator[str]:
    if AnalysisPlan.objects.filter(study=study, repeats=None).exists():
        yield (
            f"The study repeats {plan['repeats']}, which isn't here or isn't open to its owner. "
            "Import that too, and choose it under Results, Design."
        )

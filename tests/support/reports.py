"""A kept report with made-up figures, for tests of the pages that show it."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from evalsite.results.models import Report
from evalsite.results.report.computation import take_fingerprint
from evalsite.results.report.files import write_charts
from evalsite.results.report.source import Facts, Source
from evalsite.studies.models import Study

MOMENT = datetime(2026, 11, 26, 14, 33, tzinfo=UTC)


def make_figure(name: str, value: float | None, **known: Any) -> dict[str, Any]:
    return {
        "name": name, "value": value, "reason": None, "low": None, "high": None, "level": 0.95,
        "n": {}, "method": "made up", "details": {}, "seed": 1, "version": "1", **known,
    }  # fmt: skip


def make_finding(
    code: str,
    first: str,
    second: str,
    *,
    effect: str = "difference",
    value: float = 0.4,
    p: float | None = None,
) -> dict[str, Any]:
    """The finding of a pair, whose first system does better."""
    facts = {
        "first": first, "second": second, "effect": effect, "value": value, "low": None,
        "high": None, "has_interval": True, "level": 0.95, "t": None, "df": None, "p": None,
        "p_corrected": (0.01 if code == "higher" else 0.2) if p is None else p, "family": 1,
        "better": "higher", "unit": "points", "is_by_model": False, "is_on_one_input": False,
        "is_exploratory": False, "spread": None,
    }  # fmt: skip
    return {"code": code, "criterion": None, "facts": facts}


def make_content(systems: tuple[str, str] = ("alpha", "beta"), **known: Any) -> dict[str, Any]:
    """A report of one magnitude criterion on which the first system does better."""
    one, two = systems
    effect = make_figure("ratio", 1.5, low=1.2, high=1.9, details={"p": 0.004, "p_corrected": 0.01})
    criterion = {
        "key": "informativeness", "label": "Informativeness", "kind": "magnitude", "answers": [],
        "better": "higher",
        "standard": 100,
        "systems": [
            {
                "system": name, "n": 6, "outputs": 2, "sd": make_figure("sd_log", 0.3),
                "headline": make_figure("geometric_mean", value, low=70,
                high=130, n={"ratings": 6, "raters": 2}, details={"draws": 2000, "interval":
                "bootstrap_of_items_and_raters"}), "others": [], "counts": None,
                "rank": {"low": rank, "high": rank},
                "cluster": rank,
            }
            for rank, (name, value) in enumerate([(one, 105.0), (two, 70.0)], start=1)
        ],
        "pairs": [
            {
                "system_1": one, "system_2": two, "effect": effect, "sizes": [], "checks": [],
                "counts": None,
                "finding": make_finding("higher", one, two, effect="ratio", value=1.5, p=0.01),
            }
        ],
        "joint": None, "detectable": None, "tests": [], "kappas": None, "model": {},
        "notes": [{"code": "place_in_model", "criterion": None, "facts": {}}],
        "agreement": [
            make_figure("alpha_log", 0.6, low=0.4, high=0.7, n={"units": 4}),
            make_figure("fleiss", None, reason="unequal_raters"),
        ],
    }  # fmt: skip
    flag = {"code": "speeder", "facts": {"share": None, "is_under_floor": True}, "figure": effect,
            "threshold": 0.5}  # fmt: skip
    return {
        "methods_version": "1", "seed": 1, "draws": 2000, "level": 0.95,
        "data": {
            "ratings": 12, "annotations": 4, "participants": 2, "items": 2, "groups": 2,
            "clusters": 0, "systems": list(systems),
            "origins": {"own": 12, "imported": 0, "simulated": 0},
            "left_out": {"excluded": 0, "ignored": 0, "reported": 0}, "raters_known": True,
            "places": {}, "first_at": None, "last_at": None, "is_crossed": True, "notes": [],
        },
        "warnings": [{"code": "few_raters", "facts": {"raters": 3}, "criterion": None}],
        "design": [make_figure("ratings_per_output", 2.0, details={"least": 2, "most": 2})],
        "criteria": [criterion],
        "together": {"correlations": [], "cronbach": None, "decision": None, "ignore": None,
                     "highlights": None},
        "raters": {
            "columns": [
                {"key": "median_seconds", "name": "median_seconds", "criterion": "", "part": ""},
            ],
            "rows": [{"participant": "p-one", "n": 6, "flags": [flag],
                      "figures": {"median_seconds": make_figure("median_seconds", 21.0)}}],
        },
        "copied": {"raters": 2, "pairs": [], "can_be_seen": False, "most_shared": 4, "alike": None},
        **known,
    }  # fmt: skip


def make_facts(**known: Any) -> Facts:
    """Facts about a study in which nothing is special."""
    return Facts(
        **{
            "title": "Replies", 
            "departures": None, "version": "version 1", "criteria": (),
            "data": {},
            "settings": {"k": 3, "set_size": 10}, "texts": {}, "has_practice": False,
            "has_sheet": False, "offers_sheet": False, "own_examples": None, "exclusions": (),
            "sharing": {}, "changes": (), "import_notes": (), "plan": {}, "software": "Evalsite 1",
            "methods": "7", "seed": 1, "sha256": "5" * 64, "made_at": MOMENT,
            **known,
        }
        | {"data": known.get("data", make_content()["data"])}
    )  # fmt: skip


def make_source(kept: dict[str, Any] | None = None, **known: Any) -> Source:
    """What sections are made from: a report with made-up figures; `known`: more of its content."""
    content = {"kept": kept or make_content(), "all": known.pop("everything", None)}
    facts = known.pop("facts", None) or make_facts()
    rest = {name: known.pop(name) for name in ("is_closed", "is_everyone") if name in known}
    return Source(
        facts=facts,
        content=content | known,
        **{"is_closed": True, "study_id": str(UUID(int=1)), **rest},
    )


def make_pair(first: str, second: str, code: str, **known: Any) -> dict[str, Any]:
    """Two systems compared on points: a clear difference, or none after correction."""
    p = 0.01 if code in ("higher", "lower") else 0.2
    details = {"t": 2.5, "df": 30.0, "p": 0.03, "p_corrected": p, "family": 3}
    value = -0.4 if code == "lower" else 0.4
    effect = make_figure("difference", value, low=value - 0.3, high=value + 0.3, details=details)
    return {
        "system_1": first, "system_2": second, "effect": effect, "sizes": [], "checks": [],
        "counts": None, "own": None, "finding": make_finding(code, first, second), **known,
    }  # fmt: skip


def make_points(
    *pairs: dict[str, Any], means: tuple[float, ...] = (3.9, 3.5, 3.4), **known: Any
) -> dict[str, Any]:
    """A criterion with points from 1 to 5, of the systems a, b and c."""
    systems = [
        {
            "system": name, "n": 10, "outputs": 5, "sd": make_figure("sd", 1.1),
            "headline": make_figure("mean", mean, low=mean - 1, high=5.0),
            "others": [make_figure("median", 4.0)], "averages": [], "rank": None, "cluster": 1,
            "counts": {"1": 0, "2": 1, "3": 2, "4": 2, "5": 5},
            "from_average": make_figure(
                "from_average", mean - 3.6, low=mean - 3.8, high=mean - 3.4
            ),
        }
        for name, mean in zip("abcdefghijkl", means, strict=False)
    ]  # fmt: skip
    return make_content()["criteria"][0] | {
        "key": "fluency", "label": "Fluency", "kind": "likert", "family": "points",
        "answers": [{"value": value, "label": ""} for value in range(1, 6)],
        "systems": systems, "pairs": list(pairs), "role": "",
        "agreement": [make_figure("alpha_ordinal", 0.58, low=0.5, high=0.64)],
        **known,
    }  # fmt: skip


def keep_report(study: Study, *, everything: Any = None, **known: Any) -> Report:
    """The study's newest report, with the files of its charts."""
    report = Report.objects.create(
        study=study,
        fingerprint=take_fingerprint(study),
        sha256="5" * 64,
        content={
            "kept": make_content(**known),
            "all": everything,
            "plan": {},
            "exclusions": [],
            "collection": {"done": 0, "target": 0},
        },
    )
    write_charts(study, report)
    return report

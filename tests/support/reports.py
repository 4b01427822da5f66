"""A kept report with made-up figures, for tests of the pages that show it."""

from typing import Any

from evalsite.results.models import Report
from evalsite.results.report.computation import take_fingerprint
from evalsite.studies.models import Study

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


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


def keep_report(study: Study, *, everything: Any = None, **known: Any) -> Report:
    """The study's newest report, with one drawing."""
    report = Report.objects.create(
        study=study,
        fingerprint=take_fingerprint(study),
        sha256="5" * 64,
        content={"kept": make_content(**known), "all": everything},
    )
    report.folder.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "pdf"):
        (report.folder / f"informativeness-systems.{kind}").write_bytes(SVG)
    return report

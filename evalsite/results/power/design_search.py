"""Plan a study in a job: simulate the designs asked for, and search for others."""

from collections.abc import Callable, Iterable
from functools import partial
from math import ceil
from typing import Any

from evalsite.analysis.families import Source, get_family, list_planners
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import job_kind, report_progress, revive_job, start_job
from evalsite.lib.seeds import derive_number
from evalsite.results.models import Report
from evalsite.studies.models import Study
from evalsite.studies.versions import hash_content

KIND = "plan"
TARGET = 0.8
# with fewer, it isn't known how much people differ
FEW_RATERS = 5
# of one design, so that it is simulated in seconds: inputs times people times systems
_MOST_CELLS = 120_000
_DRAWS = 1000
# points, each with words
_MOST_LABELLED = 21
_STEPS = 6
# (power wanted + 5% level) in standard errors: 0.84 + 1.96
_POWER, _LEVEL = 0.8416, 1.96


def list_sources(simulations: Iterable[str]) -> list[Source]:
    """Return where standard deviations come from, of plans with these simulations."""
    planners = list_planners()
    return [source for name in simulations for source in planners[name].sources]


def find_source(simulation: str, key: str) -> Source | None:
    """Return the source of a plan; None: the results of its study."""
    return next((source for source in list_sources([simulation]) if source.key == key), None)


def list_models(study: Study, report: Report | None) -> dict[str, dict[str, Any]]:
    """By criterion, what the report found of how ratings vary, where it found anything."""
    if report is None:
        return {}
    kept = report.content["kept"]
    planners = {
        criterion.key: get_family(criterion.family).planner for criterion in study.config.criteria
    }
    untold = {key for key, planner in planners.items() if planner and not planner.shows_spread}
    data = kept.get("data", {})
    simulated = data.get("origins", {}).get("simulated", 0)
    models = {
        criterion["key"]: {
            "simulated": simulated,
            # a criterion may rest on fewer people than the study
            "raters": _count_raters(criterion) or data.get("participants"),
        }
        | (criterion.get("model") or _read_crossed(criterion["pairs"]))
        for criterion in kept["criteria"]
        if criterion["key"] not in untold
    }
    return {key: model for key, model in models.items() if model.get("variances")}


def _count_raters(criterion: dict[str, Any]) -> int:
    """Return the most people behind a figure of this criterion; 0 if unknown."""
    figures = [
        *(system["headline"] for system in criterion.get("systems", ())),
        *(pair["effect"] for pair in criterion.get("pairs", ())),
    ]
    return int(max((figure["n"].get("raters", 0) for figure in figures), default=0))


def _read_crossed(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """Variances from the mean squares of crossed tests, on average over the pairs of systems.

    A difference has twice the variance of a rating.
    """
    tests = [
        (pair["effect"]["details"], pair["effect"]["n"])
        for pair in pairs
        if "ms_residual" in pair["effect"]["details"]
    ]
    if not tests:
        return {}

    def mean(key: str, per: str) -> float:
        parts = [max(ms[key] - ms["ms_residual"], 0) / n[per] / 2 for ms, n in tests]
        return sum(parts) / len(parts)

    return {
        "variances": {
            "group:system": mean("ms_item", "raters"),
            "rater:system": mean("ms_rater", "items"),
        },
        "residual": sum(ms["ms_residual"] for ms, _ in tests) / len(tests) / 2,
    }


def start_plan(*, study: Study, choice: dict[str, Any], by: Any) -> Job:
    """Start simulating the designs; results of the same choice are kept."""
    choice = choice | {"seed": derive_number(study.seed, "plan") % 1_000_000}
    subject = hash_content(choice)
    job = Job.objects.filter(study_id=study.pk, kind=KIND, subject=subject).first()
    if job is not None and job.state == Job.State.DONE:
        return job
    if job is not None and job.is_stale:
        return revive_job(job, by=by)
    return start_job(KIND, study_id=study.pk, by=by, subject=subject, **choice)


@job_kind(KIND)
def run_plan(job: Job) -> dict[str, Any]:
    """How often each design finds the difference, and what the simulation took for granted."""
    from evalsite.analysis.power import ALPHA, Design  # noqa: PLC0415 (numpy stays out of web)

    choice = job.params
    parts = _read_parts(choice)
    designs = list(_list_wanted(choice))
    rows, missing = [], []
    for done, (people, k, items) in enumerate(designs):
        beat = partial(report_progress, job, done, len(designs))
        beat()
        if items is not None:
            rows.append(_simulate(choice, parts, Design(items=items, raters=people, per_output=k)))
            continue
        row, tried = _search_items(choice, parts, people, k, beat)
        if row is None:
            missing.append({"raters": people, "per_output": k, "tried": tried})
        else:
            rows.append(row)
    report_progress(job, len(designs), len(designs))
    return {
        "rows": rows,
        "missing": missing,
        "parts": vars(parts),
        "draws": _DRAWS,
        "alpha": ALPHA,
        "seed": choice["seed"],
    }


def _list_wanted(choice: dict[str, Any]) -> list[tuple[int, int, int | None]]:
    """People, ratings of an output, and inputs (None: to be found), without what can't be."""
    return [
        (people, k, items)
        for people in choice["raters"]
        for k in choice["per_output"]
        for items in choice["items"] or [None]
        if k <= people
    ]


def _read_parts(choice: dict[str, Any]) -> Any:
    from evalsite.analysis.power import Parts, parts_of_variances  # noqa: PLC0415

    if model := choice["model"]:
        return parts_of_variances(model["variances"], model["residual"])
    source = find_source(choice["scale"], choice["source"])
    assert source is not None  # the form offers no others
    wider = count_times_wider(choice, source)
    return Parts(**{name: value * wider for name, value in source.parts.items()})


def count_times_wider(choice: dict[str, Any], source: Source) -> float:
    """Return how many times wider than the scale of a source the scale is that it is used for.

    Labelled points are about as far apart on every scale; those of finer scales are not.
    """
    if not source.points or choice["points"] <= _MOST_LABELLED:
        return 1.0
    return (choice["points"] - 1) / (source.points - 1)


def _simulate(choice: dict[str, Any], parts: Any, design: Any) -> dict[str, Any]:
    """Return what simulated studies of this design find, as plain data."""
    from evalsite.analysis.intervals import Resampling  # noqa: PLC0415
    from evalsite.analysis.power import Comparisons, Truth, plan  # noqa: PLC0415

    named = ("difference", "points", "tie_share", "systems")
    simulated = plan(
        design,
        Truth(parts=parts, **{name: choice[name] for name in named}),
        scale=choice["scale"],
        tests=Comparisons(named=choice.get("named", 0), further=choice.get("further_tests", 0)),
        resampling=Resampling(draws=_DRAWS, seed=choice["seed"]),
    )
    return {
        "items": design.items,
        "raters": design.raters,
        "per_output": design.ratings_per_output,
        "power": [simulated.power.value, simulated.power.low, simulated.power.high],
        "alone": simulated.alone.value,
        "best": simulated.best.value,
        "width": simulated.width.value,
        "sign_error": simulated.sign_error.value,
        "exaggeration": simulated.exaggeration.value,
        "difference": simulated.difference,
    }


def _search_items(
    choice: dict[str, Any], parts: Any, people: int, k: int, beat: Callable[[], None]
) -> tuple[dict[str, Any] | None, int]:
    """The smallest design met that finds the difference often enough, and the most inputs tried.

    Power grows with the root of the inputs until people are the limit: each step goes to
    where it would be enough, were they not.
    """
    from evalsite.analysis.power import Design  # noqa: PLC0415

    most = count_most_items(people, choice["systems"])
    items, best, tried = _first_guess(choice, parts, people, k) or most, None, 0
    for _ in range(_STEPS):
        items = min(items, most)
        tried = max(tried, items)
        row = _simulate(choice, parts, Design(items=items, raters=people, per_output=k))
        beat()  # it lives
        power = row["power"][0]
        if power >= TARGET and (best is None or items < best["items"]):
            best = row
        if TARGET <= power < TARGET + 0.03 or (power < TARGET and items == most):
            break
        further = _further(items, power)
        if best is not None and further >= best["items"]:
            break
        items = further
    return best, tried


def count_most_items(people: int, systems: int) -> int:
    """Return the most inputs of a design that is simulated in seconds."""
    return _MOST_CELLS // (people * systems)


def _further(items: int, power: float) -> int:
    """Where the power would be enough, by the normal distribution, and never far off at once."""
    from scipy.special import ndtri  # noqa: PLC0415

    reached = float(ndtri(min(max(power, 0.03), 0.999))) + _LEVEL
    factor = ((_POWER + _LEVEL) / max(reached, 0.1)) ** 2
    # at least one more, or one fewer
    nearest = max(items + 1, 1) if power < TARGET else items - 1
    aimed = ceil(items * min(max(factor, 0.25), 4.0))
    return max(2, max(aimed, nearest) if power < TARGET else min(aimed, nearest))


def _first_guess(choice: dict[str, Any], parts: Any, people: int, k: int) -> int | None:
    """Return the inputs needed by the closed form; a usual number where there is none."""
    from evalsite.analysis.power import items_needed  # noqa: PLC0415

    if first := list_planners()[choice["scale"]].first_items:
        return first
    return items_needed(parts, difference=choice["difference"], raters=people, per_output=k)

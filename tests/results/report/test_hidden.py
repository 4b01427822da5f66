"""While results are hidden, a report keeps what says nothing about a system, and nothing else."""

import json
from typing import Any

from evalsite.results.document.blocks import Chart, Table
from evalsite.results.hidden_page import make_hidden
from evalsite.results.report.computation import hide_systems
from evalsite.results.report.source import Criterion
from tests.support.reports import make_content, make_figure, make_pair, make_points

SYSTEMS = ("zeppelin", "quagga")


def hide(**known: Any) -> dict[str, Any]:
    pair = make_pair(*SYSTEMS, "higher")
    points = make_points(pair, means=(3.9, 3.5), role="primary")
    for system, name in zip(points["systems"], SYSTEMS, strict=True):
        system["system"] = name
    points["agreement"].append(make_figure("alpha_nominal", 0.2, group=[["system_1", SYSTEMS[0]]]))
    kept = make_content(systems=SYSTEMS, criteria=[points | known]) | {"later": list(SYSTEMS)}
    return hide_systems({"kept": kept, "all": kept, "plan": {}})


def test_no_system_is_named_beside_anything_but_its_counts() -> None:
    hidden = hide(of_later_versions={"best": "zeppelin"})

    for name in ("kept", "all"):
        stored = json.dumps(hidden[name] | {"data": None})
        assert not [system for system in SYSTEMS if system in stored]


def test_agreement_and_precision_stay() -> None:
    (stored,) = hide()["kept"]["criteria"]

    criterion = Criterion(stored)

    assert criterion.alpha is not None
    assert criterion.alpha.value == 0.58
    assert criterion.precision is not None
    # from 0.1 to 0.7
    assert abs((criterion.precision.value or 0) - 0.3) < 1e-9


def test_the_page_draws_them_without_pairs() -> None:
    (stored,) = hide()["kept"]["criteria"]
    projection = {"criteria": {"fluency": {"options": [{"key": "planned", "half": 0.19}]}}}

    blocks = list(make_hidden([Criterion(stored)], projection, 549))

    table = next(block for block in blocks if isinstance(block, Table))
    charts = {block.name: block for block in blocks if isinstance(block, Chart)}
    assert [getattr(cell, "text", "") for cell in table.rows[0]] == ["Fluency", "± 0.30", "± 0.19"]
    assert [ring.value for ring in charts["precision"].rings] == [0.19]
    assert [figure.value for figure in charts["agreement"].figures] == [0.58]


def test_precision_is_drawn_from_what_would_be_exact() -> None:
    (stored,) = hide()["kept"]["criteria"]
    (ratio,) = hide_systems({"kept": make_content(), "all": None, "plan": {}})["kept"]["criteria"]

    lows = []
    for criterion in (stored, ratio):
        blocks = make_hidden([Criterion(criterion)], None, 549)
        chart = next(b for b in blocks if isinstance(b, Chart) and b.name == "precision")
        lows += [(figure.unit, figure.low) for figure in chart.figures]

    # × 1 is the width of nothing, of a difference it is 0
    assert lows == [("points", 0.0), ("ratio", 1.0)]


def test_what_is_not_projected_has_no_column() -> None:
    (stored,) = hide()["kept"]["criteria"]

    table = next(
        block for block in make_hidden([Criterion(stored)], None, 549) if isinstance(block, Table)
    )

    assert [column.label for column in table.columns] == ["Question", "Now"]

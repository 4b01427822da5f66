"""Studies of so many systems that a report of all pairs has to be short of something."""

import numpy as np

from evalsite.analysis.compare import MANY_PAIRS, compare_systems
from evalsite.analysis.report.warnings import tell
from evalsite.analysis.scores import Scores, read_scores


def rate_many(systems: int) -> Scores:
    """Two raters on three inputs of each system, whose quality rises by a hundredth."""
    rng = np.random.default_rng(6)
    rows = [
        (f"s{system:03}", f"i{item}", f"r{rater}", system / 100 + rng.normal())
        for system in range(systems)
        for item in range(3)
        for rater in range(2)
    ]
    names, items, raters, values = zip(*rows, strict=True)
    return read_scores(group=items, system=names, value=values, rater=raters)


def test_above_a_thousand_pairs_effect_sizes_are_left_out_and_the_warning_says_so():
    data = rate_many(46)  # 46 x 45 / 2 pairs

    found = compare_systems(data, draws=20)

    assert len(found.pairs) == 1035 > MANY_PAIRS
    assert {len(pair.effects) for pair in found.pairs} == {0}
    assert all(pair.p_corrected is not None for pair in found.pairs)
    assert "many_pairs" in found.cautions
    assert tell("many_pairs")["text"].startswith("More than 1,000 pairs of systems")


def test_with_a_baseline_many_systems_keep_their_effect_sizes():
    data = rate_many(46)

    found = compare_systems(data, draws=20, baseline="s000")

    assert len(found.pairs) == 45
    assert all("dz" in pair.effects for pair in found.pairs)
    assert "many_pairs" not in found.cautions

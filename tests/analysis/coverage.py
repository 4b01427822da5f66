"""How often the intervals of alpha hold the true value: `python -m tests.analysis.coverage`.

Not part of the suite: it takes a minute. Units and raters are drawn from a population; the truth
is the alpha of a very large study of it. The bootstrap and the jackknife draw units, so raters are
drawn anew as noise only.
"""

import sys

import numpy as np

from evalsite.analysis.alpha import alpha

STUDIES = 400
DESIGNS = ((30, 6), (60, 3), (100, 3), (200, 3))


def draw_study(rng: np.random.Generator, units: int, raters: int) -> np.ndarray:
    """Ratings on a Likert-7 scale (units, raters)."""
    quality = rng.normal(4.5, 1.1, (units, 1))
    return np.clip(np.round(quality + rng.normal(0, 1.0, (units, raters))), 1, 7)


def measure(table: np.ndarray, draws: int = 500) -> dict[str, float | None]:
    unit = np.repeat(np.arange(len(table)), table.shape[1])
    found = alpha(unit=unit, value=table.ravel(), level="ordinal", draws=draws)
    told = {"value": found.value, "low": found.low, "high": found.high}
    return told | {key: found.details.get(f"jackknife_{key[2:]}") for key in ("j_low", "j_high")}


def main() -> None:
    rng = np.random.default_rng(1)
    for units, raters in DESIGNS:
        truth = measure(draw_study(rng, 50_000, raters), draws=0)["value"]
        found = [measure(draw_study(rng, units, raters)) for _ in range(STUDIES)]
        shares = [
            np.mean([one[low] <= truth <= one[high] for one in found])
            for low, high in (("low", "high"), ("j_low", "j_high"))
        ]
        sys.stdout.write(
            f"{units} units, {raters} raters, alpha {truth:.3f}: bootstrap {shares[0]:.3f}, "
            f"jackknife {shares[1]:.3f} of {STUDIES}\n"
        )


if __name__ == "__main__":
    main()

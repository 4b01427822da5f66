"""Prints how often the intervals of other packages hold 0, on draws that judges.py made.

It runs in an environment of its own, with potato-annotation and truescore, and imports nothing of
this project.
"""

import sys

import numpy as np
from potato.labeling_engine.contracts.ppi import ppi_mean
from truescore.compare import ppi_compare

draws = np.load(sys.argv[1])
hits = {"potato-annotation": 0, "truescore": 0}
for points, labels in zip(draws["points"], draws["labels"], strict=True):
    n = len(points)
    apart, judged = points[:, 1] - points[:, 0], labels[:, 1] - labels[:, 0]
    potato = ppi_mean(apart, judged[:n], judged[n:], 0.95)
    hits["potato-annotation"] += potato["lo"] <= 0 <= potato["hi"]
    score = ppi_compare(labels[:, 1], labels[:, 0], points[:, 1], points[:, 0], np.arange(n))
    hits["truescore"] += score.low <= 0 <= score.high
for name, count in hits.items():
    print(name, count / len(draws["points"]))  # noqa: T201

"""Every reference vector is compared with the product, but for what the product doesn't do."""

import re
from pathlib import Path

from tests.analysis.vectors import FOLDER

# families of vectors for methods that the product doesn't have
NOT_OFFERED = {
    "clm": "ordinal models are fitted by analysis.R only",
    "clmm": "ordinal models are fitted by analysis.R only",
    "ranksum": "it ignores that ratings share inputs and raters",
    "trueskill": "its ratings depend on the order of answers",
}


def test_every_family_of_vectors_is_read_by_a_test():
    families = {path.stem.partition("__")[0] for path in (FOLDER / "expected").glob("*.json")}
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(__file__).parent.glob("*.py")
        if path != Path(__file__)
    )
    # read by their data: no figure but a reason
    read = {"degenerate"} if "degenerate_all_equal" in code else set()
    read |= {name for name in families if re.search(rf'"{name}(__\w+)?[".]', code)}

    assert families - read == NOT_OFFERED.keys()

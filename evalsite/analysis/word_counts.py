"""How much there is to read: the words of each item's page."""

from pathlib import Path

import pandas as pd

_AT_ONCE = 10_000  # rows; texts may be long
# columns of items.csv that are no inputs; those of gold begin with gold_
_NO_INPUTS = frozenset({
    "study", "batch", "item", "group", "cluster", "kind", "repeat_of", "held", "output_id",
    "system", "output", "output_is_empty", "extra",
})  # fmt: skip


def count_words(path: Path) -> pd.DataFrame:
    """Of each item in an exported items.csv the words of its `outputs` and of its `inputs`.

    What stands between blanks is a word: in scripts without blanks there seem to be few, which
    puts nobody under a floor. Without a column output the frame is empty.
    """
    empty = pd.DataFrame({"outputs": [], "inputs": []}, dtype=float)
    found = [empty]
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_AT_ONCE) as parts:
        found += [_count(part) for part in parts if "output" in part]
    counts = pd.concat(found)
    by = counts.groupby(level=0)
    # a row for each output, every one with the inputs of the item
    return pd.DataFrame({"outputs": by.outputs.sum(), "inputs": by.inputs.max()})


def _count(rows: pd.DataFrame) -> pd.DataFrame:
    inputs = [
        name for name in rows.columns if name not in _NO_INPUTS and not name.startswith("gold_")
    ]
    words = rows[["output", *inputs]].map(lambda text: len(text.split()))
    return pd.DataFrame(
        {"outputs": words.output.to_numpy(), "inputs": words[inputs].sum(axis=1).to_numpy()},
        index=rows["item"].to_numpy(), dtype=float,
    )  # fmt: skip

"""An invented item, for instruments that come without an example."""

import json

from evalsite.instruments.schema import Column, Instrument

_SAMPLES = {
    "meaning representation": "name[The Mill], eatType[pub], area[riverside]",
    "dialogue": "A: Have you seen the new bridge?\nB: Not yet. Is it open?",
    "review": "Great app, but it crashes whenever I open the settings.",
    "whole number": "100",
    "conversation": '[{"role": "user", "content": "Is the new bridge over the river open?"}]',
    "table": "bridge,opened\nMill Bridge,Sunday",
    "code": "def is_open(bridge):\n    return bridge in OPENED",
    "spans": "[]",
}
_SAMPLE = "The new bridge over the river opened on Sunday, two months late."
_QUESTION = "Is the new bridge open?"
_OUTPUT = "The bridge has been open since Sunday."


def invent_inputs(config: Instrument) -> dict[str, str]:
    """Return a cell for each column, but for those that only a file can say."""
    shown = [column for column in config.columns if column.kind != "turns"]
    return {column.name: _invent_input(column) for column in shown}


def invent_outputs(config: Instrument) -> tuple[str, ...]:
    """Return as many outputs as an item needs, two if it may have them."""
    count = max(config.item.outputs.least, min(2, config.item.outputs.most))
    texts = (_OUTPUT, *(f"{_OUTPUT} ({number})" for number in range(2, count + 1)))
    roles = [
        role for criterion in config.criteria if criterion.turns for role in criterion.turns.roles
    ]
    if roles:
        turns = [("user", _QUESTION), *((role, _OUTPUT) for role in dict.fromkeys(roles))]
        texts = (json.dumps([{"role": role, "content": words} for role, words in turns]),)
    return texts


def _invent_input(column: Column) -> str:
    return _SAMPLES.get(column.kind, _SAMPLE)

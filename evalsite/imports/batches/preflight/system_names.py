"""Texts that name a system."""

import re

from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check, Context

_MOST_SYSTEMS = 100  # with more of them the column is probably not one of systems


class SystemNames(Check):
    """Finds the names of systems in texts, which would tell participants what they rate."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = context.systems
        # a name of one or two letters stands in any text by chance
        told = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
        told = told if len(told) <= _MOST_SYSTEMS else []
        pattern = "|".join(re.escape(name) for name in told)
        self._pattern = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I) if told else None
        self._low = [name.lower() for name in told]
        self._inputs: dict[str, str] = {}
        self._are_named = False

    def add(self, item: CheckedItem) -> None:
        if self._pattern is not None and self._names_system(item):
            message = "Items whose texts name a system, which tells participants what they rate"
            self.remarks.add("system_named", message, item.line, item.record)

    def _names_system(self, item: CheckedItem) -> bool:
        if item.inputs != self._inputs:
            # the items of a group have the same
            self._inputs = item.inputs
            # no name goes over the end of a line, so several texts are searched at once
            self._are_named = self._holds_name("\n".join(item.inputs.values()))
        if self._are_named:
            return True
        return self._holds_name("\n".join([output.text for output in item.outputs]))

    def _holds_name(self, text: str) -> bool:
        if text.isascii():
            # much cheaper than the pattern, and of most texts enough
            low = text.lower()
            for name in self._low:
                if name in low:
                    break
            else:
                return False
        return self._pattern is not None and self._pattern.search(text) is not None

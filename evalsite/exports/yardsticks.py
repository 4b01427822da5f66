"""What answers are held against: the gold of their items, and standards."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evalsite.exports.cells import PAGE, say
from evalsite.exports.queries import Answers
from evalsite.studies.agreement import agrees_with_gold
from evalsite.studies.models import Item, Study, StudyVersion

_WITH_GOLD = (Item.Kind.PRACTICE, Item.Kind.GOLD, Item.Kind.ATTENTION)


class Yardsticks:
    """The gold and the standards of a study, read when they are first asked for."""

    def __init__(self, study: Study, systems: Mapping[int | None, str]) -> None:
        self.study = study
        self.config = study.config
        self._systems = systems

    def judge(
        self,
        item_id: int,
        given: Mapping[tuple[str, int | None], int],
        outputs: dict[int, tuple[int | None, int]],
        standard: int | None,
    ) -> str:
        """Whether the answer agrees with the gold of its item, where there is one.

        `given`: its values, by criterion and key of the output.
        """
        gold = self._gold.get(item_id)
        if gold is None or not given:
            return ""
        named = [
            (key, self._systems[system] or None) for _, (system, key) in sorted(outputs.items())
        ]
        agrees = agrees_with_gold(self.config, gold, named, given, standard)
        return "" if agrees is None else say(agrees)

    @cached_property
    def _has_standards(self) -> bool:
        return any(one.scale.has_standard for one in self.config.criteria)

    @cached_property
    def _gold(self) -> dict[int, dict[str, str]]:
        """The gold of each item that is asked for it: few, beside those that are rated."""
        asked = Item.objects.filter(study=self.study, kind__in=_WITH_GOLD).order_by()
        return dict(asked.values_list("id", "gold"))

    def find_standards(self, answers: Answers) -> list[int | None]:
        """Return the standard that values of each annotation relate to, if any."""
        if not self._has_standards:
            return [None] * len(answers.id)
        return [
            self._standards[version][1].get(item, self._standards[version][0])
            for version, item in zip(answers.version_id, answers.item_id, strict=True)
        ]

    @cached_property
    def _standards(self) -> dict[int | None, tuple[int | None, dict[int, int | None]]]:
        """By version: the usual standard, and that of each item that has another."""
        find = self.config.standard_score
        found: dict[int | None, tuple[int | None, dict[int, int | None]]] = {
            version: (find(given, {}), {}) for version, given in self._options.items()
        }
        # versions that differ in other things alone, as in texts, are looked through once
        alike = {json.dumps(given, sort_keys=True): one for one, given in self._options.items()}
        items = Item.objects.filter(study=self.study).order_by()
        if (keys := self.config.standard_inputs) is not None:
            items = items.filter(inputs__has_any_keys=keys)
        for item_id, inputs in items.values_list("id", "inputs").iterator(chunk_size=PAGE):
            for version in alike.values():
                usual, others = found[version]
                if (standard := find(self._options[version], inputs)) != usual:
                    others[item_id] = standard
        return {
            version: found[alike[json.dumps(given, sort_keys=True)]]
            for version, given in self._options.items()
        }

    @cached_property
    def _options(self) -> dict[int | None, dict[str, Any]]:
        """The options that participants rated under, by version; None: before the launch."""
        (options,) = Study.objects.filter(pk=self.study.pk).values_list("options", flat=True)
        versions = StudyVersion.objects.filter(study=self.study)
        given = versions.values_list("id", "content__options")
        return {None: self.config.default_options | options, **dict(given)}

"""What answers are compared with: the gold of their items, and the standard of magnitudes."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from evalsite.studies.gold import agrees_with_gold
from evalsite.studies.models import Item, Study, StudyVersion

_WITH_GOLD = (Item.Kind.PRACTICE, Item.Kind.GOLD, Item.Kind.ATTENTION)
_PAGE = 2_000


class Gold:
    """The gold and the standards of a study, read when they are first needed."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.config = study.config

    def has(self, item_id: int) -> bool:
        """Return whether answers to the item are compared with a gold."""
        return item_id in self._gold

    def compare(
        self,
        item_id: int,
        given: Mapping[tuple[str, int | None], int],
        outputs: Sequence[tuple[int, str | None]],
        standard: int | None,
    ) -> bool | None:
        """Return whether the answer meets the gold of its item; None if there is none.

        `given`: its values, by criterion and id of the output; `outputs`: id and system.
        """
        gold = self._gold.get(item_id)
        if gold is None or not given:
            return None
        return agrees_with_gold(self.config, gold, outputs, given, standard)

    @cached_property
    def _gold(self) -> dict[int, dict[str, str]]:
        """The gold of the items that have some: few, compared with those that are rated."""
        items = Item.objects.filter(study=self.study, kind__in=_WITH_GOLD).order_by()
        return dict(items.values_list("id", "gold"))

    @cached_property
    def _has_standards(self) -> bool:
        return any(criterion.scale.has_standard for criterion in self.config.criteria)

    def find_standard(self, version_id: int | None, item_id: int) -> int | None:
        """Return the standard that values of an annotation relate to, if any."""
        if not self._has_standards:
            return None
        usual, others = self._standards[version_id]
        return others.get(item_id, usual) if others else usual

    @cached_property
    def _standards(self) -> dict[int | None, tuple[int | None, dict[int, int | None]]]:
        """By version: the usual standard, and that of each item that has another."""
        find = self.config.standard_score
        # versions that differ in other things, such as texts, are looked through once
        options = {json.dumps(given, sort_keys=True): given for given in self._options.values()}
        found: dict[str, tuple[int | None, dict[int, int | None]]] = {
            text: (find(given, {}), {}) for text, given in options.items()
        }
        items = Item.objects.filter(study=self.study).order_by()
        if (keys := self.config.standard_inputs) is not None:
            items = items.filter(inputs__has_any_keys=keys)
        for item_id, inputs in items.values_list("id", "inputs").iterator(chunk_size=_PAGE):
            for text, given in options.items():
                usual, others = found[text]
                if (standard := find(given, inputs)) != usual:
                    others[item_id] = standard
        return {
            version: found[json.dumps(given, sort_keys=True)]
            for version, given in self._options.items()
        }

    @cached_property
    def _options(self) -> dict[int | None, dict[str, Any]]:
        """The options that participants rated under, by version; None: before the launch."""
        (options,) = Study.objects.filter(pk=self.study.pk).values_list("options", flat=True)
        versions = StudyVersion.objects.filter(study=self.study)
        given = versions.values_list("id", "content__options")
        return {None: self.config.default_options | options, **dict(given)}

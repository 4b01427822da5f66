"""Rows of a later file whose inputs the study has already, and what they add to these inputs.

Inputs are found by the id in the file, then by group, then by equal texts: what joins an input is
one input with it in every analysis. All inputs are read in one pass, of which few bytes are kept.
"""

import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations, count, islice
from typing import Any

from evalsite.data.tables.faults import Fault, Remark, find_difference
from evalsite.imports.batches.items import DraftItem, DraftOutput, is_made_group
from evalsite.imports.core import Decision
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.summary_lines import count_of

OutputRow = tuple[int, str, str]  # item, system, text
_ITEMS_AT_ONCE = 2_000


@dataclass(slots=True)
class EarlierInput:
    """An input of the study, its group, and the ids of the items that show it."""

    group: str
    cluster: str
    digest: bytes
    # whether a file named the group
    is_named: bool
    items: list[int] = field(default_factory=list)


class EarlierInputs:
    """Finds inputs of the main items of a study."""

    def __init__(self, study: Study, config: Instrument, systems: Collection[str]) -> None:
        self.systems = systems
        self.names = [column.name for column in config.columns if not column.is_of_output]
        # with the id that a file gave to the input, also where it became several items
        self.by_id: dict[str, tuple[EarlierInput, str]] = {}
        # ids of files by the short ones that were given for them
        self.originals: dict[str, str] = {}
        self._by_place: dict[tuple[str, bytes], EarlierInput] = {}
        # None: in several groups
        self._by_texts: dict[bytes, EarlierInput | None] = {}
        items = Item.objects.main().filter(study=study).order_by("id")
        columns = ("id", "key", "extra__item", "extra__source_id", "group", "cluster", "inputs")
        rows = items.values_list(*columns).iterator()
        for pk, key, source, original, group, cluster, inputs in rows:
            ids = key, str(source or key), str(original or "")
            self._add(pk, ids, (group, cluster), inputs)

    def _add(
        self, pk: int, ids: tuple[str, str, str], places: tuple[str, str], inputs: Mapping[str, str]
    ) -> None:
        (key, source, original), (group, cluster) = ids, places
        digest = self.digest(inputs)
        known = self._by_place.get((group, digest))
        if known is None:
            is_named = not is_made_group(group) and group != source
            known = EarlierInput(group, cluster, digest, is_named)
            self._by_place[group, digest] = known
            self._by_texts[digest] = None if digest in self._by_texts else known
        known.items.append(pk)
        for name in filter(None, (key, source)):
            self.by_id.setdefault(name, (known, source))
        # what a file called an input means it before another's short id does
        if original and original not in self.originals:
            self.originals[original] = source
            self.by_id[original] = known, source

    def __bool__(self) -> bool:
        return bool(self._by_place)

    def digest(self, inputs: Mapping[str, str]) -> bytes:
        """Return what is equal for inputs with equal texts; b"" for none at all."""
        texts = [normalise(inputs.get(name, "")) for name in self.names]
        if not any(map(str.strip, texts)):
            return b""
        return sha256(json.dumps(texts).encode()).digest()[:16]

    def find(self, inputs: Mapping[str, str], group: str) -> EarlierInput | None:
        """Return the input of this group, or else the one with equal texts, if there is one."""
        digest = self.digest(inputs)
        if group and (known := self._by_place.get((group, digest))):
            return known
        known = self._by_texts.get(digest) if digest else None
        # two files that name groups differ in them on purpose
        return None if known is None or (group and known.is_named) else known

    def is_ambiguous(self, inputs: Mapping[str, str]) -> bool:
        digest = self.digest(inputs)
        return digest in self._by_texts and self._by_texts[digest] is None


def normalise(text: str) -> str:
    """Return a text in the form in which equal texts are compared."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def list_outputs(items: Collection[int], systems: Collection[str]) -> Iterator[OutputRow]:
    """Yield item, system and text of the outputs of these items by these systems."""
    rest = iter(sorted(items))
    while keys := list(islice(rest, _ITEMS_AT_ONCE)):
        outputs = Output.objects.filter(item__in=keys, system__name__in=systems)
        rows = outputs.order_by("item_id", "position")
        yield from rows.values_list("item_id", "system__name", "text")


def name_sources(items: Iterable[int]) -> dict[int, tuple[Mapping[str, str], str]]:
    """Return the inputs of these items, and the name of the file that brought each."""
    rows = Item.objects.filter(pk__in=list(items)).values_list("pk", "inputs", "batch__file_name")
    return {pk: (inputs, name or "") for pk, inputs, name in rows}


# --- what a file adds -------------------------------------------------------------------


MEETS, EVERY = "meets", "every"
PAIRED = "inputs_paired"
_DRAFTS_AT_ONCE = 500
_MOST_OFFERED = 20
_MOST_NAMED = 3


@dataclass(slots=True)
class Join:
    """An item of the file that is about an input of the study."""

    input: EarlierInput
    # the id that its items are made under: that of the input, if it was found by its id
    source: str
    is_by_id: bool
    # ids that earlier items of this file were given
    taken: set[str]
    # by system, in the order in which the study has them
    texts: dict[str, list[str]] = field(default_factory=dict)
    # the systems that the study shows together
    screens: set[frozenset[str]] = field(default_factory=set)
    new: list[DraftOutput] = field(default_factory=list)
    # earlier outputs that are shown again, beside new ones
    met: list[DraftOutput] = field(default_factory=list)
    # whether it isn't decided yet which these are
    is_open: bool = False
    # whether the study has all of it, with the same texts
    is_known: bool = False
    # whether it is another item of the same input: it has an id of its own, and a system again
    is_twin: bool = False

    @property
    def systems(self) -> list[str]:
        """Return the systems of the input, the new ones last."""
        return list(dict.fromkeys([*self.texts, *(output.system for output in self.new)]))

    def take_key(self, suffix: str, keys: Collection[str]) -> str:
        """Return an id for one more item; its last number is the first that is free."""
        stem, dash, number = suffix.rpartition("-")
        made = (f"{self.source}/{stem}{dash}{free}" for free in count(int(number)))
        key = next(key for key in made if key not in keys and key not in self.taken)
        self.taken.add(key)
        return key


class Joins:
    """Finds what joins inputs of the study, and counts what it did."""

    def __init__(
        self, earlier: EarlierInputs, options: Mapping[str, Any], *, shows_several: bool
    ) -> None:
        self._earlier = earlier
        self._shows_several = shows_several
        meets = options.get(MEETS)
        self._meets: str | list[str] = meets if isinstance(meets, list) else str(meets or "")
        self._known_systems = frozenset(earlier.systems)
        self._systems = self._known_systems
        self._joined: set[tuple[str, bytes]] = set()
        self._new_inputs: set[object] = set()
        self._ambiguous: set[bytes] = set()
        self._new_systems: dict[str, None] = {}
        self._offered: dict[str, None] = {}
        self.left_out = self._outputs_left_out = self._twins = 0

    # --- finding --------------------------------------------------------------------------

    def go_through(
        self, drafts: Iterable[DraftItem], systems: Collection[str], *, has_ids: bool
    ) -> Iterator[tuple[DraftItem, Join | None]]:
        """Yield each item, and what it joins; None if its input is new. A few queries at a time."""
        self._systems = self._known_systems.intersection(systems)
        rest, taken = iter(drafts), set[str]()
        while together := list(islice(rest, _DRAFTS_AT_ONCE)):
            joins = [self._find(draft, taken, has_ids=has_ids) for draft in together]
            self._load([join for join in joins if join is not None])
            for draft, join in zip(together, joins, strict=True):
                if join is not None:
                    self._settle(draft, join, has_id=has_ids)
                yield draft, join

    def _find(self, draft: DraftItem, taken: set[str], *, has_ids: bool) -> Join | None:
        if not self._earlier or not _is_main(draft):
            return None
        if has_ids and (known := self._earlier.by_id.get(draft.key)):
            earlier, source = known
            return Join(earlier, source, is_by_id=True, taken=taken)
        by_texts = self._earlier.find(draft.shared, draft.shared.get("group", ""))
        if by_texts is None:
            return None
        return Join(by_texts, draft.key, is_by_id=False, taken=taken)

    def _load(self, joins: Collection[Join]) -> None:
        """Fill in what the study has of these inputs."""
        by_item = {pk: join.input for join in joins for pk in join.input.items}
        texts: dict[int, dict[str, list[str]]] = {}
        screens: dict[int, dict[int, set[str]]] = {}
        # where an output is shown alone, those of other systems don't matter
        systems = self._known_systems if self._shows_several else self._systems
        if not systems:
            return
        for pk, system, text in list_outputs(by_item, systems):
            place = id(by_item[pk])
            texts.setdefault(place, {}).setdefault(system, []).append(text)
            screens.setdefault(place, {}).setdefault(pk, set()).add(system)
        for join in joins:
            join.texts = texts.get(id(join.input), {})
            join.screens = {frozenset(names) for names in screens.get(id(join.input), {}).values()}

    def _settle(self, draft: DraftItem, join: Join, *, has_id: bool) -> None:
        join.new = [output for output in draft.outputs if output.system not in join.texts]
        if has_id and not join.is_by_id and len(join.new) < len(draft.outputs):
            join.is_twin = True
            return
        systems = {output.system for output in draft.outputs}
        if not join.new:
            screens = [frozenset(two) for two in combinations(systems, 2)]
            is_shown = frozenset(systems) in join.screens or join.screens.issuperset(screens)
            join.is_known = is_shown or not self._shows_several
            return
        if not self._shows_several:
            return
        offered = {name: texts[0] for name, texts in join.texts.items() if name not in systems}
        join.is_open = bool(offered) and not self._meets
        join.met = [
            DraftOutput(name, text, draft.line, draft.record, draft.shared, {})
            for name, text in offered.items()
            if self._meets == EVERY or name in self._meets
        ]

    # --- checking -------------------------------------------------------------------------

    def check(self, draft: DraftItem, join: Join | None) -> Iterator[tuple[Fault, str]]:
        """Yield what is wrong with what this item says of an input, with the field it is in."""
        if join is None:
            if draft.key in self._earlier.by_id and not _is_main(draft):
                message = f"Item “{draft.key}” is in the study already. Give this one another id."
                yield Fault("id_taken", message, line=draft.line, record=draft.record), "item"
            self._count_new(draft)
            return
        if join.input.digest != self._earlier.digest(draft.shared):
            yield self._describe_other_input(draft, join)
            return
        self._joined.add((join.input.group, join.input.digest))
        if join.is_twin:
            self._twins += 1
            return
        for output in draft.outputs:
            texts = join.texts.get(output.system, [])
            if texts and normalise(output.text) not in map(normalise, texts):
                yield _describe_other_text(draft, output, texts[0])
        self._count(draft, join)

    def _count(self, draft: DraftItem, join: Join) -> None:
        known = [output for output in draft.outputs if output.system in join.texts]
        self._new_systems |= dict.fromkeys(output.system for output in join.new)
        if self._shows_several and join.new:
            systems = {output.system for output in draft.outputs}
            self._offered |= dict.fromkeys(name for name in join.texts if name not in systems)
        if join.is_known or not self._shows_several:
            self._outputs_left_out += len(known)
            rows = {output.record for output in known}
            self.left_out += len(rows - {output.record for output in join.new})

    def _count_new(self, draft: DraftItem) -> None:
        if not self._earlier or not _is_main(draft):
            return
        digest = self._earlier.digest(draft.shared)
        self._new_inputs.add(digest or draft.key)
        if self._earlier.is_ambiguous(draft.shared):
            self._ambiguous.add(digest)

    def _describe_other_input(self, draft: DraftItem, join: Join) -> tuple[Fault, str]:
        (inputs, file_name), *_ = name_sources(join.input.items[:1]).values()
        name = next(
            name
            for name in self._earlier.names
            if normalise(inputs.get(name, "")) != normalise(draft.shared.get(name, ""))
        )
        text, earlier = find_difference(draft.shared.get(name, ""), inputs.get(name, ""))
        short = {key: name for name, key in self._earlier.originals.items()}
        original = short.get(draft.key, "") if draft.key not in self._earlier.originals else ""
        is_short = f" is short for “{original}” in this study, and" if original else ""
        message = (
            f"“{draft.key}”{is_short} has another input here (“{text}”) than in {file_name} "
            f"(“{earlier}”). Outputs that are compared need one input. Correct it, or use "
            "another id."
        )
        return Fault("input_differs", message, line=draft.line, record=draft.record), name

    # --- what was found -------------------------------------------------------------------

    def find_fault(self) -> Fault | None:
        """Return that a decision is needed, if one is."""
        if not self._offered:
            return None
        if not self._meets:
            return Fault("decision_needed", "Decide which earlier systems the new one meets.")
        unknown = [name for name in self._meets if name not in self._offered]
        if self._meets == EVERY or not unknown:
            return None
        message = (
            f"“{unknown[0]}” isn't one of the earlier systems ({', '.join(self._offered)}). Choose "
            "one of these, or every."
        )
        return Fault("system_unknown", message)

    def list_decisions(self) -> list[Decision]:
        if not self._offered:
            return []
        names = list(self._offered)[:_MOST_OFFERED]
        choices: list[list[Any]] = [[EVERY, "Every earlier system", ", ".join(names)]]
        if len(self._offered) > 1:
            choices += [[[name], f"Only {name}", ""] for name in names]
        return [
            Decision(
                MEETS,
                f"Which earlier systems {'does' if len(self._new_systems) == 1 else 'do'} "
                f"{' and '.join(self._new_systems)} meet?",
                "People see several outputs at once. The earlier outputs are shown again beside "
                "the new ones, in new items of the same group.",
                choices=choices,
                is_made=bool(self._meets),
            )
        ]

    def list_notes(self) -> list[dict[str, Any]]:
        if not self._joined:
            return []
        notes: list[dict[str, Any]] = [
            {"code": PAIRED, "text": " ".join(self._describe()), "rows": []}
        ]
        if self._offered and self._meets:
            names = self._offered if self._meets == EVERY else self._meets
            text = f"{' and '.join(self._new_systems)} shown beside {', '.join(names)}."
            notes.append({"code": MEETS, "text": text, "rows": []})
        return notes

    def list_remarks(self) -> Iterator[Remark]:
        if self._new_inputs and not self._joined:
            new = len(self._new_inputs)
            yield Remark(
                "inputs_new",
                f"{count_of(new, 'input')} {'is' if new == 1 else 'are'} new to the study: none "
                "joins an earlier one",
            )
        if twins := self._twins:
            yield Remark(
                "inputs_again",
                f"{count_of(twins, 'item')} {'has' if twins == 1 else 'have'} an input that the "
                "study has under another id, and outputs of systems that have one for it. They "
                "are imported, in the same group",
            )
        if ambiguous := len(self._ambiguous):
            yield Remark(
                "inputs_ambiguous",
                f"{count_of(ambiguous, 'input')} {'is' if ambiguous == 1 else 'are'} in the study "
                "under several ids, so the texts alone don't tell which one is meant. To join "
                "them, give the ids",
            )

    def _describe(self) -> Iterator[str]:
        joined, new = len(self._joined), len(self._new_inputs)
        whose = _name_outputs([*self._new_systems])
        join = f"; {whose} join {'it' if joined == 1 else 'them'}" if whose else ""
        if joined == 1 and not new:
            yield f"The only input is in the study already{join}."
        else:
            many = f"{joined:,} of {joined + new:,}" if new else f"All {joined:,}"
            verb = "is" if joined == 1 else "are"
            yield f"{many} inputs {verb} in the study already{join}."
        if joined and new:
            yield f"{count_of(new, 'input')} {'is' if new == 1 else 'are'} new."
        if left_out := self._outputs_left_out:
            yield (
                f"Left out: {count_of(left_out, 'output')} that the study has already, with the "
                "same text."
            )


def _is_main(draft: DraftItem) -> bool:
    return all(output.shared.get("kind") in (None, "", Item.Kind.MAIN) for output in draft.outputs)


def _describe_other_text(draft: DraftItem, output: DraftOutput, text: str) -> tuple[Fault, str]:
    new, earlier = find_difference(output.text, text)
    message = (
        f"“{output.system}” has another output for “{draft.key}” in the study already (here "
        f"“{new}”, there “{earlier}”). Remove the row, or write the output that the study has."
    )
    return Fault("output_differs", message, line=output.line, record=output.record), "output"


def _name_outputs(systems: list[str]) -> str:
    if not systems:
        return ""
    if len(systems) > _MOST_NAMED:
        return f"the outputs of {len(systems):,} systems"
    names = [f"{name}'s" for name in systems]
    return f"{' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)} outputs"

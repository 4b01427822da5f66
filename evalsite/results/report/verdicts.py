"""What the comparisons of a criterion add up to: who is ahead of whom, and what changes it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.analysis.direction import CLEAR, Better
from evalsite.analysis.families import find_family
from evalsite.analysis.figure import make_note
from evalsite.results.report.sentences import Note, write_ahead, write_sentence

# so many pairs are named; of more, they are counted
_MOST_NAMED = 6
_MAIN = frozenset({"none_clear", "pairs_clear", "systems_ahead"})


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Systems that are all clearly ahead of the same others."""

    ahead: tuple[str, ...]
    behind: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found of a criterion: its clear differences, and the pairs without one."""

    verb: str  # "rated", "accepted" or "preferred"
    better: Better
    systems: int
    pairs: int
    clear: int
    undefined: int
    leads: list[Lead]
    unclear: list[tuple[str, str]]
    is_tested: bool

    @property
    def leader(self) -> str:
        """Return the system that is clearly ahead of all others, if there is one."""
        for lead in self.leads:
            if len(lead.behind) == self.systems - 1:
                return lead.ahead[0]
        return ""

    @property
    def can_compare(self) -> bool:
        return self.undefined < self.pairs

    @property
    def is_named(self) -> bool:
        """Return whether there are few enough pairs to name the systems, and one is ahead."""
        return self.pairs <= _MOST_NAMED and self.better != "none"

    def list_notes(self) -> list[Note]:
        """Return what is said of the criterion, the main point first."""
        if not self.can_compare:
            return [make_note("nothing_to_compare", systems=self.systems)]
        notes: list[Note]
        if not self.is_tested:
            notes = [make_note("described_only")]
        elif not self.clear:
            notes = [make_note("none_clear")]
        elif not self.is_named:
            notes = [make_note("pairs_clear", clear=self.clear, pairs=self.pairs)]
        else:
            notes = [
                make_note(
                    "systems_ahead",
                    ahead=lead.ahead,
                    behind=lead.behind,
                    verb=self.verb,
                    better=self.better,
                )
                for lead in self.leads
            ]
            notes += [
                make_note("pair_unclear", first=first, second=second)
                for first, second in self.unclear
            ]
        if self.undefined:
            notes.append(make_note("pairs_undefined", undefined=self.undefined, pairs=self.pairs))
        return notes

    def note_in_brief(self, *, is_start: bool = False) -> Note:
        """Return what a headline says of the criterion, or its end unless `is_start`."""
        lead = self.leads[0] if len(self.leads) == 1 and self.is_named else None
        if self.leader:
            lead = self.leads[0]
        return make_note(
            "verdict_in_brief",
            pairs=self.pairs if self.can_compare else 0,
            clear=self.clear,
            systems=self.systems,
            is_tested=self.is_tested,
            leader=self.leader,
            ahead=lead.ahead if lead else (),
            behind=lead.behind if lead else (),
            is_start=is_start,
        )

    @property
    def brief(self) -> str:
        """Return the end of the criterion's headline."""
        return write_sentence(self.note_in_brief())

    @property
    def sentences(self) -> list[tuple[str, bool]]:
        """Return the sentences, each with whether it says that systems differ, or that none do."""
        return [(write_sentence(note), note["code"] in _MAIN) for note in self.list_notes()]

    @property
    def ahead(self) -> str:
        """Return what a system is that is clearly ahead: "rated higher than" others."""
        return write_ahead(self.verb, self.better)

    @property
    def ahead_alone(self) -> str:
        """Return the same of a system whose others aren't named: "rated higher"."""
        return self.ahead.rpartition(" ")[0]


def judge_criterion(criterion: dict[str, Any]) -> Verdict:
    """Return what the comparisons of the criterion add up to."""
    family = find_family(criterion)
    won: dict[str, list[str]] = {}
    for pair in criterion["pairs"]:
        if (sides := find_winner(pair, criterion["better"])) is not None:
            won.setdefault(sides[0], []).append(sides[1])
    codes = [pair["finding"]["code"] for pair in criterion["pairs"]]
    return Verdict(
        verb="preferred" if family.compares else "accepted" if family.decides else "rated",
        better=criterion["better"],
        systems=len(criterion["systems"]),
        pairs=len(codes),
        clear=sum(code in CLEAR for code in codes),
        undefined=codes.count("undefined"),
        leads=_merge(won),
        unclear=[
            (str(pair["system_1"]), str(pair["system_2"]))
            for pair in criterion["pairs"]
            if pair["finding"]["code"] == "not_enough"
        ],
        is_tested=bool(codes) and "by_one_rater" not in codes,
    )


def name_result(content: dict[str, Any]) -> str:
    """Return in a few words what a report says: "tuned leads on 4 of 5 questions"."""
    criteria = content["kept"]["criteria"]
    verdicts = [judge_criterion(criterion) for criterion in criteria]
    leads = Counter(verdict.leader for verdict in verdicts if verdict.leader).most_common(2)
    if leads and (len(leads) == 1 or leads[0][1] > leads[1][1]):
        leader, count = leads[0]
        return f"{leader} leads on {_name_part(count, criteria)}"
    clear = sum(bool(verdict.clear) for verdict in verdicts)
    if clear:
        return f"Clear differences on {_name_part(clear, criteria)}"
    is_tested = any(verdict.is_tested and verdict.can_compare for verdict in verdicts)
    return "No clear difference between systems" if is_tested else "No systems were compared"


def _name_part(count: int, criteria: Sequence[dict[str, Any]]) -> str:
    """Name so many of the criteria, as pages for researchers call them."""
    if len(criteria) == 1:
        return str(criteria[0]["label"])
    if count < len(criteria):
        return f"{count} of {len(criteria)} questions"
    return "both questions" if count == 2 else f"all {count} questions"


def find_winner(pair: dict[str, Any], better: Better) -> tuple[str, str] | None:
    """Return the system that is clearly ahead and the other; None without a clear difference, and
    where neither high nor low values are better."""
    code, first, second = pair["finding"]["code"], str(pair["system_1"]), str(pair["system_2"])
    if code not in CLEAR or better == "none":
        return None
    return (first, second) if code == better else (second, first)


def _merge(won: dict[str, list[str]]) -> list[Lead]:
    """Put systems together that are ahead of the same others."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for ahead, behind in won.items():
        merged.setdefault(tuple(behind), []).append(ahead)
    return [Lead(ahead=tuple(ahead), behind=behind) for behind, ahead in merged.items()]


def count_changes(criterion: dict[str, Any], other: dict[str, Any]) -> int:
    """Count the pairs with another verdict in the other report of the same criterion."""
    verdicts = _list_verdicts(other)
    return sum(verdicts.get(key) != one for key, one in _list_verdicts(criterion).items())


def _list_verdicts(criterion: dict[str, Any]) -> dict[frozenset[str], str]:
    """Return who is clearly higher in each pair, whether or not that is better; "" if nobody is."""
    return {
        frozenset((pair["system_1"], pair["system_2"])): (find_winner(pair, "higher") or ("",))[0]
        for pair in criterion["pairs"]
    }


def has_other_verdict_alone(pair: dict[str, Any]) -> bool:
    """Return whether the pair's own standard error leads to another verdict than the model's."""
    if not (own := pair.get("own")):
        return False
    sides = [one["details"].get("p_corrected") for one in (own, pair["effect"])]
    return None not in sides and (sides[0] < 0.05) != (sides[1] < 0.05)

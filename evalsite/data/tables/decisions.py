"""What only a person can decide about outputs: asked at once, with counts, and applied."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePosixPath
from random import Random

from evalsite.data.tables.collection import Collection, Input, Item, Output
from evalsite.data.tables.table import Question, Refused, name_some, quote
from evalsite.lib.words import count_of

EACH, FIRST, ALL, RANDOM, JOINED = "each", "first", "all", "random", "joined"
_MOST_NAMED = 1_000
LEAVE_OUT = "leave-out"
# what tells outputs of one model apart, if it is a system of its own
PROMPT = "prompt"


TURNS = {FIRST: "Only the first turn is taken", JOINED: "All turns are shown as one text"}


@dataclass(slots=True)
class Chosen:
    """One output of each system for an input, and what was decided on the way."""

    id: str
    inputs: dict[str, Input]
    outputs: dict[str, Output]
    place: str
    reference: str = ""


@dataclass
class Decisions:
    """Answers by the key of their question, and in words what each of them did."""

    answers: Mapping[str, str]
    seed: str = ""
    # by key
    made: dict[str, str] = field(default_factory=dict)
    # questions that are still open, and those that were answered, by key
    questions: list[Question] = field(default_factory=list)
    answered: dict[str, Question] = field(default_factory=dict)

    def ask(
        self,
        key: str,
        text: str,
        answers: Mapping[str, str],
        ids: Sequence[str] = (),
        meanings: Mapping[str, str] | None = None,
    ) -> str:
        """Return the answer; "" if it isn't given yet. Refused if there is no such answer.

        `ids` are those of the inputs that would be left out.
        """
        answer = self.answers.get(key, "")
        choices = tuple(
            (value, words, (meanings or {}).get(value, "")) for value, words in answers.items()
        )
        question = Question(key, text, choices, tuple(ids))
        if not answer:
            self.questions.append(question)
        elif answer not in answers:
            message = f"{quote(answer)} is no answer. {text} Choose one of: {', '.join(answers)}."
            raise Refused("no_answer", message)
        else:
            left_out = (
                f" Left out: {name_some(ids, _MOST_NAMED)}." if ids and answer == LEAVE_OUT else ""
            )
            self.made[key] = f"{text} {answers[answer]}.{left_out}"
            self.answered[key] = question
        return answer

    def finish(self) -> None:
        if self.questions:
            text = "\n".join(question.text for question in self.questions)
            raise Refused("decision_needed", text, questions=self.questions)


def decide(collection: Collection, decisions: Decisions) -> list[Chosen]:
    """Apply all answers; Refused lists the questions that are still open."""
    items = list(collection.items.values())
    if collection.has_turns:
        decisions.ask("turns", "The questions and answers have several turns.", TURNS)
    _choose_agents(collection, decisions)
    _choose_variant(items, collection, decisions)
    chosen = _choose_samples(items, decisions)
    chosen = _choose_incomplete(chosen, collection, decisions)
    decisions.finish()
    if not chosen:
        raise Refused("no_rows", "Nothing is left to import.")
    return chosen


def _choose_agents(collection: Collection, decisions: Decisions) -> None:
    """Ask whether agents that differ within a file, or a service, are systems."""
    differing = {place: agents for place, agents in collection.agents.items() if len(agents) > 1}
    if not differing:
        return
    agents = list(dict.fromkeys(chain.from_iterable(differing.values())))
    places = dict.fromkeys(service or PurePosixPath(file).name for file, service in differing)
    answer = decisions.ask(
        "agents",
        f"The traces of {' and '.join(places)} name {count_of(len(agents), 'agent')}: "
        f"{name_some(agents)}.",
        {
            EACH: "Each is a system of its own",
            JOINED: "They are one system, called like the service or the file",
        },
    )
    if answer == JOINED:
        collection.join_systems(
            {
                agent: service or PurePosixPath(file).stem
                for (file, service), agents in differing.items()
                for agent in agents
            }
        )


def _choose_variant(items: list[Item], collection: Collection, decisions: Decisions) -> None:
    """Ask what the systems are: the prompts (or filters), or the models with one or all of them."""
    by_system: dict[str, set[str]] = {}
    numbers: Counter[str] = Counter()
    for item in items:
        for system, outputs in item.outputs.items():
            by_system.setdefault(system, set()).update(output.variant for output in outputs)
            numbers.update(output.variant for output in outputs)
    # one prompt for each system distinguishes nothing
    if all(len(of_system) == 1 for of_system in by_system.values()):
        return
    labels = _shorten_labels(sorted(set().union(*by_system.values())))
    noun = collection.variant or "prompt or filter"
    models = len(by_system)
    total = sum(map(len, by_system.values()))
    each = f"the {noun}s" if models == 1 else f"each {noun} with each model"
    nothing = " There would be nothing to compare." if models == 1 else ""
    answers = {EACH: each}
    meanings = {EACH: _count_outputs(total, numbers.total())}
    for variant, name in labels.items():
        answers[name] = f"the model{'s' if models > 1 else ''}, with {quote(name)} only"
        with_it = sum(variant in of_system for of_system in by_system.values())
        meanings[name] = f"{_count_outputs(with_it, numbers[variant])}{nothing}"
    answer = decisions.ask(
        "variant",
        f"There are outputs for {count_of(len(labels), noun)}. The systems are:",
        answers, meanings=meanings,
    )  # fmt: skip
    if not answer:
        if noun == PROMPT:
            # filters often find the same text
            decisions.questions[-1] = replace(decisions.questions[-1], proposed=EACH)
        return
    for item in items:
        item.outputs = _split_outputs(item, answer, labels, is_alone=models == 1 and noun == PROMPT)
    collection.systems = {
        system: collection.systems.get(system, "") for item in items for system in item.outputs
    }


def _count_outputs(systems: int, outputs: int) -> str:
    if systems == 1:
        return f"1 system with {count_of(outputs, 'output')}."
    each = " each" if outputs % systems == 0 else " in all"
    number = outputs // systems if outputs % systems == 0 else outputs
    return f"{systems:,} systems with {count_of(number, 'output')}{each}."


def _shorten_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return what comes before a colon, as promptfoo writes names before texts, if that differs."""
    short = {label: label.partition(": ")[0] for label in labels}
    return short if len({*short.values()}) == len(labels) else {label: label for label in labels}


def _split_outputs(
    item: Item, answer: str, labels: Mapping[str, str], *, is_alone: bool
) -> dict[str, list[Output]]:
    """Return the outputs of one variant, or those of each under a name of its own.

    Prompts of a model that `is_alone` are named by themselves.
    """
    split: dict[str, list[Output]] = {}
    for system, outputs in item.outputs.items():
        for output in outputs:
            if answer == EACH:
                label = labels[output.variant]
                name = label if is_alone else f"{system} ({label})"
                split.setdefault(name, []).append(output)
            elif labels[output.variant] == answer:
                split.setdefault(system, []).append(output)
    return split


def _choose_samples(items: list[Item], decisions: Decisions) -> list[Chosen]:
    # those of other prompts or filters are asked about by themselves
    most = max(
        (
            max(Counter(output.variant for output in samples).values(), default=1)
            for item in items
            for samples in item.outputs.values()
        ),
        default=1,
    )
    answer = FIRST
    if most > 1:
        answer = decisions.ask(
            "samples",
            f"An input has up to {most:,} outputs of one system (samples or epochs).",
            {
                FIRST: "The first of each is taken",
                ALL: "Each is an item of its own",
                RANDOM: "One of each is drawn at random, by the seed",
            },
        )
    for item in items:
        for outputs in item.outputs.values():
            outputs.sort(key=lambda output: output.sample)
    if answer == ALL:
        return [
            Chosen(
                item.id if number == 0 else f"{item.id}#{number + 1}",
                item.inputs,
                {
                    name: samples[number]
                    for name, samples in item.outputs.items()
                    if number < len(samples)
                },
                item.place,
                item.reference,
            )
            for item in items
            for number in range(max((len(samples) for samples in item.outputs.values()), default=1))
        ]
    return [
        Chosen(
            item.id,
            item.inputs,
            {
                name: _draw(item, name, samples, decisions.seed) if answer == RANDOM else samples[0]
                for name, samples in item.outputs.items()
            },
            item.place,
            item.reference,
        )
        for item in items
    ]


def _draw(item: Item, system: str, outputs: list[Output], seed: str) -> Output:
    """Draw one output by the seed: always the same one."""
    return Random(f"{seed}:{item.id}:{system}").choice(outputs)  # noqa: S311 (a sample, no secret)


def _choose_incomplete(
    chosen: list[Chosen], collection: Collection, decisions: Decisions
) -> list[Chosen]:
    lacking = {
        system: missing
        for system in collection.systems
        if not collection.has_battles
        and (missing := [item.id for item in chosen if system not in item.outputs])
    }
    without_input = [item.id for item in chosen if not item.inputs]
    if chosen and len(without_input) == len(chosen):
        raise Refused(
            "inputs_missing",
            "The files hold outputs, but not what they answer. Add the file with the inputs.",
        )
    if not lacking and not without_input:
        return chosen
    of_all = f"of {len(chosen):,}"
    parts = [
        f"{quote(system)}{_name_file(collection.systems[system], system)} has no output for "
        f"{count_of(len(ids), 'input')} {of_all} ({name_some(ids)})"
        for system, ids in lacking.items()
    ]
    if without_input:
        have = "has" if len(without_input) == 1 else "have"
        parts.append(
            f"{count_of(len(without_input), 'id')} {have} outputs but no input "
            f"({name_some(without_input)}), as if a file were missing"
        )
    left_out = dict.fromkeys([*chain.from_iterable(lacking.values()), *without_input])
    if len(left_out) == len(chosen) and len(collection.rows) > 1:
        raise Refused(
            "archive_several_tables",
            f"{'; '.join(parts)}. So no id is in all of the files. Choose the column that holds it "
            "in each (--map FILE:COLUMN=item).",
        )
    answer = decisions.ask(
        "incomplete", f"{'; '.join(parts)}.", {LEAVE_OUT: "These inputs are left out"}, [*left_out]
    )
    if answer == LEAVE_OUT:
        return [item for item in chosen if item.inputs and item.id not in left_out]
    return chosen


def _name_file(file: str, system: str) -> str:
    """Name a system's file, unless it is called like the system."""
    return "" if not file or PurePosixPath(file).stem == system else f" ({file})"

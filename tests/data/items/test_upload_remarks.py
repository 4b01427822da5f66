"""What a researcher is told to look at before importing: found where it is, and only there."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from evalsite.instruments.installed import find_folder, installed_protocols
from tests.support.batches import SYSTEMS, check_rows
from tests.support.checking import check_file
from tests.support.published import published_file
from tests.support.uploads import Check, check, study

__all__ = ["check", "study"]  # fixtures

NAMES = ("Aromi", "Cocum", "Clowns", "Giraffe", "Zizzi", "Strada", "Cotto", "Wildwood", "Loch Fyne")
FOODS = ("Thai", "Italian", "French", "Indian", "English", "Chinese", "Japanese")
Write = Callable[[int, str, str], str]


WAYS = (
    "{0} is a place near the river that serves {1} food.",
    "If you like {1} dishes, {0} by the river is for you.",
    "There is {1} food at {0}, and it is close to the river.",
    "You can eat {1} food by the river, at a place called {0}.",
    "By the river, {0} offers {1} meals at a fair price.",
    "Try {0}, which has {1} cooking and stands by the river.",
    "Close to the river stands {0}. It cooks {1} food!",
)


def write(number: int, name: str, food: str) -> str:
    return WAYS[number % len(WAYS)].format(name, food)


def write_file(gamma: Write, rows: int = 30) -> str:
    """A plausible file of three systems, of which the last writes as it is told."""
    lines = ["item,mr,system,output"]
    for number in range(rows):
        name, food = NAMES[number % len(NAMES)], FOODS[number % len(FOODS)]
        outputs = {
            "alpha": write(number, name, food),
            "beta": write(number + 2, name, food),
            "gamma": gamma(number, name, food),
        }
        for system, text in outputs.items():
            quoted = text.replace('"', '""')
            lines.append(f'm{number},"name[{name}], food[{food}] {number}",{system},"{quoted}"')
    return "\n".join(lines)


def plain(number: int, name: str, food: str) -> str:
    return write(number + 4, name, food)


def remarks_of(check: Check, content: str) -> list[str]:
    checked = check(content)
    assert not checked.faults
    return [str(remark) for remark in checked.remarks]


def test_plausible_file_is_not_remarked_on(check: Check) -> None:
    assert remarks_of(check, write_file(plain)) == []


# --- duplicates -----------------------------------------------------------------------


def test_items_that_stand_twice_are_remarked_on(check: Check) -> None:
    content = write_file(plain)
    again = [line.replace("m7,", "m99,") for line in content.splitlines() if "m7," in line]

    (remark,) = remarks_of(check, "\n".join([content, *again]))

    assert remark == (
        "Items with the same inputs and the same outputs as an earlier one, so that people would "
        "rate them twice (1 found). First: line 92 (record 91)"
    )


def test_output_copied_down_a_row_is_remarked_on(check: Check) -> None:
    def copied(number: int, name: str, food: str) -> str:
        number -= number == 8
        text = plain(number, NAMES[number % len(NAMES)], FOODS[number % len(FOODS)])
        return f"{text} It is open until late in the evening."

    remark, *_ = remarks_of(check, write_file(copied))

    assert "system “gamma” that are word for word those of the item before" in remark
    assert remark.endswith(" (1 found). First: line 26 (record 25)")


# --- truncation -----------------------------------------------------------------------


def test_texts_cut_at_one_length_are_remarked_on(check: Check) -> None:
    def cut(number: int, name: str, food: str) -> str:
        return plain(number, name, food)[:45]

    found = remarks_of(check, write_file(cut))

    assert any("“gamma” that stop at exactly 45 characters" in remark for remark in found)


def test_texts_that_break_off_far_more_often_than_others_are_remarked_on(check: Check) -> None:
    def broken(number: int, name: str, food: str) -> str:
        return " ".join(plain(number, name, food).split()[: 7 + number % 8])

    (remark,) = remarks_of(check, write_file(broken))

    assert "“gamma” end without a full stop or the like far more often" in remark


def test_texts_of_one_length_that_end_well_are_not_remarked_on(check: Check) -> None:
    def padded(number: int, name: str, food: str) -> str:
        return f"{plain(number, name, food)[:60]:x<60}."

    assert remarks_of(check, write_file(padded)) == []


# --- leftovers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "leftover",
    ["{name}", "{{ food }}", "<unk>", "<pad>", "</s>", "[INST]", "TODO", "Lorem ipsum", "%(name)s"],
)
def test_leftovers_of_templates_and_tokenizers_are_remarked_on(check: Check, leftover: str) -> None:
    def left(number: int, name: str, food: str) -> str:
        return plain(number, leftover if number == 4 else name, food)

    (remark,) = remarks_of(check, write_file(left))

    assert remark.startswith("Texts with leftovers of a template or a tokenizer")
    assert remark.endswith(" (1 found). First: line 16 (record 15), output")


@pytest.mark.parametrize(
    "text", ["a [taxi_type] is booked .", "5 < 6 {and 7 > 6}!", "my todo list"]
)
def test_slots_and_signs_are_no_leftovers(check: Check, text: str) -> None:
    content = write_file(lambda number, name, food: text if number == 4 else plain(0, name, food))

    assert not [one for one in remarks_of(check, content) if "leftovers" in one]


@pytest.mark.parametrize("text", ["NaN", "None", "null", "#N/A"])
def test_lost_values_are_remarked_on(check: Check, text: str) -> None:
    content = write_file(lambda number, name, food: text if number == 4 else plain(0, name, food))

    assert any(
        "a lost value (1 found). First: line 16" in one for one in remarks_of(check, content)
    )


# --- systems that can be told ---------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "words"),
    [
        (lambda n, a, b: plain(n, a, b).lower(), "are mostly all in lower case"),
        (
            lambda n, a, b: plain(n, a, b).replace(",", " ,").replace(".", " ."),
            "mostly have spaces before stops and commas",
        ),
        (lambda n, a, b: f"As an expert, {plain(n, a, b)}", "mostly start with “As an expert,”"),
        (
            lambda n, a, b: f"{plain(n, a, b)} Enjoy your meal!",
            "mostly end with “Enjoy your meal!”",
        ),
        (lambda n, a, b: f"{b} food at {a}."[-14:], "are short ("),
        (lambda n, a, b: " ".join(plain(n + i, a, b) for i in range(5)), "are long ("),
    ],
)
def test_system_that_writes_unlike_all_others_is_remarked_on(
    check: Check, gamma: Write, words: str
) -> None:
    found = [one for one in remarks_of(check, write_file(gamma)) if "unlike those" in one]

    assert len(found) == 1
    assert found[0].startswith(f"Outputs of system “gamma” {words}")
    assert "may recognise the system by it" in found[0]


def test_manner_that_all_systems_share_is_not_remarked_on(check: Check) -> None:
    content = write_file(plain)
    header, *rows = content.splitlines()

    assert remarks_of(check, "\n".join([header, *(row.lower() for row in rows)])) == []


def test_few_outputs_are_not_judged_by_their_manner(check: Check) -> None:
    content = write_file(lambda number, name, food: plain(number, name, food).lower(), rows=9)

    assert remarks_of(check, content) == []


# --- dialogues --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialogue", "doubt"),
    [
        ("A: Hi there. B: Hello! A: Well?", "speaker in the middle of a line"),
        ("user: i need a taxi . system: where to ?", "speaker in the middle of a line"),
        ("Ann: Is it open?\nBen: No. Ann: A pity.", "speaker in the middle of a line"),
        ("A: Hi there. B: Hello!\n\nA: Bye.", "speaker in the middle of a line"),
        ("A: Hi there. B: Hello!\n", "speaker in the middle of a line"),
        ("A: Hi there. B： Hello!", "speaker in the middle of a line"),
        ("A: Take vitamin c: it helps.\nB: Does it?", ""),
        ("Is it open?\nTill six.", "no line begins with a speaker"),
        ("A: Hi there.\nB: Hello!", ""),
        ("A: Is it open? I ask: when, and for whom?", ""),
        ('["Is it open?", "Till six."]', ""),
        ("<p>Person 1: Is it open?</p><p>Person 2: Till six.</p>", ""),
    ],
)
def test_dialogue_that_shows_fewer_turns_than_it_has_is_remarked_on_once(
    make_study: Callable[..., Any], dialogue: str, doubt: str
) -> None:
    rows = [
        {"item": "d1", "dialogue": dialogue, "system": name, "output": f"Said by {number}."}
        for number, name in enumerate(SYSTEMS)
    ]

    checked = check_rows(make_study(items=0, protocol="dialogue"), rows)

    assert not checked.faults
    found = [str(remark) for remark in checked.remarks]
    assert len(found) == bool(doubt)
    assert all(
        doubt in one and one.endswith(" (1 found). First: line 2 (record 1)") for one in found
    )


# --- real files -----------------------------------------------------------------------


@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
def test_example_batches_raise_no_false_alarm(
    make_study: Callable[..., Any], protocol: str
) -> None:
    study = make_study(items=0, protocol=protocol)
    with find_folder(study.protocol).example_batch.open("rb") as source:
        found = [str(remark) for remark in check_file(source, study=study).remarks]

    # all are so: two systems may agree, the template signs all of its letters alike, and one
    # review is long, so that long texts are seen
    true = (
        "two systems gave the same text",
        "mostly end with “regards, the management”",
        "Texts over 2,000 characters (3 found)",
    )
    assert [one for one in found if not any(words in one for words in true)] == []


@pytest.mark.parametrize(
    ("protocol", "name", "most"),
    [("magnitude", "rankme/batch_long.csv", 2), ("pairwise", "marco_pairwise/batch_long.csv", 4)],
)
def test_real_batches_raise_few_alarms(
    make_study: Callable[..., Any], protocol: str, name: str, most: int
) -> None:
    checked = check_file(
        io.BytesIO(published_file(name).read_bytes()), study=make_study(items=0, protocol=protocol)
    )

    assert not checked.faults
    assert len(checked.remarks) <= most, [str(remark) for remark in checked.remarks]

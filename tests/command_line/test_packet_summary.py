"""summary.md: short however much was rated, and honest about one person."""

from types import SimpleNamespace

from evalsite.command_line.packet_summary import _escape, _list_criteria, _tabulate

# the lines that don't grow: what was rated, who answered, files
FIXED = 20


def view(number: int, systems: int = 2) -> SimpleNamespace:
    names = [f"S{place}" for place in range(systems)]
    return SimpleNamespace(
        key=f"c{number}",
        label=f"Criterion {number}",
        role="",
        estimate="Mean",
        systems=[SimpleNamespace(name=name, value="3.1", interval="2.0 to 4.0") for name in names],
        pairs=[SimpleNamespace(first="S0", second="S1", value="0.0", interval="−1 to 1")] * systems,
        verdict=SimpleNamespace(sentences=[("No clear difference.", True)]),
        agreement=[SimpleNamespace(name="α", value=".10", full_interval="−.20 to .40")],
        planned=["Planned."],
    )


def test_many_criteria_and_systems_fit_on_sixty_lines():
    views = [view(number, systems=40) for number in range(30)]

    lines = [*_tabulate(views), *_list_criteria(views, people=5)]

    assert len(lines) + FIXED <= 60
    assert any("18 more criteria" in line for line in lines)


def test_agreement_has_its_interval_and_of_one_person_it_is_not_known():
    (of_two, _) = _list_criteria([view(1)], people=2)
    (of_one, _) = _list_criteria([view(1)], people=1)

    assert "α): .10 (−.20 to .40)." in of_two
    assert "α" not in of_one
    assert "can't be known" in of_one


def test_names_in_sentences_are_shown_as_text():
    named = view(1)
    named.verdict.sentences = [("a_b is better than <b>c</b>|d.", True)]
    named.planned = ["Planned: a_b is not worse."]

    (line, _) = _list_criteria([named], people=2)

    assert r"a\_b is better than \<b\>c\</b\>\|d. " in line
    assert r"Planned: a\_b is not worse." in line


def test_a_name_stays_in_its_cell():
    assert _escape("a|b\n# c") == "a\\|b \\# c"

"""summary.md: short however much was rated, and honest about one person."""

from evalsite.command_line.packet_summary import _describe_results, _escape
from tests.support.reports import make_content, make_pair, make_points, make_source

# the lines that don't grow: what was rated, who answered, files
FIXED = 20


def test_many_questions_and_systems_fit_on_sixty_lines():
    means = tuple(5 - place / 10 for place in range(12))
    criteria = [
        make_points(make_pair("a", "b", "not_enough"), means=means, key=f"c{number}")
        for number in range(30)
    ]

    lines = list(_describe_results(make_source(make_content(criteria=criteria))))

    assert sum(line.count("\n") + 1 for line in lines) + FIXED <= 60
    assert any("18 more questions" in line for line in lines)


def test_names_in_findings_are_shown_as_text():
    names = ("a_b", "<b>c</b>|d")
    criterion = make_points(make_pair(*names, "higher"), means=(3.9, 3.5))
    for system, name in zip(criterion["systems"], names, strict=True):
        system["system"] = name

    text = "\n".join(_describe_results(make_source(make_content(criteria=[criterion]))))

    assert r"a\_b is rated 0.40 points higher than \<b\>c\</b\>\|d" in text


def test_agreement_of_one_person_is_not_known():
    undefined = make_content()["criteria"][0]["agreement"][1] | {"reason": "no_overlap"}
    criterion = make_points(agreement=[undefined])

    text = "\n".join(_describe_results(make_source(make_content(criteria=[criterion]))))

    assert "no item has two ratings" in text


def test_a_name_stays_in_its_cell():
    assert _escape("a|b\n# c") == "a\\|b \\# c"

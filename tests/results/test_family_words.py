"""Every family of analysis has its words where pages and reports write them."""

from evalsite.analysis.families import FAMILIES, list_planners
from evalsite.results.power.words import PLANNERS, SOURCES, UNPLANNED
from evalsite.results.replication.tables import write_note
from evalsite.results.report.sections.people import name_column

ANALYSED = [family for family in FAMILIES.values() if family.is_analysed]


def test_every_score_has_its_words():
    for family in ANALYSED:
        assert write_note({"code": "repeated_score", "facts": {"family": family.name}})


def test_every_planner_and_source_has_its_words():
    planners = list_planners()

    assert set(PLANNERS) == set(planners)
    sources = {
        (name, source.key) for name, planner in planners.items() for source in planner.sources
    }
    assert set(SOURCES) == sources
    hidden = {name for name, planner in planners.items() if not planner.shows_spread}
    assert {name for name, words in PLANNERS.items() if words.no_results} == hidden
    assert set(UNPLANNED) == {name for name, family in FAMILIES.items() if family.planner is None}


def test_every_column_of_a_family_is_headed():
    for family in ANALYSED:
        for name in family.rater_columns:
            assert name_column({"name": name, "criterion": "", "part": family.name})

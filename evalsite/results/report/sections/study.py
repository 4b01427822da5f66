"""The study in a few lines: material, answers, people and design, planned beside collected."""

from collections.abc import Iterator

from evalsite.lib.money import format_money
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import Block, Cell, Column, Entry, Heading, Table
from evalsite.results.document.figures import make_figure
from evalsite.results.report.source import Source


def make_study(source: Source) -> Iterator[Block]:
    yield Heading("The study", 2, "study")
    rows: list[list[Entry]] = [
        ["Material", _describe_material(source)],
        ["Answers", _describe_answers(source)],
        ["People", _describe_people(source)],
        ["Design", _describe_design(source)],
    ]
    columns = [Column("", is_number=False), Column("", is_number=False)]
    yield Table("study", "The study", columns, rows)


def _describe_material(source: Source) -> Cell:
    data, outputs = source.kept["data"], count_outputs(source)
    systems = len(data["systems"])
    text = f"{count_of(data['groups'], 'input')}, {count_of(outputs, 'output')}"
    figures = [make_figure("inputs", data["groups"]), make_figure("outputs", outputs)]
    if data.get("clusters"):
        text = f"{text} in {count_of(data['clusters'], 'cluster')}"
    figures.append(make_figure("systems", systems))
    return Cell(f"{text} of {count_of(systems, 'system')}", tuple(figures))


def count_outputs(source: Source) -> int:
    """Count the outputs that were rated; of comparisons, the two of each."""
    data = source.kept["data"]
    for figure in source.kept["design"]:
        if figure["name"] == "ratings_per_output":
            number = figure["n"].get("outputs", 0)
            is_about_pairs = all(criterion.family.compares for criterion in source.criteria)
            return int(number) * 2 if is_about_pairs else int(number)
    return int(data["items"])


def _describe_answers(source: Source) -> Cell:
    data, collection = source.kept["data"], source.content.get("collection") or {}
    used = data["annotations"]
    done, target = collection.get("done") or used, collection.get("target") or 0
    text = count_of(done, "answer") if not target else f"{done:,} of {target:,} planned"
    if used != done:
        text += f"; {used:,} used"
    text += f"; {count_of(data['ratings'], 'rating')}"
    return Cell(
        text,
        (
            make_figure("answers_in", done),
            make_figure("answers_planned", target),
            make_figure("answers_used", used),
        ),
    )


def _describe_people(source: Source) -> Cell:
    data, everything = source.kept["data"], source.everything
    people = data["participants"]
    noun = ("person", "people") if data["raters_known"] else ("rater", "raters")
    parts = [f"{count_of(people, *noun)}"]
    figures = [make_figure("people", people)]
    excluded = everything["data"]["participants"] - people if everything else 0
    if excluded > 0:
        parts.append(f"{excluded:,} excluded")
        figures.append(make_figure("people_excluded", excluded))
    sharing = source.content.get("sharing", {})
    if left_out := sharing.get("left_out"):
        parts.append(f"{count_of(left_out, *noun)} left out, whose answers aren’t shared")
        figures.append(make_figure("people_not_sharing", left_out))
    if kept_back := sharing.get("not_sharing"):
        parts.append(f"{count_of(kept_back, *noun)} don’t share their answers")
        figures.append(make_figure("people_not_sharing", kept_back))
    facts = source.facts
    if facts.hourly is not None and facts.is_collected_here:
        parts.append(f"{format_money(facts.hourly, facts.settings['currency'])} an hour")
        figures.append(make_figure("pay_per_hour", round(float(facts.hourly), 2)))
    return Cell("; ".join(parts), tuple(figures))


def _describe_design(source: Source) -> Cell:
    data, facts = source.kept["data"], source.facts
    if not facts.is_collected_here:
        return Cell("The ratings were collected elsewhere")
    k, size = facts.settings.get("k"), facts.settings.get("set_size")
    parts = ["systems hidden"]
    if k:
        parts.append(f"{count_of(k, 'answer')} planned to each item, by different people")
    if size:
        parts.append(f"sets of {count_of(size, 'item')}")
    figures = []
    counts = [count for places in data["places"].values() for count in places.values()]
    if counts and len(data["systems"]) > 1:
        spread = max(counts) - min(counts)
        parts.append(f"each system equally often in each position, to within {spread:,}")
        figures.append(make_figure("position_spread", spread))
    text = "; ".join(parts)
    return Cell(text[:1].upper() + text[1:], tuple(figures))

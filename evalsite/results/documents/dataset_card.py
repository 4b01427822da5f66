"""A dataset as a folder: its tables, its card (README.md) and its descriptor for programs.

The card says what the datasheet says of the people, of how the tables were made, and of what is in
none of them. It names the types of all columns: programs then don't guess them from the first rows.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from evalsite.data.bundle.data_package import LICENCES, Credits, describe_dataset
from evalsite.data.files.dataset import (
    COMPARISONS,
    CONVERSATIONAL,
    LIST,
    MESSAGES,
    PREFERENCES,
    RATINGS,
    UNPAIRED,
    Dataset,
    DatasetOptions,
    needs_thresholds,
    write_dataset,
)
from evalsite.instruments.schema import Criterion
from evalsite.lib.words import count_of
from evalsite.people.models import Recruitment
from evalsite.results.document.blocks import isolate
from evalsite.results.document.text import quote_markdown
from evalsite.results.documents.datasheet import list_figures
from evalsite.results.documents.study_context import describe_pay, list_named
from evalsite.results.report.computation import find_current
from evalsite.studies.models import Study, System
from evalsite.studies.settings import SETTINGS

Plain = Mapping[str, Any]
CARD, DESCRIPTOR = "README.md", "datapackage.json"
_IS_A = {
    RATINGS: "one value that one rater gave to one output, or one text",
    COMPARISONS: "one judgement of two outputs, with ties",
    PREFERENCES: "one pair of outputs that a majority decided",
    CONVERSATIONAL: "the same, as messages",
    UNPAIRED: "one output that is good (label true) or bad",
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


class Published(NamedTuple):
    """What is known of a study that was loaded from a bundle."""

    credits: Credits
    # what was computed of its answers
    report: Plain
    # how many people were left out before
    not_sharing: int


def write_dataset_folder(
    study: Study, options: DatasetOptions, folder: Path, published: Published | None = None
) -> Dataset:
    """Write the dataset into this folder, which must be new or empty.

    ValidationError if there are no rows.
    """
    made = write_dataset(study, options, folder)
    if published:
        credits, report, not_sharing = published
        made.left_out["people"] += not_sharing
    else:
        current = find_current(study)
        credits, report = Credits.of_study(study), current.content["kept"] if current else {}
    agreement = list(_list_agreement(study, report))
    if agreement and made.left_out["people"] and not published:
        agreement.append("- These are of everyone’s answers, also of those who are left out here.")
    (folder / CARD).write_text(_write_card(study, made, credits, agreement), encoding="utf-8")
    files = {}
    for table, path in made.files.items():
        with (folder / path).open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
            files[table] = (path, file.tell(), digest)
    described = describe_dataset(study, credits, made.fields, files)
    text = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
    (folder / DESCRIPTOR).write_text(text, encoding="utf-8")
    return made


def _write_card(study: Study, made: Dataset, credits: Credits, agreement: Sequence[str]) -> str:
    head = "\n".join(_write_head(study, made, credits))
    body = "\n\n".join(_write_body(study, made, credits, agreement))
    return f"---\n{head}\n---\n{body}\n"


# --- for programs: YAML, whose texts are written as JSON ------------------------------------------


def _write_head(study: Study, made: Dataset, credits: Credits) -> Iterator[str]:
    rows = max(made.rows.values())
    yield f"pretty_name: {_quote(credits.title)}"
    if credits.licence:
        yield f"license: {credits.licence.lower()}"
    yield from ("language:", f"- {study.language.partition('-')[0].lower()}")
    yield from ("task_categories:", "- text-generation")
    size = next((words for limit, words in _SIZES if rows < limit), "1M<n<10M")
    yield from ("size_categories:", f"- {size}")
    yield from ("annotations_creators:", f"- {_name_creators(study, made)}")
    yield "source_datasets: []"
    yield from ("tags:", "- human-evaluation", "- evalsite")
    yield "configs:"
    for place, (table, path) in enumerate((table, made.files[table]) for table in made.fields):
        yield f"- config_name: {table}"
        if not place:
            yield "  default: true"
        yield from ("  data_files:", "  - split: train", f"    path: {path}")
    yield "dataset_info:"
    for table, fields in made.fields.items():
        yield from (f"- config_name: {table}", "  features:")
        for name, kind in fields.items():
            yield f"  - name: {_quote(name)}"
            yield from _write_type(kind)


def _write_type(kind: str) -> Iterator[str]:
    if kind == MESSAGES:
        yield "    list:"
        for name in ("role", "content"):
            yield from (f"    - name: {name}", "      dtype: string")
    else:
        yield "    list: string" if kind == LIST else f"    dtype: {kind}"


def _quote(text: str) -> str:
    """Write a name on one line, without signs that YAML doesn't take."""
    return json.dumps(isolate(text), ensure_ascii=False)


def _name_creators(study: Study, made: Dataset) -> str:
    """Name where raters come from, in the words that catalogues of datasets know."""
    if made.is_simulated:
        return "machine-generated"
    return "crowdsourced" if _list_panels(study) else "other"


def _list_panels(study: Study) -> list[str]:
    rounds = Recruitment.objects.filter(study=study, visits__isnull=False).distinct()
    platforms = (entry.adapter for entry in rounds)
    return list(dict.fromkeys(platform.label for platform in platforms if platform.hands_back))


# --- for people -----------------------------------------------------------------------------------


def _write_body(
    study: Study, made: Dataset, credits: Credits, agreement: Sequence[str]
) -> Iterator[str]:
    yield f"# {_show(credits.title)}"
    if made.is_simulated:
        yield "**The answers are simulated. They show nothing about real systems.**"
    yield _describe_content(study, made)
    rows = [f"| {table} | {made.rows[table]:,} | {_IS_A[table]} |" for table in made.fields]
    yield "\n".join(["| configuration | rows | a row is |", "| --- | --- | --- |", *rows])
    if decisions := list(_list_decisions(study, made)):
        yield "## How preferences were made"
        yield "\n\n".join(decisions)
    yield "## Who rated"
    yield " ".join(_list_people(study, made))
    yield "## Agreement"
    yield "\n".join(agreement) or "No report of these answers has been computed yet."
    yield "## What it isn’t for"
    yield (
        "Comparing raters with one another. Conclusions about other inputs or other versions of "
        "these systems. Figures of how sure a finding is: they are in the report of the study."
    )
    yield "## Licence and citation"
    yield " ".join(_list_terms(study, credits))


def _show(text: str) -> str:
    return quote_markdown(isolate(text))


def _describe_content(study: Study, made: Dataset) -> str:
    names = System.objects.filter(study=study).order_by("name").values_list("name", flat=True)
    systems = quote_markdown(list_named(list(names)))
    counts = [
        count_of(made.rows[table], noun)
        for table, noun in ((RATINGS, "rating"), (COMPARISONS, "comparison"))
        if table in made.rows
    ]
    days = dict.fromkeys(_write_day(at) for at in (made.first_at, made.last_at) if at)
    when = f" from {' to '.join(days)}" if len(days) > 1 else "".join(f" on {day}" for day in days)
    return (
        f"{count_of(made.people, 'rater')} gave {' and '.join(counts)} on outputs of "
        f"{count_of(len(names), 'system')} ({systems}). Collected with Evalsite{when}."
    )


def _write_day(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%B %Y}"


def _list_decisions(study: Study, made: Dataset) -> Iterator[str]:
    asked, options = study.config.criterion_by_key, made.options
    if PREFERENCES in made.rows:
        criterion = asked[options.preferences]
        vote = (
            "A vote is one comparison."
            if criterion.scale.compares
            else "A rater votes for the output of an input to which they gave the better value. "
            "Equal values are a tie."
        )
        left_out = made.left_out["pairs"]
        yield (
            f"Preferences are by {_show(criterion.label)}. {vote} A pair is chosen and rejected by "
            f"the majority of its votes. {count_of(left_out, 'pair')} without a majority "
            f"{'was' if left_out == 1 else 'were'} left out. Ties count for neither side and are "
            "in `votes_tie`."
        )
    if UNPAIRED in made.rows:
        yield _describe_unpaired(asked[options.unpaired], made)
    if made.excluded and (PREFERENCES in made.rows or UNPAIRED in made.rows):
        yield (
            f"{count_of(made.excluded, 'answer')} excluded by the researchers "
            f"{'is' if made.excluded == 1 else 'are'} marked in the other tables, and "
            f"{'decides' if made.excluded == 1 else 'decide'} nothing here."
        )


def _describe_unpaired(criterion: Criterion, made: Dataset) -> str:
    label, options = _show(criterion.label), made.options
    left_out = made.left_out["outputs"]
    are = f"{count_of(left_out, 'output')} {'is' if left_out == 1 else 'are'} left out"
    if not needs_thresholds(criterion):
        return f"In `unpaired`, the majority decides {label}. {are} because of a tie."
    words = ("or more", "below") if criterion.direction == "higher" else ("or less", "above")
    return (
        f"In `unpaired`, a mean {label} of {options.good_from:g} {words[0]} is good, and one "
        f"{words[1]} {options.bad_below:g} is bad. {are}, because they are in between."
    )


def _list_people(study: Study, made: Dataset) -> Iterator[str]:
    settings = {name: getattr(study, name) for name in SETTINGS} | {"has_bonus": study.has_bonus}
    if study.is_collected_elsewhere:
        yield "The ratings were collected elsewhere and imported."
    else:
        pay = describe_pay(settings)
        panels = _list_panels(study)
        who = count_of(made.people, "person", "people")
        yield f"{who}, paid {pay}." if pay else f"{who}. The study doesn’t say what they were paid."
        if panels:
            yield f"They were reached through {list_named(panels)}."
    yield "Their pseudonyms stand for nothing outside this dataset."
    if not study.asks_to_share:
        yield "They weren’t asked whether their answers may be published: all of them are included."
        return
    people, answers = made.left_out["people"], made.left_out["answers"]
    yield (
        f"Only answers of people who agreed to share are included: {made.people:,} of "
        f"{made.people + people:,}."
    )
    if people:
        yield (
            f"{count_of(people, 'person', 'people')} with {count_of(answers, 'answer')} "
            f"{'is' if people == 1 else 'are'} left out, because they didn’t agree."
        )


def _list_agreement(study: Study, report: Plain) -> Iterator[str]:
    labels = {criterion.key: criterion.label for criterion in study.config.criteria}
    for entry in report.get("criteria", ()):
        figures = list_figures(("", figure) for figure in entry["agreement"])
        if figures and entry["key"] in labels:
            yield f"- {_show(labels[entry['key']])}: {quote_markdown(figures)}"


def _list_terms(study: Study, credits: Credits) -> Iterator[str]:
    yield "Texts of the systems: as their owners say."
    if credits.licence:
        title, _, address = LICENCES[credits.licence]
        yield f"Ratings: [{title}]({address})."
    else:
        yield "No licence has been chosen for the ratings, so nobody may reuse them."
    names = [author.name for author in credits.authors] or [credits.organisation]
    authors = list_named([name for name in names if name])
    yield f"Cite it as: {quote_markdown(authors)}{': ' if authors else ''}{_show(credits.title)}."
    place = credits.homepage or f"Evalsite study {study.pk}"
    yield f"{quote_markdown(place)}."

"""Write the texts of a bundle: README, instructions and scales as shown, codebook."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string

from evalsite.data.bundle.data_package import LICENCES
from evalsite.data.bundle.format import (
    ANALYSIS_PLAN,
    CHECKSUMS,
    CODEBOOK,
    CODEBOOK_PAGE,
    DATAPACKAGE,
    OWN_FILES,
    PLAN_LINES,
    REPORT,
    STUDY,
    BundleReport,
    Contents,
)
from evalsite.data.files.codebook import PANDAS, WORDS, Chapter, list_chapters
from evalsite.data.files.columns import list_files_of
from evalsite.data.files.misread_ids import describe_misread, list_misread
from evalsite.data.files.scripts import describe_methods
from evalsite.instruments.bundle_format_2 import read_criteria
from evalsite.instruments.schema import Criterion
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of, list_of

# what each file under data/ is for, for a first reader of the bundle
_PURPOSES = {
    "ratings": "one row for each rating: the file to analyse",
    "annotations": "one row for each item that a participant answered",
    "highlights": "one row for each marked passage",
    "mqm": "one row for each error, as WMT publishes them; without excluded answers",
    "participants": "one row for each person who came, under a pseudonym",
    "items": "one row for each output with its text; it can be uploaded as a batch",
    "metrics": "one row for each score that an automatic metric gave to an output",
    "judge_labels": "one row for each label that a judge, a model that rates, gave",
    "exclusions": "every decision to exclude a person or an answer from analysis, with its reason",
}


# --- versions -----------------------------------------------------------------------------


def write_instructions(content: Mapping[str, Any]) -> str:
    """Return the instructions of a version, in the Markdown in which they were written."""
    return str(content["texts"]["instructions"]).rstrip("\n") + "\n"


def write_texts(content: Mapping[str, Any]) -> str:
    """What else participants of a version read before they began: the start and the consent."""
    texts = content["texts"]
    parts = [f"# {texts['title']}", texts["summary"]]
    parts += ["# Consent", texts["consent"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_scales(content: Mapping[str, Any], *, with_conditions: bool = False) -> str:
    """Write the criteria of a version with their questions and scales, as Markdown."""
    try:
        criteria = read_criteria(content["instrument"])
    except ValueError:
        # the rest of the bundle can still be read
        return "A kind of question that was asked is no longer installed on this site.\n"
    parts = [part for criterion in criteria for part in _describe_criterion(criterion)]
    if with_conditions:
        known = {criterion.key: criterion for criterion in criteria}
        parts = [
            part
            for criterion in criteria
            for part in (
                *_describe_criterion(criterion),
                f"Asked only if {criterion.ask_if.describe(known)}." if criterion.ask_if else "",
            )
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _describe_criterion(criterion: Criterion) -> Iterator[str]:
    yield f"# {criterion.label}"
    yield f"Column `criterion`: `{criterion.key}`"
    yield from (criterion.summary, criterion.definition, criterion.question, criterion.range_note)
    yield criterion.scale.write_markdown()


# --- codebook -----------------------------------------------------------------------------


def list_all_chapters(study: Study) -> list[Chapter]:
    """Return every table of the bundle with its columns."""
    of_bundle = [Chapter(name.rpartition("/")[2], columns) for name, columns in OWN_FILES.items()]
    files = list_files_of(study)
    return [
        *list_chapters(study.config, files, misread=describe_misread(list_misread(study))),
        *of_bundle,
    ]


def write_codebook_page(chapters: list[Chapter], title: str) -> str:
    """Return the codebook as a page."""
    context = {"chapters": chapters, "pandas": PANDAS, "words": WORDS, "title": title}
    return render_to_string("data/bundle_codebook.html", context)


# --- README -------------------------------------------------------------------------------


def write_readme(
    study: Mapping[str, Any],
    counts: Mapping[str, Any],
    contents: Contents,
    tables: list[str],
    scripts: list[str],
    plan: Mapping[str, Any],
    *,
    planned: str,
    free_text: Sequence[str],
    report: BundleReport | None = None,
    has_lines: bool = False,
    left_out: Mapping[str, int] | None = None,
) -> str:
    """Return the report, what the bundle is, how files are read, and how the scripts are run.

    `planned`: the plan as Markdown, which reports have too.
    `free_text`: columns that hold what people wrote in their own words.
    """
    parts = [
        f"{report.text}\n## This bundle" if report else f"# {study['title']}",
        f"A study of the protocol “{study['protocol']}”, made with Evalsite: its instructions and "
        f"scales {'as shown' if study['versions'] else 'as they would be shown now'}, its items, "
        "its design" + (", and its data." if contents.has_data else "."),
        *_describe_origin(counts),
        *([describe_left_out(left_out)] if left_out else ()),
        *([f"It repeats the study `{plan['repeats']}`."] if plan["repeats"] is not None else ()),
        "## Files",
        "\n".join(
            _list_files(
                study, contents, tables, scripts, has_report=bool(report), has_lines=has_lines
            )
        ),
        *_list_import_notes(study),
        # one level down
        *([f"#{planned.rstrip()}"] if planned else ()),
        *(_describe_reading() if contents.has_data else ()),
        *(_describe_scripts() if contents.has_data and scripts else ()),
        "## People",
        _describe_people(contents, free_text),
        _EXTRA,
        "## Checking and repeating it",
        *_describe_repeating(study, contents),
        "## Licence",
        _describe_licence(study.get("licence", "")),
    ]
    return "\n\n".join(parts) + "\n"


def _describe_licence(licence: str) -> str:
    texts = "Check the licences of the items' and the protocol's texts too."
    if licence:
        title, _, address = LICENCES[licence]
        return f"The ratings: {title}, {address}. {texts}"
    return (
        "No licence has been chosen, so nobody may reuse the ratings. Choose one under Files, "
        f"About the data, before you publish this bundle. {texts}"
    )


def _list_import_notes(study: Mapping[str, Any]) -> Iterator[str]:
    """List what researchers confirmed when they imported files."""
    notes = [
        f"- `{file['file_name']}`: {note['text']}"
        for file in (
            *study["batches"],
            *study["ratings_files"],
            *study["metric_files"],
            *study.get("judge_files", ()),
        )
        for note in file.get("import_notes", ())
        if isinstance(note, Mapping) and isinstance(note.get("text"), str)
    ]
    if notes:
        yield "## Imports"
        yield "What researchers confirmed when they imported files:"
        yield "\n".join(notes)


def _describe_origin(counts: Mapping[str, Any]) -> Iterator[str]:
    total, origins = sum(counts["annotations"].values()), counts["origins"]
    if count := origins.get("simulated"):
        yield (
            f"**{count:,} of {total:,} annotations are simulated.** No person gave them: they "
            "are not evidence of anything. The column `origin` marks their rows."
        )
    if count := origins.get("imported"):
        yield (
            f"{count:,} of {total:,} annotations are imported: they were collected elsewhere. "
            "The column `origin` marks their rows."
        )


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Say whose answers a bundle for the public lacks."""
    people, answers = left_out["participants"], left_out["annotations"]
    if not people:
        return "Everyone in this study agreed that their answers may be shared: all are in here."
    return (
        f"**{count_of(people, 'participant')} with {count_of(answers, 'annotation')} left out.** "
        "Only people who agreed that their answers may be shared are in this bundle, and its "
        "figures are computed from their answers alone."
    )


def _list_files(
    study: Mapping[str, Any],
    contents: Contents,
    tables: list[str],
    scripts: list[str],
    *,
    has_report: bool,
    has_lines: bool,
) -> Iterator[str]:
    for table in tables:
        purpose = _PURPOSES.get(table.partition(".")[0], "see the codebook")
        yield f"- `data/{table}`: {purpose}"
    yield f"- `{CODEBOOK}`, `{CODEBOOK_PAGE}`: what each column of these files means"
    if contents.has_data and scripts:
        names = ", ".join(f"`{name}`" for name in scripts)
        yield f"- {names}: every verdict of the report, computed again; see below"
    if has_report:
        yield f"- `{REPORT}`: every figure of the report above, of the answers in this bundle"
    yield (
        f"- `{ANALYSIS_PLAN}`: what the researchers decided about the analysis, and how many "
        "answers were in when each part was last changed"
    )
    if has_lines:
        yield (
            f"- `{PLAN_LINES}`: the line of each version of the plan, to compare with what was "
            "published before the first answer"
        )
    yield "- `design/plan.csv`: every place of every item, in the order in which they are dealt"
    yield f"- `{STUDY}`: protocol, settings, texts, seed, counts, and the software's version"
    for version in study["versions"]:
        number = version["number"]
        yield (
            f"- `versions/{number}/`: instructions, scales, start and consent of version {number}, "
            f"as shown; `versions/{number}.json` is the frozen content, and its SHA-256 is that "
            f"of the version"
        )
    if not study["versions"]:
        yield (
            "- `versions/draft/`: instructions, scales, start and consent as participants would "
            "see them now; nothing is frozen before the launch. `content.json` holds all of it"
        )
    yield "- `records/`: the rows that make the same study again, one JSON object a line"
    yield f"- `{DATAPACKAGE}`: the tables as a Frictionless data package"
    yield f"- `{CHECKSUMS}`: the SHA-256 of every other file"


def _describe_reading() -> Iterator[str]:
    yield "## Reading the data"
    yield (
        "UTF-8, commas, lines that end in CR LF, quotes only where needed. Read every cell as "
        "text, then give columns their types; otherwise ids such as `01` and `NA` change:"
    )
    yield f"```python\n{PANDAS}\n```"
    yield (
        "Only rows of `kind` main and `status` counted belong in results; `excluded` says what "
        "the researchers left out. Pilot answers are not in this bundle."
    )


def _describe_scripts() -> Iterator[str]:
    yield "## Running the scripts"
    yield (
        "In the folder into which the bundle was unpacked:\n"
        "```\nRscript analysis.R\npython analysis.py\n```"
    )
    yield (
        "Each reproduces every verdict of the report, with its estimates, intervals, p values and "
        "agreement, from `data/ratings.csv` and "
        f"`{ANALYSIS_PLAN}`. `analysis.R` writes its tables into `tables-r/` and fits by lme4 and "
        "pbkrtest. `analysis.py` writes into `tables-python/` and needs numpy, scipy and pandas; "
        "above 2,000 ratings of a criterion it reads the fit of `analysis.R`, so run that first."
    )
    yield describe_methods()
    yield (
        f"`{ANALYSIS_PLAN}` names the primary criterion, hypotheses, margins, and "
        "whether each pair has its own error. `notes.txt` beside the tables lists the model of "
        "each criterion, the number of comparisons, and pairs without a row, which the report "
        "compares in another way."
    )


_REPLACED = " Names of people, institutions and sites were replaced in texts of the researchers."
_EXTRA = (
    "The other columns of your uploaded files are in `items.csv`, column `extra` (and in "
    "`records/`). Check it before you share it."
)


def _describe_people(contents: Contents, free_text: Sequence[str]) -> str:
    if not contents.has_data:
        return "Nothing in this bundle is about participants."
    sentences = (
        "Participants appear under random pseudonyms. Platform ids, links, completion codes and "
        "receipts are not in this bundle, nor are the names of people who decided on exclusions."
    ) + (_REPLACED if contents.is_anonymous else "")
    sentences += "" if contents.has_entry_answers else " Answers to entry questions were left out."
    if contents.has_free_text:
        places = list_of([*(f"`{name}`" for name in free_text), "`records/`"])
        masked = " E-mail addresses and long numbers are replaced." if contents.is_masked else ""
        return (
            f"{sentences} **It holds what participants wrote in their own words**, in {places}."
            f"{masked} Read it before you share it: people may name themselves."
        )
    return f"{sentences} What they wrote in their own words was left out."


_CHECKING = """\
With Evalsite installed, this checks every checksum, loads the study into an empty database, checks
its rules, draws the places from the seed again, compares the loaded ratings with `ratings.csv`, and
computes every figure of the report again (run it, like all commands here, in the folder of
Evalsite):

```
.venv/bin/python manage.py verify_bundle FILE.zip
```"""
_RERUN = (
    "With `--rerun` it also runs Evalsite's own `analysis.R` and `analysis.py` on these ratings, "
    "and compares every cell of their tables with the report."
)
_IMPORTING = "```\n.venv/bin/python manage.py import_bundle FILE.zip --owner NAME\n```"
_DRAFT = (
    "a draft without data, with the same items, texts, settings and seed. Its analysis plan is the "
    "same, as written at the import. Once launched, it has the same plan of places, if all batches "
    "were opened together in the original"
)


def _describe_repeating(study: Mapping[str, Any], contents: Contents) -> Iterator[str]:
    """Return how the bundle is checked, and what becomes of it on another installation."""
    yield _CHECKING
    if not contents.has_data:
        yield f"This makes {_DRAFT}:"
        yield _IMPORTING
    else:
        state = "archived" if study["state"] == "archived" else "closed"
        if study["launched_at"] is None:
            state = "as a draft, since it was never launched"
        yield _RERUN
        yield f"This makes the study again on another installation, {state}, with its data:"
        yield _IMPORTING
        yield f"With `--without-data` it makes {_DRAFT}."
    yield "Without Evalsite, in the unpacked folder:"
    yield "```\nsha256sum --check checksums.txt\n```"

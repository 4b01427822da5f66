"""The public page of a study: static files that need no script and no other host."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.template.loader import render_to_string
from django.utils.text import slugify

import evalsite
from evalsite.data.bundle.data_package import LICENCES, Credits
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.public import BUNDLE, PageOptions, zip_folder
from evalsite.data.bundle.write import write_data
from evalsite.data.files.codebook import list_chapters, write_chapters
from evalsite.data.files.columns import list_downloads_of
from evalsite.data.files.dataset import propose_options
from evalsite.data.files.misread_ids import describe_misread, list_misread
from evalsite.data.files.services import Choice, name_file
from evalsite.decisions.plan_commitment import describe_versions, list_lines
from evalsite.lib.clock import now
from evalsite.lib.words import count_of
from evalsite.results.document.blocks import (
    Block,
    Chart,
    Code,
    Document,
    Heading,
    Sentence,
    drop_isolates,
    isolate,
)
from evalsite.results.document.html import STYLE, render_html
from evalsite.results.documents.dataset_card import Published, write_dataset_folder
from evalsite.results.public.items import list_items
from evalsite.results.report.bundled import make_bundled_document
from evalsite.results.report.computation import analyse_study
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import name_of_file
from evalsite.studies.versions import shown_content

Plain = dict[str, Any]
_INSTRUMENT = "data/instrument.json"
_ITEMS_A_PAGE = 20
_STYLES = (STYLE, Path(__file__).with_name("page.css"))
_DATASET = "dataset"
_DATA = {
    "ratings_simple": "one row for each person and output",
    "comments": "what people wrote",
    "items": "one row for each output with its text",
}


@dataclass(frozen=True, kw_only=True)
class Site:
    """What every page knows."""

    study: Study
    options: PageOptions
    document: Document  # the whole report
    counts: Mapping[str, int]
    first_on: str
    last_on: str
    left_out: int
    sha256: str  # of the bundle
    size: int
    folder: Path

    @property
    def title(self) -> str:
        return isolate(self.options.title or self.study.title)

    @property
    def simulated(self) -> str:
        """Return the sentence on simulated answers, if there are any."""
        sentences = (block for block in self.document.blocks if isinstance(block, Sentence))
        return next((sentence.text for sentence in sentences if sentence.code == "simulated"), "")

    @property
    def authors(self) -> str:
        return ", ".join(isolate(author.name) for author in self.options.authors)

    @property
    def credits(self) -> Credits:
        return replace(
            Credits.of_study(self.study),
            title=drop_isolates(self.title),
            authors=self.options.authors,
            licence=self.options.licence,
        )

    @property
    def licence(self) -> tuple[str, str] | None:
        """Return the short title of the licence, and where it is."""
        known = LICENCES.get(self.options.licence)
        return known and (known[0], known[2])

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")

    def write_page(self, name: str, template: str, current: str, **context: Any) -> None:
        known = {
            "site": self,
            "current": current,
            "made_on": _write_day(now()),
            "version": evalsite.__version__,
            **context,
        }
        self.write(name, render_to_string(f"results/public/{template}.html", known))


def write_pages(study: Study, about: Plain, basis: Plain, wish: Plain, folder: Path) -> None:
    """Write the page of the study that was loaded from a bundle; `about`: its study.json."""
    content, _ = analyse_study(study)
    data = content["kept"]["data"]
    folder.mkdir(parents=True)
    site = Site(
        study=study,
        options=PageOptions.model_validate(wish["options"]),
        document=make_bundled_document(study, content, basis),
        counts={name: data[name] for name in ("participants", "annotations", "groups")}
        | {"systems": len(data["systems"])},
        first_on=_read_day(data["first_at"]),
        last_on=_read_day(data["last_at"]),
        left_out=basis.get("not_sharing", 0),
        sha256=wish["sha256"],
        size=wish["size"],
        folder=folder,
    )
    site.write("style.css", "".join(path.read_text(encoding="utf-8") for path in _STYLES))
    files = [*_write_data(site), *_write_dataset(site, content["kept"])]
    plan = list_lines(study) if not about.get("is_anonymous") else []
    if plan:
        site.write("plan.txt", "".join(f"{line}\n" for line in plan))
    _write_index(site, files, plan)
    site.write_page(
        "report.html",
        "report",
        "report",
        body=render_html(_drop_report_title(site.document.keep("main"))),
        headline=_find_headline(site.document),
    )
    further = render_html(site.document.keep("further"))
    site.write_page("further.html", "further", "report", body=further)
    if site.options.has_outputs:
        criteria = content["kept"]["criteria"]
        _write_items(site, criteria[0]["key"] if criteria else "")
    site.write("CITATION.cff", _write_citation(site))
    site.write("robots.txt", _write_robots(site))


def _write_day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _read_day(at: str | None) -> str:
    return _write_day(datetime.fromisoformat(at)) if at else ""


def _find_headline(document: Document) -> str:
    return next(block.text for block in document.blocks if isinstance(block, Heading))


def _drop_report_title(document: Document) -> Document:
    """Return the report without its headline, which the page has above."""
    first = next(block for block in document.blocks if isinstance(block, Heading))
    return Document("", [block for block in document.blocks if block is not first])


# --- the first page -----------------------------------------------------------------------------


def _write_index(site: Site, files: list[tuple[str, str]], plan: list[str]) -> None:
    blocks = site.document.keep("main").blocks
    headlines = [
        block for block in blocks if isinstance(block, Sentence) and block.kind == "headline"
    ]
    table = site.document.find_table("paper")
    study = site.document.find_table("study")
    chart = next((block for block in blocks if isinstance(block, Chart)), None)
    findings = [
        replace(block, link=f"report.html#{block.link}")
        for block in blocks
        if isinstance(block, Sentence) and block.link
    ]
    limits = [block for block in blocks if isinstance(block, Sentence) and block.kind == "warning"]
    results: list[Block] = [*findings, *([table] if table else []), *([chart] if chart else [])]
    # a version without hypotheses is no plan to rely on
    has_plan = bool(plan) and "no_plan" not in site.document.codes
    versions = describe_versions(site.study) if has_plan else []
    site.write_page(
        "index.html",
        "index",
        "index",
        headline=_find_headline(site.document),
        answers=render_html(Document("", headlines)),
        results=render_html(Document("", [*results, *limits])),
        study_rows=[tuple(_write_words(entry) for entry in row) for row in study.rows]
        if study
        else [],
        plan=versions[-1] if versions else None,
        files=files,
        instrument=_INSTRUMENT,
        bundle=BUNDLE if site.options.has_outputs else "",
        commands=render_html(Document("", [Code("sh", "\n".join(_list_commands(versions)))])),
        bibtex=render_html(Document("", [Code("BibTeX", _write_bibtex(site))])),
    )


def _write_words(entry: Any) -> str:
    return entry if isinstance(entry, str) else str(entry.text)


def _list_commands(versions: list[Plain]) -> Iterator[str]:
    plan = f" --plan-hash {versions[-1]['sha256'][:12]}" if versions else ""
    yield f"evalsite verify {BUNDLE}{plan}"
    yield f"evalsite repeat {BUNDLE}        # the same study with your own people"


# --- data ---------------------------------------------------------------------------------------


def _write_data(site: Site) -> list[tuple[str, str]]:
    """Write the tables; return the path of each with its size in words."""
    contents = Contents(
        has_free_text=site.options.has_comments, has_entry_answers=False, is_public=True
    )
    known, files = list_downloads_of(site.study), []
    names = [
        name
        for name in _DATA
        if name in known
        and (name != "items" or site.options.has_outputs)
        and (name != "comments" or site.options.has_comments)
    ]
    (site.folder / "data").mkdir()
    for name in names:
        path = f"data/{name_file(site.study, Choice(file=name))}"
        with (site.folder / path).open("w+b") as file:
            write_data(site.study, name, contents, file)
            size = file.seek(0, 2)
        files.append((path, f"{_DATA[name]}, {_write_size(size)}"))
    chapters = list_chapters(
        site.study.config,
        {name: known[name] for name in names},
        misread=describe_misread(list_misread(site.study)),
    )
    codebook = f"data/{name_of_file(site.study, 'codebook.csv')}"
    site.write(codebook, write_chapters(chapters))
    files.append((codebook, "what each column means"))
    instrument = shown_content(site.study)["instrument"]
    site.write(_INSTRUMENT, json.dumps(instrument, indent=2, ensure_ascii=False))
    return [*files, (_INSTRUMENT, "what people were asked")]


def _write_dataset(site: Site, kept: Plain) -> list[tuple[str, str]]:
    """Write the dataset as a zip, where outputs may be published: its tables hold them."""
    if not site.options.has_outputs:
        return []
    options = propose_options(site.study)
    options.has_comments = site.options.has_comments
    name = name_of_file(site.study, _DATASET)
    with TemporaryDirectory(dir=site.folder.parent) as path:
        folder = Path(path) / name
        folder.mkdir()
        published = Published(site.credits, kept, site.left_out)
        made = write_dataset_folder(site.study, options, folder, published)
        with (site.folder / f"data/{name}.zip").open("w+b") as target:
            zip_folder(folder, target)
            size = target.seek(0, 2)
    tables = count_of(len(made.rows), "table")
    return [(f"data/{name}.zip", f"{tables} with texts, for training too, {_write_size(size)}")]


def _write_size(size: int) -> str:
    return f"{max(1, round(size / 1000)):,} kB"


# --- items --------------------------------------------------------------------------------------


def _write_items(site: Site, primary: str) -> None:
    items = list_items(site.study, primary=primary, has_comments=site.options.has_comments)
    parts = [items[start : start + _ITEMS_A_PAGE] for start in range(0, len(items), _ITEMS_A_PAGE)]
    for number, part in enumerate(parts or [[]], start=1):
        site.write_page(
            _name_page(number),
            "read",
            "read",
            items=part,
            count=count_of(len(items), "item"),
            earlier=_name_page(number - 1) if number > 1 else "",
            later=_name_page(number + 1) if number < len(parts) else "",
            texts={"language": site.study.language},
        )


def _name_page(number: int) -> str:
    return "read.html" if number == 1 else f"read-{number}.html"


# --- citation -----------------------------------------------------------------------------------


def _describe(site: Site) -> str:
    systems = count_of(site.counts["systems"], "system")
    people = count_of(site.counts["participants"], "person", "people")
    return f"{drop_isolates(site.title)}: ratings of {systems} by {people}"


# BibTeX reads Unicode; these are LaTeX
_BIBTEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _split_name(name: str) -> tuple[str, str]:
    first, _, family = name.rpartition(" ")
    return first, family


def _escape(text: str) -> str:
    return text.translate(_BIBTEX)


def _write_bibtex(site: Site) -> str:
    names = [drop_isolates(isolate(author.name)) for author in site.options.authors]
    authors = " and ".join(
        f"{_escape(family)}, {_escape(first)}" if first else f"{{{_escape(family)}}}"
        for first, family in map(_split_name, names)
    )
    first = slugify(_split_name(names[0])[1]).replace("-", "") if names else ""
    word = next(iter(slugify(drop_isolates(site.title)).split("-")), "")
    year = now().year
    lines = [
        f"@misc{{{first or 'study'}{year}{word},",
        *([f"  author = {{{authors}}},"] if authors else []),
        f"  title  = {{{_escape(_describe(site))}}},",
        f"  year   = {{{year}}},",
        f"  note   = {{Evalsite study, bundle SHA-256 {site.sha256[:12]}}},",
        "}",
    ]
    return "\n".join(lines)


def _write_citation(site: Site) -> str:
    """Return CITATION.cff: YAML whose texts are written as JSON, which YAML reads unchanged."""
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these ratings, please cite the study.",
        "type: dataset",
        f"title: {_quote(_describe(site))}",
        "authors:",
    ]
    for author in site.options.authors:
        first, family = _split_name(drop_isolates(isolate(author.name)))
        if first:
            lines += [f"  - family-names: {_quote(family)}", f"    given-names: {_quote(first)}"]
        else:
            lines += [f"  - name: {_quote(family)}"]
        if author.orcid:
            lines.append(f"    orcid: {_quote(f'https://orcid.org/{author.orcid}')}")
    if not site.options.authors:
        organisation = drop_isolates(isolate(site.study.organisation))
        lines.append(f"  - name: {_quote(organisation or 'unknown')}")
    lines += [f"date-released: {now():%Y-%m-%d}", 'version: "1"']
    if site.options.licence:
        lines.append(f"license: {site.options.licence}")
    lines += [
        "identifiers:",
        "  - type: other",
        f'    value: "sha256:{site.sha256}"',
        f"    description: {BUNDLE}",
    ]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write_robots(site: Site) -> str:
    rule = "Allow" if site.options.is_indexed else "Disallow"
    return (
        "# Read only at the root of a host. Every page also carries its own robots meta tag.\n"
        f"User-agent: *\n{rule}: /\n"
    )

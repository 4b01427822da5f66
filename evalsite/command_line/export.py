"""evalsite export: a study with everything that belongs to it, as one .zip."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from evalsite.command_line.output import Result
from evalsite.command_line.site import use_site


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("study", metavar="STUDY", help="its id, the beginning of its id, or its title")
    add("-o", "--out", type=Path, metavar="FILE", help="the new file; default: one in this folder, "
        "named after the study")  # fmt: skip
    add("--without-data", action="store_true", help="only items, texts and design; no answers")
    add("--with-free-text", action="store_true", help="include what participants wrote in their "
        "own words: read it before you share it")  # fmt: skip
    add("--public", action="store_true", help="to publish: only people who agreed that their "
        "answers may be shared, without entry answers")  # fmt: skip
    add("--anonymous", action="store_true", help="for peer review: replace names of people, "
        "institutions and sites in the texts")  # fmt: skip
    add("--replace", action="append", default=[], metavar="NAME=WORDS", help="with --anonymous: "
        "replace this name too, or by other words")  # fmt: skip
    add("--data", type=Path, metavar="DIR", help="the folder of the site")


def run(options: Namespace) -> Result:
    use_site(options.data)
    from evalsite.exports.management.commands.export_bundle import describe_export, export_study
    from evalsite.studies.study_lookup import find_study

    path, packed, lines = export_study(find_study(options.study), options.out, vars(options))
    facts = {"file": str(path), "sha256": packed.sha256, "bytes": packed.size,
             "ratings": packed.ratings}  # fmt: skip
    return Result(text="\n".join([describe_export(path, packed), *lines]), facts=facts)

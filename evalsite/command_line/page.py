"""evalsite page: the public page of a study, from its bundle."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from evalsite.command_line.output import NO, Refused, Result
from evalsite.command_line.site import without_site

_LICENCES = ("CC-BY-4.0", "CC-BY-SA-4.0", "CC0-1.0", "none")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", type=Path, help="a bundle of a study (.zip)")
    parser.add_argument(
        "--out", metavar="DIR", type=_read_folder, required=True,
        help="the folder to write, which must be new or empty",
    )  # fmt: skip
    parser.add_argument("--title", default="", help="the title of the page, if not the study's")
    parser.add_argument(
        "--author", action="append", default=[], metavar="NAME",
        help="an author, with an ORCID after the name if there is one; once for each",
    )  # fmt: skip
    parser.add_argument(
        "--licence", choices=_LICENCES, default=_LICENCES[0],
        help="the licence of the ratings (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--outputs", action="store_true",
        help="publish the outputs: pages to read them, items.csv and the bundle",
    )  # fmt: skip
    parser.add_argument("--comments", action="store_true", help="publish what people wrote")
    parser.add_argument(
        "--no-index", action="store_true", help="ask search engines to leave the page out"
    )


def _read_folder(text: str) -> Path:
    folder = Path(text)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentTypeError(f"{text} isn't an empty folder: name a new one")
    return folder


def run(options: Namespace) -> Result:
    with without_site():
        from django.core.exceptions import ValidationError

        from evalsite.data.bundle.data_package import read_author
        from evalsite.data.bundle.public import PageOptions, write_public_page
        from evalsite.data.bundle.read import BadBundle

        try:
            authors = [read_author(line) for line in options.author]
        except ValueError as error:
            raise Refused(str(error)) from None
        wish = PageOptions(
            authors=authors,
            title=options.title,
            licence="" if options.licence == "none" else options.licence,
            has_outputs=options.outputs,
            has_comments=options.comments,
            is_indexed=not options.no_index,
        )
        try:
            with options.bundle.open("rb") as source:
                write_public_page(source, wish, options.out)
        except (BadBundle, ValidationError) as error:
            reason = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
            return Result(NO, f"No page was made. {reason}", {"error": reason})
    pages = sorted(str(path.relative_to(options.out)) for path in options.out.rglob("*.*"))
    text = f"{options.out / 'index.html'}: open it in a browser, or put the folder on a web host."
    return Result(text=text, facts={"files": pages})

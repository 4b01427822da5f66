"""Write a study as one .zip that anyone can read and repeat, from the command line."""

import shutil
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.core.audit.models import AuditEntry
from evalsite.data.bundle.anonymous import write_anonymous
from evalsite.data.bundle.format import REPORT_SOURCES, Contents
from evalsite.data.bundle.job import name_bundle
from evalsite.data.bundle.neutral_words import find_words
from evalsite.data.bundle.write import Packed, write_bundle
from evalsite.data.files.dataset import Dataset, DatasetOptions, check_options, propose_options
from evalsite.data.files.services import Written, record_export
from evalsite.data.files.ways_back import WAYS
from evalsite.data.files.ways_back.scores import write_scores
from evalsite.decisions.frozen_plans import note_reveal
from evalsite.studies.models import Study
from evalsite.studies.study_lookup import add_study_argument, find_study
from evalsite.studies.summary_lines import name_of_file


class Command(BaseCommand):
    help = (
        "Write a study with its data, codebook, instructions as shown, design and seed as a .zip."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FILE",
            help="the new file; default: one in this folder, named after the study",
        )
        parser.add_argument(
            "--without-data", action="store_true", help="only items, texts and design; no answers"
        )
        parser.add_argument(
            "--with-free-text",
            action="store_true",
            help="include what participants wrote in their own words: read it before you share it",
        )
        parser.add_argument(
            "--public",
            action="store_true",
            help="to publish: only people who agreed that their answers may be shared, without "
            "entry answers",
        )
        parser.add_argument(
            "--anonymous",
            action="store_true",
            help="for peer review: replace names of people, institutions and sites in the texts",
        )
        parser.add_argument(
            "--replace",
            action="append",
            default=[],
            metavar="NAME=WORDS",
            help="with --anonymous: replace this name too, or by other words; may be repeated",
        )

    def handle(self, *, study: str, output: Path | None, **options: Any) -> None:
        path, packed, lines = export_study(find_study(study), output, options)
        self.stdout.write(describe_export(path, packed))
        for line in lines:
            self.stdout.write(line)


def export_study(
    study: Study, output: Path | None, options: dict[str, Any]
) -> tuple[Path, Packed, list[str]]:
    """Write the bundle that the options ask for into a new file; CommandError if that fails.

    Return the file, what it holds, and which names were replaced or are left.
    """
    contents = choose_contents(study, options)
    words = read_words(study, options["replace"]) if contents.is_anonymous else {}
    left: dict[str, Any] = {}
    output = output or Path(name_bundle(study, contents))
    try:
        with _open_new(output) as file:
            if contents.has_data:
                note_reveal(study, "the command line", "the command export_bundle")
            if contents.is_anonymous:
                made = write_anonymous(study.pk, contents, words, file)
                packed, left = made.packed, made.left
            else:
                packed = write_bundle(study.pk, contents, file)
    except FileExistsError:
        raise CommandError(f"{output} exists already. Name a new file with -o.") from None
    except OSError as error:
        raise CommandError(f"{output} can't be written: {error.strerror}.") from None
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    AuditEntry.objects.record(
        "data exported",
        by="the command line",
        study_id=study.pk,
        file=output.name,
        rows=packed.ratings,
        sha256=packed.sha256,
        with_data=contents.has_data,
        with_free_text=contents.has_free_text,
        is_public=contents.is_public,
    )
    lines = [f"Replaced: {term} = {word}" for term, word in words.items()]
    lines += [f"“{term}” is still in {', '.join(files)}." for term, files in left.items()]
    return output, packed, lines


def export_dataset(study: Study, folder: Path, chosen: dict[str, Any]) -> Dataset:
    """Write a dataset into a new folder; CommandError if that fails.

    `chosen`: options in place of those that are proposed.
    """
    options = DatasetOptions(**(propose_options(study).model_dump() | chosen))
    try:
        check_options(study, options)
        folder.mkdir(parents=True)
        note_reveal(study, "the command line", "the command export --dataset")
        try:
            for source in REPORT_SOURCES:
                made = source.write_dataset(study, options, folder)
        except BaseException:
            shutil.rmtree(folder)
            raise
    except FileExistsError:
        raise CommandError(f"{folder} exists already. Name a new folder.") from None
    except OSError as error:
        raise CommandError(f"{folder} can't be written: {error.strerror}.") from None
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    AuditEntry.objects.record(
        "data exported",
        by="the command line",
        study_id=study.pk,
        file=folder.name,
        rows=sum(made.rows.values()),
        is_public=True,
    )
    return cast(Dataset, made)


def export_scores(
    study: Study, file: str, path: Path | None, pass_from: float
) -> tuple[Path, Written]:
    """Write the scores that go back to a tool into a new file; CommandError if that fails."""
    way = WAYS.get(file)
    if way is None:
        raise CommandError(f"There are no scores called “{file}”. These are: {', '.join(WAYS)}.")
    path = path or Path(name_of_file(study, f"{way.file}.{way.ending}"))
    try:
        with _open_new(path) as target:
            note_reveal(study, "the command line", "the command export --scores")
            written = write_scores(study, way, target, pass_from=pass_from)
    except FileExistsError:
        raise CommandError(f"{path} exists already. Name a new file with -o.") from None
    except OSError as error:
        raise CommandError(f"{path} can't be written: {error.strerror}.") from None
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    record_export(study, {"file": path.name}, written, is_whole=True, by="the command line")
    return path, written


@contextmanager
def _open_new(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file, which is whole in the end or gone: half a bundle is none."""
    with path.open("xb+") as file:
        try:
            yield file
            file.flush()
        except BaseException:
            path.unlink()
            raise


def describe_export(path: Path, packed: Packed) -> str:
    return (
        f"{path}: {packed.files:,} files, {packed.ratings:,} ratings, {packed.size:,} bytes.\n"
        f"SHA-256 {packed.sha256}"
    )


def choose_contents(study: Study, options: dict[str, Any]) -> Contents:
    """Return what the options ask for; reviewers get no answers that people don't share."""
    if options["public"] and not study.asks_to_share:
        raise CommandError(
            "This study doesn't ask whether answers may be shared. Leave --public out: the "
            "bundle has everyone's answers."
        )
    is_public = options["public"] or (options["anonymous"] and study.asks_to_share)
    return Contents(
        has_data=not options["without_data"],
        has_free_text=options["with_free_text"] and not options["anonymous"],
        has_entry_answers=not is_public,
        is_public=is_public,
        is_anonymous=options["anonymous"],
    )


def read_words(study: Study, replace: list[str]) -> dict[str, str]:
    """Return the words found in the study with those that were given."""
    words = {}
    for pair in replace:
        term, sign, word = (part.strip() for part in pair.rpartition("="))
        if not (term and sign and word):
            raise CommandError(f"--replace takes NAME=WORDS, not “{pair}”.")
        words[term] = word
    return find_words(study) | words

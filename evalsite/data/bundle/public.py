"""The public page of a study: a folder for a web host, made from a bundle that was verified."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal

from django.conf import settings
from django.core.exceptions import ValidationError
from pydantic import BaseModel, ConfigDict

from evalsite.data.bundle.copy import TEAM
from evalsite.data.bundle.data_package import Author
from evalsite.data.bundle.format import LEFT_OUT_COUNTS, REPORT, STUDY
from evalsite.data.bundle.read import BadBundle, Bundle, Fault, open_bundle, read_about
from evalsite.data.bundle.verify import run_child
from evalsite.data.bundle.write import WISH, Folder, copy_in_child, pack_folder
from evalsite.lib.limited import VALUES_IN_FILE, read_json
from evalsite.studies.models import Study

Plain = dict[str, Any]
BUNDLE, PUBLIC = "bundle.zip", "public"


class PageOptions(BaseModel):
    """What the author of the page decides."""

    model_config = ConfigDict(extra="forbid")

    authors: list[Author] = []
    title: str = ""
    licence: Literal["CC-BY-4.0", "CC0-1.0", "CC-BY-SA-4.0", ""] = "CC-BY-4.0"
    has_outputs: bool = False
    has_comments: bool = False
    is_indexed: bool = True


def write_public_page(source: IO[bytes], options: PageOptions, folder: Path) -> None:
    """Write the page of the study in a bundle into a new folder.

    BadBundle, or a ValidationError, if the bundle isn't sound or isn't of a closed study with a
    report.
    """
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-public-") as path,
        _open_shared(source, Path(path), options) as bundle,
    ):
        size = bundle.seek(0, SEEK_END)
        bundle.seek(0)
        digest = file_digest(bundle, "sha256").hexdigest()  # type: ignore[arg-type]
        bundle.seek(0)
        wish = {"options": options.model_dump(), "sha256": digest, "size": size}
        (Path(path) / WISH).write_text(json.dumps(wish), encoding="utf-8")
        failure = run_child(bundle, Path(path), size=size, task="page")
        if failure is None:
            faults = read_json(
                (Path(path) / "findings.json").read_bytes(), most_values=VALUES_IN_FILE
            )["faults"]
            failure = " ".join(str(Fault(*fault)) for fault in faults[:3])
        if failure:
            raise ValidationError(failure, code="bundle_unsound")
        made = Path(path) / PUBLIC
        if options.has_outputs:
            bundle.seek(0)
            with (made / BUNDLE).open("wb") as target:
                shutil.copyfileobj(bundle, target)
        shutil.copytree(made, folder, dirs_exist_ok=True)
        # whatever the umask is: a web server reads it
        for made_path in (folder, *folder.rglob("*")):
            made_path.chmod(0o755 if made_path.is_dir() else 0o644)


def check_publishable(bundle: Bundle) -> Plain:
    """Return what is said of the study, or refuse a bundle that no page can be made of."""
    about = read_about(bundle)
    if not about["has_data"] or about["study"]["state"] not in (
        Study.State.CLOSED, Study.State.ARCHIVED,
    ):  # fmt: skip
        message = (
            "Only a closed study has a public page. Close the study, and make a bundle with its "
            "data."
        )
        raise BadBundle("not_closed", message, STUDY)
    if REPORT not in bundle.names:
        message = "The bundle has no report. Open the study’s results, and make the bundle again."
        raise BadBundle("no_report", message, REPORT)
    return about


@contextmanager
def _open_shared(source: IO[bytes], folder: Path, options: PageOptions) -> Iterator[IO[bytes]]:
    """Open the bundle without those who don't share, entry answers, and comments to be kept.

    E-mail addresses and long numbers are replaced in the comments that stay.
    """
    source.seek(0)
    with open_bundle(source) as bundle:
        about = check_publishable(bundle)
        basis = bundle.read_json(REPORT)["basis"]
    is_shared = LEFT_OUT_COUNTS in about or not about["study"].get("asks_to_share")
    has_entry_answers = about.get("has_entry_answers", True)
    has_comments = about["has_free_text"] and options.has_comments
    is_fit = has_comments == about["has_free_text"] == about.get("is_masked", False)
    if is_shared and not has_entry_answers and is_fit:
        yield source
        return
    contents = {"is_public": True, "has_entry_answers": False, "has_free_text": has_comments}
    copy = _copy(source, folder / "shared", {"contents": contents, "basis": basis})
    team = folder / "shared" / TEAM
    if team.exists():
        # people were left out: the report is of those who are in the copy
        with copy.open("rb") as file, open_bundle(file) as bundle:
            left_out = read_about(bundle)[LEFT_OUT_COUNTS]["participants"]
        wish = {
            "basis": basis | {"not_sharing": left_out},
            "team": read_json(team.read_bytes(), most_values=VALUES_IN_FILE),
        }
        with copy.open("rb") as file:
            copy = _copy(file, folder / "computed", wish)
    with copy.open("rb") as file:
        yield file


def _copy(source: IO[bytes], folder: Path, wish: Plain) -> Path:
    folder.mkdir()
    path = folder / "copied.zip"
    with path.open("wb") as target:
        copy_in_child(source, folder, wish, target)
    return path


def zip_folder(folder: Path, target: IO[bytes]) -> None:
    """Pack the folder with all its files, under one date."""
    packed = Folder(folder.parent)
    files = (path for path in folder.rglob("*") if path.is_file())
    for path in files:
        packed.files[str(path.relative_to(folder.parent))] = (path.stat().st_size, "")
    pack_folder(packed, target)

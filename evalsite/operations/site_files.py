"""The files of a site: which belong to it, which its rows need, and how they are kept together."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ValidationError

# folders of DATA_DIR that belong to the site; static files are made again by collectstatic
FOLDERS = ("bundles", "exports", "reports", "uploads")
_UNFINISHED = ".part"


def list_files(base: Path) -> dict[str, Path]:
    """Return name -> path of every finished file, and every folder, of a site's data folder."""
    return {
        path.relative_to(base).as_posix(): path
        for folder in FOLDERS
        for path in sorted((base / folder).rglob("*"))
        if not path.is_symlink() and path.suffix != _UNFINISHED
    }


def hold_files(target: Path) -> None:
    """Link the site's files into another folder, where they stay when the site deletes them.

    Files are written once and then only deleted, so a link keeps what a copy would.
    """
    for name, path in list_files(settings.DATA_DIR).items():
        link = target / name
        if path.is_dir():
            link.mkdir(parents=True, exist_ok=True)
        elif not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            _link(path, link)


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except FileNotFoundError:
        pass  # deleted since it was listed
    except OSError:
        shutil.copy2(path, target)  # a file system without links


def list_required_files() -> Iterator[str]:
    """List the files and folders that rows need, by their names in the data folder.

    A model whose rows have files lists them in a class method `required_files`.
    """
    for model in apps.get_models():
        for path in getattr(model, "required_files", list)():
            yield path.relative_to(settings.DATA_DIR).as_posix()


def refuse_other_files() -> None:
    """Raise ValidationError if the data folder holds files of a site already."""
    names = [name for name, path in list_files(settings.DATA_DIR).items() if path.is_file()]
    if names:
        raise ValidationError(
            f"The data folder {settings.DATA_DIR} already holds files of a site, such as "
            f"{names[0]}. Move them away, or set EVALSITE_DATA_DIR to another folder.",
            code="not_empty",
        )


def place_files(source: Path, folders: list[str], placed: list[Path]) -> None:
    """Move unpacked files to where the site looks for them, and add where they are to `placed`."""
    for name in folders:
        (settings.DATA_DIR / name).mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        if path.is_file():
            target = settings.DATA_DIR / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            placed.append(target)

"""Which site a command works on: that of the environment, that of a data folder, or none."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import django
from django.conf import settings

from evalsite.command_line.output import Refused
from evalsite.lib.database_state import refuse_other_database
from evalsite.lib.folders import default_data_folder

HOST = "127.0.0.1"
PORT = 8000
# names of files in a data folder
SECRET = "secret"  # noqa: S105
_PORT_FILE = "port"
# a command that finds one of these set works on the site that they describe
_SITE_VARIABLES = (
    "EVALSITE_SECRET_KEY",
    "EVALSITE_SECRET_KEY_FILE",
    "EVALSITE_URL",
    "EVALSITE_DEBUG",
    "EVALSITE_DATABASE",
    "EVALSITE_DATABASE_FILE",
)


def find_data_folder(chosen: Path | None = None) -> Path:
    """Return the folder that was chosen by an option or the environment, or the usual one."""
    folder = chosen or os.environ.get("EVALSITE_DATA_DIR", "").strip() or default_data_folder()
    return Path(folder).expanduser().absolute()


def say_data_folder() -> None:
    """Tell where the data is, unless a folder was chosen."""
    if not os.environ.get("EVALSITE_DATA_DIR"):
        sys.stderr.write(f"Data folder: {find_data_folder()}\n")


def find_site_variable() -> str:
    """Return the first variable that says which site to work on; "" if there is none."""
    return next((name for name in _SITE_VARIABLES if name in os.environ), "")


def make_site(folder: Path, port: int = PORT) -> None:
    """Make the data folder and its secret if they are missing, and use this site."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = folder / SECRET
    if not secret.exists():
        # whole or not at all: an empty secret would stop every later start
        unfinished = folder / f"{SECRET}.new"
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600, exist_ok=False)
        unfinished.write_text(secrets.token_urlsafe(50), encoding="ascii")
        unfinished.replace(secret)
    use_folder(folder, port)


def use_site(chosen: Path | None = None) -> Path:
    """Set Django up for the site of the environment, or for the one in a data folder."""
    folder = find_data_folder(chosen)
    if not settings.configured:
        if chosen is not None and (name := find_site_variable()):
            raise Refused(f"{name} names a site, and --data another one. Leave one of them out.")
        if not find_site_variable():
            if not os.access(folder / SECRET, os.R_OK):
                raise Refused(
                    f"There is no site in {folder}. Start one with evalsite serve, or name its "
                    "folder with --data."
                )
            use_folder(folder)
        django.setup()
    refuse_other_database()
    return folder


def keep_port(folder: Path, port: int) -> None:
    """Remember the port on which the site in this folder is served, for addresses to it."""
    (folder / _PORT_FILE).write_text(f"{port}\n", encoding="ascii")


def _read_port(folder: Path) -> int:
    try:
        return int((folder / _PORT_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return PORT


def use_folder(folder: Path, port: int | None = None) -> None:
    """Let the settings be those of the site in this folder, as far as no variable is set."""
    os.environ["EVALSITE_DATA_DIR"] = str(folder)
    if not os.environ.get("EVALSITE_SECRET_KEY"):
        os.environ.setdefault("EVALSITE_SECRET_KEY_FILE", str(folder / SECRET))
    os.environ.setdefault("EVALSITE_URL", f"http://{HOST}:{port or _read_port(folder)}")


def use_further_host(name: str) -> None:
    """Let the site answer under this name too, as a tunnel passes it on."""
    os.environ["EVALSITE_HOSTS"] = name


def forget_settings() -> None:
    """Leave out what the environment says about a site: this command doesn't work on that one."""
    for name in [name for name in os.environ if name.startswith("EVALSITE_")]:
        del os.environ[name]


@contextmanager
def without_site() -> Iterator[None]:
    """Set Django up for a command that needs no site: a key and a folder that don't last."""
    if settings.configured:
        yield
        return
    folder = mkdtemp(prefix="evalsite-")
    forget_settings()
    os.environ |= {
        "EVALSITE_DATA_DIR": folder,
        "EVALSITE_SECRET_KEY": secrets.token_urlsafe(50),
        "EVALSITE_URL": f"http://{HOST}",
    }
    try:
        django.setup()
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)

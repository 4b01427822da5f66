"""Settings from the environment: parsed, and refused if malformed."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class BadSetting(ValueError):
    """An environment variable holds something that cannot be used."""


def read_text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def read_flag(name: str, default: bool) -> bool:
    """True for on, false for off; anything else is refused."""
    value = read_text(name).lower()
    if not value:
        return default
    if value in ("on", "off"):
        return value == "on"
    raise BadSetting(f"{name} must be on or off, not {value!r}.")


def read_whole(name: str, default: int) -> int:
    """Return a whole number, 0 or more."""
    value = read_text(name)
    if not value:
        return default
    if not (value.isascii() and value.isdigit()):
        raise BadSetting(f"{name} must be a whole number, not {value!r}.")
    return int(value)


def read_list(name: str) -> list[str]:
    return [part.strip() for part in read_text(name).split(",") if part.strip()]


def read_secret(name: str) -> str:
    """Return the value of NAME, or what the file holds that NAME_FILE points at."""
    if value := read_text(name):
        return value
    if path := read_text(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise BadSetting(f"{name}_FILE cannot be read: {error}.") from error
    return ""


def read_hosts(name: str) -> list[str]:
    """Return the host names of the site; refuse patterns that match names of other people."""
    hosts = read_list(name)
    for host in hosts:
        labels = host.removeprefix(".").split(".")
        if "*" in host or not all(labels) or (host.startswith(".") and len(labels) < 2):
            raise BadSetting(
                f"{name} can't contain {host!r}: use a full name, such as "
                "evalsite.example.org, or .example.org for all names below that."
            )
    return hosts


LEAST_KEY_LENGTH, LEAST_KEY_CHARACTERS = 50, 5
# this site's key for debugging, and what Django writes into a new project: everybody knows them
FOR_DEBUGGING = "only-for-debugging-"
_KNOWN_KEYS = (FOR_DEBUGGING, "django-insecure-")


def read_key(name: str) -> str:
    """Return a secret key that can't be guessed; empty where none is set."""
    key = read_secret(name)
    if key:
        _check_key(name, key)
    return key


def read_keys(name: str) -> list[str]:
    """Secret keys, separated by spaces or line breaks."""
    keys = read_secret(name).split()
    for key in keys:
        _check_key(name, key)
    return keys


def _check_key(name: str, key: str) -> None:
    is_short = len(key) < LEAST_KEY_LENGTH or len(set(key)) < LEAST_KEY_CHARACTERS
    if is_short or key.startswith(_KNOWN_KEYS):
        raise BadSetting(
            f"{name} holds a key that can be guessed. A key needs at least {LEAST_KEY_LENGTH} "
            f"characters, {LEAST_KEY_CHARACTERS} of them different. Make one with: "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))"'
        )


SQLITE_OPTIONS = {
    "timeout": 20,
    # Without IMMEDIATE a transaction that reads and then writes is refused at once
    # under load; FULL is what survives a power cut.
    "transaction_mode": "IMMEDIATE",
    "init_command": ("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON"),
}


# Whatever the server's own defaults are: without synchronous_commit, answers that had been
# acknowledged were lost, and compiling a query of one study costs more than running it.
POSTGRESQL_OPTIONS = {"options": "-c synchronous_commit=on -c jit=off"}


def read_database(name: str, default: str) -> dict[str, Any]:
    """Django's DATABASES entry for sqlite:///path or postgresql://user:password@host:port/name.

    A host may be a folder with a socket: postgresql://user@/name?host=/run/postgresql.
    """
    url = read_text(name, default)
    parts = urlsplit(url)
    if parts.scheme == "sqlite" and parts.path[1:]:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path[1:]),
            # Kept open: closing the last connection would write the log back to the file.
            "CONN_MAX_AGE": 60,
            "OPTIONS": dict(SQLITE_OPTIONS),
        }
    if parts.scheme in ("postgres", "postgresql") and parts.path[1:]:
        query = dict(part.split("=", 1) for part in parts.query.split("&") if "=" in part)
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path[1:]),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or unquote(query.get("host", "")),
            "PORT": parts.port or query.get("port", ""),
            "CONN_MAX_AGE": 60,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": dict(POSTGRESQL_OPTIONS),
        }
    raise BadSetting(
        f"{name} must look like sqlite:///folder/file.sqlite3 or "
        "postgresql://user:password@host:5432/name."
    )

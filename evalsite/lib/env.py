"""Settings from the environment: parsed, and refused if malformed."""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from evalsite import limits

# all settings of a site; those that hold a secret can come from a file, named by NAME_FILE
_NAMES = (
    "EVALSITE_URL",
    "EVALSITE_HOSTS",
    "EVALSITE_DATA_DIR",
    "EVALSITE_BACKUP_FOLDER",
    "EVALSITE_BACKUPS_KEPT",
    "EVALSITE_MAIL_FROM",
    "EVALSITE_IDENTITY_DAYS",
    "EVALSITE_SSO_SERVER",
    "EVALSITE_SSO_NAME",
    "EVALSITE_SSO_CLIENT",
    "EVALSITE_DEBUG",
)
_SECRETS = (
    "EVALSITE_SECRET_KEY",
    "EVALSITE_SECRET_KEY_FALLBACKS",
    "EVALSITE_DATABASE",
    "EVALSITE_MAIL",
    "EVALSITE_SSO_SECRET",
)
NAMES = frozenset((*_NAMES, *_SECRETS, *(f"{name}_FILE" for name in _SECRETS)))
# read by the tests alone
_FOR_TESTS = ("EVALSITE_CHROMIUM", "EVALSITE_TEST_")
_OLD_NAMES = {
    "EVALSITE_HTTPS": "EVALSITE_URL",
    "EVALSITE_BEHIND_PROXY": "EVALSITE_URL",
    "EVALSITE_SITE_ADDRESS": "EVALSITE_URL",
    "EVALSITE_MAIL_HOST": "EVALSITE_MAIL",
    "EVALSITE_MAIL_PORT": "EVALSITE_MAIL",
    "EVALSITE_MAIL_USER": "EVALSITE_MAIL",
    "EVALSITE_MAIL_PASSWORD": "EVALSITE_MAIL",
    "EVALSITE_MAIL_PASSWORD_FILE": "EVALSITE_MAIL_FILE",
}


class BadSetting(ValueError):
    """An environment variable holds something that cannot be used."""


def refuse_unknown_names() -> None:
    """Raise BadSetting for a variable that looks like a setting and is none: nobody reads it."""
    for name in sorted(os.environ):
        if not name.startswith("EVALSITE_") or name in NAMES or name.startswith(_FOR_TESTS):
            continue
        if name in _OLD_NAMES:
            advice = f"Set {_OLD_NAMES[name]} instead: see docs/deploying.md."
        elif hasattr(limits, name.removeprefix("EVALSITE_")):
            advice = "It is a constant now, in evalsite/limits.py. Remove the variable."
        else:
            nearest = get_close_matches(name, sorted(NAMES), n=1, cutoff=0)
            advice = f"The nearest is {nearest[0]}. Correct the name, or remove the variable."
        raise BadSetting(f"{name} is no setting. {advice}")


_MOST_DIGITS = 9


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
    if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
        raise BadSetting(f"{name} must be a whole number, not {value[:40]!r}.")
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
        except (OSError, UnicodeDecodeError) as error:
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


_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Address:
    """Where a site is reached: the address that links begin with, and the names in it."""

    url: str
    hosts: tuple[str, ...]

    @property
    def is_https(self) -> bool:
        return self.url.startswith("https:")


def read_address(name: str, default: str = "") -> Address | None:
    """Return where the site is reached: https://name, or http:// on the loopback interface."""
    url = read_text(name, default)
    if not url:
        return None
    parts = _split(name, url)
    host = parts.hostname or ""
    is_bare = not (parts.path.strip("/") or parts.query or parts.fragment)
    is_name = host and all(host.split(".")) and not set(host) & set("*, ")
    if parts.username is not None:
        # it may hold a password, so it isn't repeated
        raise BadSetting(f"{name} must be without a user: https://evalsite.example.org.")
    if parts.scheme not in ("http", "https") or not is_bare or not is_name:
        raise BadSetting(f"{name} must look like https://evalsite.example.org, not {url!r}.")
    if not host.isascii():
        # browsers ask for this form
        raise BadSetting(f"{name} must have its name in ASCII (xn--...), not {host!r}.")
    is_local = _is_loopback(host)
    if parts.scheme == "http" and not is_local:
        raise BadSetting(
            f"{name} must begin with https://. Only a site that this machine alone reaches, at "
            "127.0.0.1 or localhost, may do without."
        )
    shown = f"[{host}]" if ":" in host else host
    hosts = dict.fromkeys([shown, *(_LOOPBACK if is_local else ())])
    return Address(f"{parts.scheme}://{parts.netloc}", tuple(hosts))


def _split(name: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a ValueError if it's no number
    except ValueError:
        # it may hold a password, and so may the error
        raise BadSetting(
            f"{name} can't be read. Its port must be a number, and a password must have %2F, %23, "
            "%3F, %5B and %5D in place of / # ? [ and ]."
        ) from None
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class MailServer:
    """Where e-mails are handed over; without a host none are sent."""

    host: str = ""
    port: int = 587
    user: str = ""
    password: str = ""


def read_mail(name: str) -> MailServer:
    """Return the server of smtp://user:password@host:587."""
    url = read_secret(name)
    if not url:
        return MailServer()
    parts = _split(name, url)
    if (
        parts.scheme != "smtp"
        or not parts.hostname
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        # it may hold a password, so it isn't repeated
        raise BadSetting(f"{name} must look like smtp://user:password@mail.example.org:587.")
    return MailServer(
        host=parts.hostname,
        port=parts.port or MailServer.port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


LEAST_KEY_LENGTH, LEAST_KEY_CHARACTERS = 50, 5
# this site's key for debugging, and what Django writes into a new project: everyone knows them
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
    parts = _split(name, read_secret(name) or default)
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

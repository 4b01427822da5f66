#!/usr/bin/env python
"""Django's command line for this project."""

import os
import secrets
import sys
from pathlib import Path

try:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import BaseCommand, ManagementUtility
    from django.db import DatabaseError, OperationalError, ProgrammingError
except ModuleNotFoundError as error:
    if error.name != "django":
        raise
    sys.exit("This Python has no Django. Run make run once, then .venv/bin/python manage.py …")

# what SQLite says of a folder that is not there, and of one that is somebody else's
_CLOSED = ("unable to open database file", "attempt to write a readonly database")
# what `make run` made for the site that it serves
_VAR = Path(__file__).resolve().parent / "var"
_SECRET = _VAR / "secret"
_SITE = (
    "EVALSITE_SECRET_KEY",
    "EVALSITE_SECRET_KEY_FILE",
    "EVALSITE_HOSTS",
    "EVALSITE_DEBUG",
    "EVALSITE_DATABASE",
)
# which site it is makes no difference to these
_WITHOUT_DATA = ("", "help", "version", "check", "diffsettings", "makemigrations", "verify_bundle")
_HELP = ("-h", "--help", "--version")
# they answer people, or work for a site that does: it says which one it is
_SERVERS = ("serve", "runserver", "db_worker")
# they need no database, only show what it holds, or keep or replace it as a whole
_FOR_ANY_DATABASE = (
    "backup",
    "check",
    "collectstatic",
    "dbshell",
    "diffsettings",
    "help",
    "makemigrations",
    "restore",
    "showmigrations",
    "test",
    "verify_bundle",
)
# they write source code; all others may make the database, the folder of the site or a file with
# data, for nobody but its own user to read
_FOR_DEVELOPERS = (
    "compilemessages",
    "makemessages",
    "makemigrations",
    "optimizemigration",
    "squashmigrations",
    "startapp",
    "startproject",
)


def set_defaults(arguments: list[str]) -> None:
    """Choose the site of `make run`, if there is one, where no variable names another."""
    command = (*arguments, "")[0]
    if any(name in os.environ for name in _SITE) or command in _SERVERS:
        return
    if command == "verify_bundle":
        # it needs no site: nothing is signed, and nobody is answered
        os.environ["EVALSITE_SECRET_KEY"] = secrets.token_urlsafe(50)
    elif os.access(_SECRET, os.R_OK):
        os.environ["EVALSITE_SECRET_KEY_FILE"] = str(_SECRET)
        os.environ.setdefault("EVALSITE_HTTPS", "off")
        if command not in _WITHOUT_DATA and not set(_HELP) & set(arguments):
            sys.stderr.write(
                f"Using the site of make run, in {_VAR}. For another site, set its variables.\n"
            )
    else:
        return
    os.environ["EVALSITE_HOSTS"] = "127.0.0.1,localhost"


class CommandLine(ManagementUtility):
    """Django's commands, none of which runs on a database of another version."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        if subcommand not in _FOR_ANY_DATABASE and self.argv[1] == subcommand:
            from evalsite.lib.database_state import refuse_other_database  # noqa: PLC0415

            refuse_other_database()
        return command


def main() -> None:
    """The command has run, or says in a sentence what is wrong with its database."""
    try:
        CommandLine(sys.argv).execute()
    except ImproperlyConfigured as error:
        from evalsite.lib.database_state import OtherDatabase  # noqa: PLC0415

        if not isinstance(error, OtherDatabase):
            raise
        sys.exit(str(error))
    except DatabaseError as error:
        from evalsite.lib.database_state import (  # noqa: PLC0415
            WHAT_TO_DO_IF_DAMAGED,
            is_damaged,
        )

        if is_damaged(error):
            told = f"can't be read: {error}. {WHAT_TO_DO_IF_DAMAGED}"
        elif not isinstance(error, OperationalError | ProgrammingError):
            raise
        elif str(error) in _CLOSED:
            told = (
                "can't be opened and written. Make its folder and let the user who runs this "
                "write in it, or set EVALSITE_DATA_DIR (or EVALSITE_DATABASE) to another place."
            )
        elif _lacks_tables(error):
            told = (
                "lacks tables. Run manage.py migrate, and manage.py createsuperuser if nobody can "
                "sign in yet; then this again."
            )
        else:
            raise
        from django.conf import settings  # noqa: PLC0415 (only now they are known to be good)

        sys.exit(f"The database {settings.DATABASES['default']['NAME']} {told}")


def _lacks_tables(error: Exception) -> bool:
    # SQLite's words, and PostgreSQL's code of an undefined table
    return str(error).startswith("no such table") or (
        getattr(error.__cause__, "pgcode", "") == "42P01"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    set_defaults(sys.argv[1:])
    if (*sys.argv, "")[1] not in _FOR_DEVELOPERS:
        os.umask(0o077)
    main()

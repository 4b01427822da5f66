"""evalsite manage: the management commands of the site, on a database of this version only."""

import os
import secrets
import sys
from collections.abc import Sequence

from django.conf import settings
from django.core.management import BaseCommand, ManagementUtility

from evalsite.command_line.faults import read_fault
from evalsite.command_line.output import NO, Result, escape_controls
from evalsite.command_line.site import SECRET, find_data_folder, find_site_variable, use_folder

# which site it is makes no difference to these
_WITHOUT_DATA = ("", "help", "version", "check", "diffsettings", "makemigrations", "verify_bundle")
_WITHOUT_SETTINGS = ("", "help", "version", "startapp", "startproject")
_HELP = ("-h", "--help", "--version")
# they answer people, or work for a site that does: it says which one it is
_SERVERS = ("runserver", "db_worker")
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
# they write source code, which others may read
_FOR_DEVELOPERS = (
    "compilemessages",
    "makemessages",
    "makemigrations",
    "optimizemigration",
    "squashmigrations",
    "startapp",
    "startproject",
)


class _CommandLine(ManagementUtility):
    """Django's commands, none of which runs on a database of another version."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        if subcommand not in _FOR_ANY_DATABASE and self.argv[1] == subcommand:
            from evalsite.lib.database_state import refuse_other_database

            refuse_other_database()
        return command


def run(arguments: Sequence[str]) -> Result:
    """Run a management command. Its exit codes are Django's: 1 for whatever is wrong."""
    command = (*arguments, "")[0]
    _choose_site(arguments)
    if command in _FOR_DEVELOPERS:
        os.umask(0o022)
    try:
        if command not in _WITHOUT_SETTINGS:
            # raises what is wrong with them; Django would go on, and fail with a traceback
            _ = settings.INSTALLED_APPS
        _CommandLine(["evalsite manage", *arguments]).execute()
    except Exception as error:
        fault = read_fault(error)
        if fault is None:
            raise
        sys.stderr.write(f"{escape_controls(str(fault))}\n")
        return Result(NO)
    return Result()


def _choose_site(arguments: Sequence[str]) -> None:
    """Choose the site of the data folder, if there is one, where no variable names another."""
    command = (*arguments, "")[0]
    if find_site_variable() or command in _SERVERS:
        return
    folder = find_data_folder()
    if command == "verify_bundle":
        # it needs no site: nothing is signed, and nobody is answered
        os.environ["EVALSITE_SECRET_KEY"] = secrets.token_urlsafe(50)
    elif not os.access(folder / SECRET, os.R_OK):
        return
    elif command not in _WITHOUT_DATA and not set(_HELP) & set(arguments):
        sys.stderr.write(f"Using the site in {folder}. For another site, set its variables.\n")
    use_folder(folder)

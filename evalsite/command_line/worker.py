"""evalsite worker: the jobs of a site, one after another, and what it does at set times."""

from argparse import ArgumentParser, Namespace

import django
from django.core.management import call_command

from evalsite.command_line.output import Result
from evalsite.command_line.site import say_data_folder
from evalsite.lib.database_state import refuse_other_database


def add_arguments(parser: ArgumentParser) -> None:
    pass


def run(options: Namespace) -> Result:
    say_data_folder()
    django.setup()
    refuse_other_database()
    call_command("db_worker", skip_checks=False)
    return Result()

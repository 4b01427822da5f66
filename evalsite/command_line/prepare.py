"""evalsite prepare: the database and the static files of a site, before it starts."""

from argparse import ArgumentParser, Namespace

import django
from django.conf import settings
from django.core.management import call_command

from evalsite.command_line.output import Result
from evalsite.lib.database_state import refuse_other_database


def add_arguments(parser: ArgumentParser) -> None:
    pass


def run(options: Namespace) -> Result:
    django.setup()
    options.output.say(f"Data folder: {settings.DATA_DIR}")
    prepare_site()
    # needs the apps
    from evalsite.core.accounts.first_administrator import make_first_link

    text, link = "The database and the static files are ready.", make_first_link()
    if link is None:
        return Result(text=text)
    address, until = link
    return Result(
        text=f"{text}\nNobody administers this site yet. Create the first account with this link, "
        f"which works once, until {until:%Y-%m-%d %H:%M} UTC:\n{address}",
        facts={"first_account": {"link": address, "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}},
    )


def prepare_site() -> None:
    """Make or upgrade the database, and collect static files."""
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_other_database()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)

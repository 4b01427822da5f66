"""Set a new password for an account."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from evalsite.core.accounts.researchers import turn_off_two_factor
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event


class Command(BaseCommand):
    help = "Give a researcher a new password and print it once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "username",
            nargs="?",
            help="whose password; optional if only one person signs in",
        )

        parser.add_argument(
            "--two-factor-off",
            action="store_true",
            help="also turn off two-factor sign-in, for someone who has lost phone and codes",
        )

    def handle(self, *, username: str | None, two_factor_off: bool, **options: Any) -> None:
        user = find_user(username)
        password = secrets.token_urlsafe(12)
        user.set_password(password)
        user.save(update_fields=["password"])
        record_account(Event.CHANGED, user, None, "password,command")
        self.stdout.write(f"User: {user.get_username()}\nPassword: {password}")
        if two_factor_off and turn_off_two_factor(user):
            record_account(Event.CHANGED, user, None, "two-factor-off,command")
            self.stdout.write("Two-factor sign-in is off.")
        self.stdout.write("It is shown only now. Sessions signed in with the old one have ended.")


def find_user(username: str | None) -> User:
    """Return the member of staff of this name, or the only one."""
    staff = User.objects.filter(is_staff=True, is_active=True).order_by("username")
    matching = staff.filter(username=username) if username else staff
    if len(matching) == 1:
        return matching[0]
    if not staff:
        raise CommandError(
            "There is no account yet. Run evalsite prepare, which prints a link to make one."
        )
    names = ", ".join(user.get_username() for user in staff)
    raise CommandError(f"Say whose password it is: manage.py password NAME. There are: {names}")

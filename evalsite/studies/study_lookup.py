"""How commands refer to a study: by its id, the beginning of its id, or its title."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from evalsite.studies.models import Study

STUDY_HELP = "its id, the beginning of its id, or its title"
_NOT_FOUND = 2  # exit code, as of a wrong option
_MOST_LISTED = 50
_MOST_FAULTS = 100


def add_study_argument(parser: ArgumentParser) -> None:
    """Let a command take one study."""
    parser.add_argument("study", metavar="STUDY", help=STUDY_HELP)


def find_study(text: str) -> Study:
    """Return the study that this refers to; CommandError lists studies if it isn't exactly one."""
    titles = dict(Study.objects.order_by("created_at").values_list("pk", "title"))
    start = text.strip().replace("-", "").casefold()
    for matches in (
        [pk for pk in titles if pk.hex == start],
        [pk for pk, title in titles.items() if title == text],
        [pk for pk in titles if start and pk.hex.startswith(start)],
    ):
        if len(matches) == 1:
            return Study.objects.get(pk=matches[0])
        if matches:
            listed = _list_studies({pk: titles[pk] for pk in matches})
            raise CommandError(
                f"“{text}” could be any of these studies. Give more of the id:\n{listed}",
                returncode=_NOT_FOUND,
            )
    if not titles:
        raise CommandError(
            f"There is no study “{text}”, nor any other study.", returncode=_NOT_FOUND
        )
    raise CommandError(
        f"There is no study “{text}”. There are:\n{_list_studies(titles)}", returncode=_NOT_FOUND
    )


def _list_studies(titles: dict[UUID, str]) -> str:
    lines = [f"  {pk}  {title}" for pk, title in titles.items()]
    if len(lines) > _MOST_LISTED:
        lines[_MOST_LISTED:] = [f"  and {len(lines) - _MOST_LISTED:,} more"]
    return "\n".join(lines)


def find_owner(name: str | None) -> Any:
    """Return the user of this name; without a name the only superuser."""
    users = get_user_model().objects.filter(is_active=True, is_staff=True)
    if name is not None:
        if user := users.filter(username=name).first():
            return user
        raise CommandError(f"There is no active member of staff named {name}.")
    if not users.exists():
        raise CommandError(
            "There is no account that could own it. Run evalsite prepare, which prints a link to "
            "make one."
        )
    superusers = list(users.filter(is_superuser=True)[:2])
    if len(superusers) != 1:
        raise CommandError("Say whose it will be: --owner NAME.")
    return superusers[0]


def describe_faults(messages: list[str], counts: list[int] | None = None) -> str:
    """Return the first faults of a file as lines for a terminal.

    `counts`: how many faults each message stands for, if it isn't one.
    """
    lines = ["Nothing was imported.", *messages[:_MOST_FAULTS]]
    if more := sum((counts or [1] * len(messages))[_MOST_FAULTS:]):
        lines.append(f"… and {more:,} more faults.")
    return "\n".join(lines)

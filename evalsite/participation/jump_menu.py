"""The jump menu: from any place of a set to any other, and to parts of the instructions."""

from collections.abc import Collection
from dataclasses import dataclass

from evalsite.lib.markdown import list_anchors
from evalsite.participation.sets import open_places
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content

# the id of the heading of the instructions page
TITLE = "title"


@dataclass(frozen=True)
class MenuHeading:
    """A heading of the instructions, by its words and its id."""

    label: str
    anchor: str


@dataclass(frozen=True)
class MenuPlace:
    """A place of the set: its number from 1, whether it is answered, and whether it is open now."""

    number: int
    is_answered: bool
    is_here: bool


@dataclass(frozen=True)
class JumpMenu:
    """What a rating page leads to, beside the next place."""

    headings: list[MenuHeading]
    places: list[MenuPlace]


def build_menu(
    participant: Participant, item_set: ItemSet, place: int, answered: Collection[int]
) -> JumpMenu | None:
    """Return the menu of this place of the set; None where the protocol has none.

    What went to others is not offered. `answered` holds items.
    """
    if not participant.study.config.layout.menu:
        return None
    return JumpMenu(
        headings=menu_headings(participant.study),
        places=[
            MenuPlace(number, item_set.item_ids[number - 1] in answered, number == place)
            for number in open_places(item_set)
        ],
    )


def menu_headings(study: Study) -> list[MenuHeading]:
    """Return the headings that the protocol's menus show, as far as the study's text has them."""
    config = study.config
    if not config.layout.menu:
        return []
    anchors = list_anchors(shown_content(study)["texts"]["instructions"])
    anchors = {config.instructions_title: TITLE, **anchors}
    return [MenuHeading(label, anchors[label]) for label in config.layout.menu if label in anchors]


def list_contents(study: Study) -> list[MenuHeading]:
    """Return the headings of the instructions page: those of the menu, if any, then all others."""
    anchors = list_anchors(shown_content(study)["texts"]["instructions"])
    listed = menu_headings(study)
    known = {heading.anchor for heading in listed}
    rest = [MenuHeading(label.rstrip(":"), anchor) for label, anchor in anchors.items()]
    return listed + [heading for heading in rest if heading.anchor not in known]

"""Instruments that ship with the site, as data."""

import json
from typing import Any

from django.conf import settings

from evalsite.instruments import checks
from evalsite.instruments.questions import Question, list_questions, number_texts
from evalsite.instruments.schema import Instrument
from evalsite.studies.instruments import find_faults, import_instrument
from evalsite.studies.models import Study
from evalsite.studies.services import create_study
from tests.support.factories import make_user

GALLERY = settings.BASE_DIR / "fixtures" / "instruments"


def read_gallery() -> list[dict[str, Any]]:
    """Return the instruments of the gallery that this version can ask, as they are stored."""
    files = [json.loads(path.read_bytes()) for path in sorted(GALLERY.glob("*.json"))]
    return [checks.read_instrument(data).to_data() for data in files if not find_faults(data)]


def read_instrument(key: str) -> dict[str, Any]:
    """Return the instrument of the gallery with this key."""
    return next(content for content in read_gallery() if content["key"] == key)


def ask(instrument: Instrument, outputs: int = 1) -> list[Question]:
    """Return what is asked about an item without inputs that has so many empty outputs."""
    return list_questions(instrument, {}, number_texts([""] * outputs))


def make_built_study(content: dict[str, Any], *, by: Any = None, **fields: Any) -> Study:
    """A draft study of this instrument, which its owner imported."""
    owner = by or make_user()
    version, _ = import_instrument(data=content, by=owner)
    given = {
        "title": "A study", "consent": "You may stop.", "summary": "You rate texts.",
        "contact_email": "jane@example.org", "answers_kept_for": "10 years",
        "organisation": "Language Lab",
    }  # fmt: skip
    return create_study(instrument=version, by=owner, **{**given, **fields})

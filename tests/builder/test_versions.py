"""Versions of an instrument: exported as they are, compared, and brought back."""

import pytest
from django.urls import reverse

from evalsite.studies.instruments import import_instrument
from tests.builder.test_builder import begin, post
from tests.support.instruments import read_gallery

pytestmark = pytest.mark.django_db


def test_export_is_the_very_file_that_was_imported_and_an_old_version_can_come_back(staff, jane):
    content = read_gallery()[0]
    version, _ = import_instrument(data=content, by=jane)
    instrument = version.instrument
    post(staff, instrument, do="save", title="Another title")

    exported = staff.get(reverse("admin:instrument-export", args=[instrument.pk, 1]))
    versions = reverse("admin:instrument-versions", args=[instrument.pk])
    instrument.refresh_from_db()
    staff.post(versions, {"number": "1", "revision": instrument.revision})

    assert exported.json() == content
    assert staff.get(versions).status_code == 200
    instrument.refresh_from_db()
    assert instrument.newest.title == "Another title"
    assert instrument.draft == content


def test_versions_say_what_each_changed(staff):
    instrument = begin(staff)
    post(staff, instrument, do="add:criteria")
    post(staff, instrument, do="save", **{"criteria-1-label": "Tone"})
    post(staff, instrument, do="remove:criteria-1")
    post(staff, instrument, do="add:criteria")
    post(staff, instrument, **{
        "do": "save", "title": "Replies", "criteria-1-label": "Wit",
        "criteria-0-scale-points-box": "Very bad\nBad\n<b>So-so\nGood\nVery good",
    })  # fmt: skip
    address = reverse("admin:instrument-versions", args=[instrument.pk])

    page = staff.get(address)
    refused = staff.post(address, {"number": "²"})

    second, first = page.context["versions"]
    assert second["changes"] == [
        "Question “Wit” was added", "Question “Tone” was removed", "Title",
        "Question 1 (Quality), point 3, label",
    ]  # fmt: skip
    assert first["changes"] == []
    assert "The first version" in page.text
    assert refused.status_code == 404

"""The builder's form is made from the model, shows all of it, and changes nothing by itself."""

import json

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string
from hypothesis import HealthCheck, Phase, given, settings

from evalsite.building.builder_page import build_page
from evalsite.building.drafts import read_draft
from evalsite.building.posts import Post
from evalsite.protocol import installed_protocols
from tests.support.drawn_instruments import instruments
from tests.support.forms import read_form
from tests.support.instruments import GALLERY


def render(draft, **context):
    page = build_page(draft) | {"can_edit": True, "instrument": FakeInstrument(), "revision": 1}
    return render_to_string("building/builder.html", page | context)


class FakeInstrument:
    pk = "00000000-0000-0000-0000-000000000000"
    is_visible = False


def fill(draft, **changes):
    """What a browser posts of the form of a draft, with these changes."""
    post = QueryDict(mutable=True)
    for name, text in (read_form(render(draft), "builder") | changes).items():
        post[name] = text
    return Post(post)


FILES = sorted(GALLERY.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gallery_file_opens_and_saves_back_without_a_change(path):
    content = json.loads(path.read_bytes())

    assert read_draft(fill(content), content) == content


def test_protocols_open_and_save_back_without_a_change():
    for protocol in installed_protocols().values():
        content = protocol.to_data()

        assert read_draft(fill(content), content) == content


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(instruments())
def test_drawn_instrument_opens_and_saves_back_without_a_change(content):
    assert read_draft(fill(content), content) == content

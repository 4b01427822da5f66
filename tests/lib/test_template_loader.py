"""Templates lose their indentation, and what they show keeps every space."""

import pytest
from django.template.loader import get_template, render_to_string

from evalsite.core.template_loader import drop_indentation

SPACED = "  two  spaces\n    four\n"


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ("<ul>\n  <li>\n\t<b>a</b> <i>b</i>\n", "<ul>\n<li>\n<b>a</b> <i>b</i>\n"),
        ("<p>one\n   word</p>", "<p>one\nword</p>"),
        ("  <pre>\n  as it is\n</pre>\n  <p>", "  <pre>\n  as it is\n</pre>\n<p>"),
        ("<textarea>\n\n  a</textarea>\n  <p>", "<textarea>\n\n  a</textarea>\n<p>"),
        (
            "{% blocktranslate %}a\n  b{% endblocktranslate %}\n  <p>",
            "{% blocktranslate %}a\n  b{% endblocktranslate %}\n<p>",
        ),
    ],
)
def test_only_spaces_that_nobody_sees_are_dropped(source, sent):
    assert drop_indentation(source) == sent


def test_texts_that_templates_show_keep_their_spaces():
    output = {"text": SPACED, "marks": None}

    shown = render_to_string("participation/_output.html", {"output": output})

    assert f">{SPACED}</p>" in shown


def test_templates_of_the_site_and_of_applications_are_sent_without_indentation():
    for name in ("participation/annotate.html", "magnitude/item.html", "admin/base.html"):
        source = get_template(name).template.source
        assert "\n<" in source
        assert "\n  <" not in source, name

"""Which language the outputs of a study are in, as the page of its texts proposes it."""

import pytest
from django.urls import reverse

from evalsite.studies.languages import guess_language, name_language
from evalsite.studies.models import Output, Study
from tests.support.factories import make_study

# from the first article of the Universal Declaration of Human Rights
TEXTS = {
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft "
    "und Gewissen begabt und sollen einander im Geist der Solidarität begegnen.",
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with "
    "reason and conscience and should act towards one another in a spirit of brotherhood.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como "
    "están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués "
    "de raison et de conscience et doivent agir les uns envers les autres dans un esprit de "
    "fraternité.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd "
    "met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te "
    "gedragen.",
    "ja": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
}


@pytest.mark.parametrize("code", sorted(TEXTS))
def test_language_of_a_text_is_found(code):
    assert guess_language([TEXTS[code]]) == code


@pytest.mark.parametrize("text", ["", "Place 1.", "x = 1; y = 2; " * 30, "41 42 43 " * 30])
def test_text_that_shows_no_language_has_none(text):
    assert guess_language([text]) == ""


def test_code_without_a_name_stands_for_itself():
    assert [name_language(code) for code in ("de", "tlh")] == ["German", "tlh"]


@pytest.mark.django_db
def test_page_proposes_the_language_of_the_outputs_until_settings_are_saved(staff_client):
    study = make_study(items=2)
    Output.objects.filter(study=study).update(text=TEXTS["de"])
    address = reverse("admin:setup-read", args=[study.pk])

    proposed = staff_client.get(address)
    Study.objects.update(revision=1)
    later = staff_client.get(address)

    assert proposed.context["form"]["language"].value() == "de"
    assert "Language of the texts: German." in proposed.text
    assert later.context["form"]["language"].value() == "en"
    study.refresh_from_db()
    assert study.language == "en"

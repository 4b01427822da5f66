"""Staff page of Set up: what people read before they rate, beside their own pages."""

import re
from math import ceil
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.core.accounts.models import describe_contact, fill_in_profile
from evalsite.fieldwork.previews import make_previews
from evalsite.fieldwork.setup_page import (
    choose_status,
    describe_page,
    make_form,
    save_settings,
)
from evalsite.studies.consent_sentences import count_sentences, write_consent
from evalsite.studies.languages import list_languages, name_language
from evalsite.studies.models import Item, Membership, Output, Study
from evalsite.studies.questions import list_background
from evalsite.studies.set_size import WORDS_A_MINUTE
from evalsite.studies.settings import CONSENT, FIRST_PAGE, INSTRUCTIONS, PAGES
from evalsite.studies.setup_forms import ReadForm, SettingsForm
from evalsite.studies.staff_pages import study_page
from evalsite.studies.summary_lines import count_of
from evalsite.studies.versions import protocol_instructions

_WORD = re.compile(r"\w[\w’'-]*")
# by the field that a problem is mended in
_MISSING = {
    "organisation": "who runs the study",
    "contact_email": "an e-mail for questions",
    "answers_kept_for": "how long you keep the answers",
    "consent": "your own words in place of square brackets",
}


@study_page(
    "set-up/read/",
    name="setup-read",
    role=Membership.Role.EDITOR,
    place="Set up",
    tab=PAGES["read"],
    order=30,
)
@require_http_methods(["GET", "HEAD", "POST"])
def show_read(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Ask what people read and agree to, and show it as they will see it."""
    form = make_form(ReadForm, request, study)
    saved = save_settings(request, form)
    if saved is not None:
        names = ("organisation", "responsible", "complaints")
        fill_in_profile(request.user, {name: form.cleaned_data[name] for name in names})
        return saved
    context = describe_page(study, form)
    shown = context["shown"]
    contact = describe_contact(request.user)
    context |= {
        "headline": _choose_headline(shown, context["lacking"]),
        "missing": {check.field for check in context["lacking"]} & _MISSING.keys(),
        "others": [check for check in context["lacking"] if check.field not in _MISSING],
        "reading": "" if context["lacking"] else _describe_reading(shown),
        "folds": _describe_folds(form, shown),
        "is_from_account": all(
            getattr(shown, name) == contact[name] != ""
            for name in ("organisation", "contact_email")
        ),
        "questions": list_background(shown),
        "own_instructions": protocol_instructions(study),
        "examples": shown.config.examples,
        "named_systems": _list_named_systems(shown),
        "languages": list_languages(),
        "previews": make_previews(shown, ["landing", "consent", "instructions"]),
    }
    status = choose_status(context)
    return TemplateResponse(request, "fieldwork/setup_read.html", context, status=status)


def _choose_headline(study: Study, lacking: list[Any]) -> str:
    """Return what is missing, what is wrong, or how much people read: the first that holds."""
    missing = [_MISSING[check.field] for check in lacking if check.field in _MISSING]
    if len(missing) == 1:
        return f"One thing is missing: {missing[0]}"
    if missing:
        return f"{len(missing)} things are missing: {', '.join(missing)}"
    if lacking:
        return str(lacking[0].headline)
    if _has_item_as_example(study):
        return "An example is also one of your items"
    words = count_words_read(study)
    noun = study.config.item.name.lower()
    return f"People read {count_of(words, 'word')} before the first {noun}"


def _describe_reading(study: Study) -> str:
    minutes = count_words_read(study) / WORDS_A_MINUTE
    if minutes <= 0.75:
        return "About half a minute."
    return f"About {count_of(ceil(minutes), 'minute')}."


def count_words_read(study: Study) -> int:
    """Return how many words people read before the first item."""
    texts = (
        study.title,
        study.summary,
        study.content_warning,
        write_consent(study, study.config),
        study.instructions or protocol_instructions(study),
    )
    return sum(len(_WORD.findall(text)) for text in texts)


def _has_item_as_example(study: Study) -> bool:
    """Tell whether people would read one of the study's outputs with its right answers first."""
    texts = {text for example in study.config.instruction_examples for text in example.texts}
    mains = Output.objects.stored().filter(study=study, item__kind=Item.Kind.MAIN)
    return bool(texts) and mains.filter(text__in=texts - {""}).exists()


def _list_named_systems(study: Study) -> list[str]:
    """Return the systems that the title names, which people must not know."""
    title = study.title.casefold()
    names = study.systems.values_list("name", flat=True)
    return [name for name in names if re.search(rf"\b{re.escape(name.casefold())}\b", title)]


def _describe_folds(form: SettingsForm, study: Study) -> list[dict[str, Any]]:
    """Return what is behind each fold, and the line that states its values."""
    lines = {
        INSTRUCTIONS: _describe_instructions(study),
        FIRST_PAGE: _describe_first_page(study, str(form["language"].value() or "")),
        CONSENT: _describe_words(study),
    }
    return [
        {
            "key": title.lower().replace(" ", "-"),
            "title": title,
            "line": lines[title],
            "fields": fields,
            "has_errors": form.is_bound and any(field.errors for field in fields),
        }
        for title, fields in form.more
    ]


def _describe_instructions(study: Study) -> str:
    text = study.instructions or protocol_instructions(study)
    words = count_of(len(_WORD.findall(text)), "word")
    examples = len(study.config.instruction_examples)
    facts = [
        count_of(examples, "example") if examples else "no examples",
        "practice first" if study.is_practice_on else "no practice",
        "a check" if study.is_check_on else "no check",
    ]
    line = ", ".join(facts)
    whose = "Your own" if study.instructions else "The instrument’s own"
    return f"{whose}, {words}. {line[:1].upper()}{line[1:]}."


def _describe_first_page(study: Study, language: str) -> str:
    warning = "yes" if study.content_warning else "none"
    return (
        f"Title: {study.title}. Content warning: {warning}. Language of the texts: "
        f"{name_language(language)}."
    )


def _describe_words(study: Study) -> str:
    number = 1 if study.version is None else study.version.number
    sentences = count_of(count_sentences(study, study.config), "sentence")
    whose = "Your own words first" if study.consent.strip() else "Standard text"
    return f"{whose}, version {number}. {sentences} follow your settings."

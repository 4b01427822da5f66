"""Pages of participants as researchers see them beside the settings: made by the same templates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from evalsite.lib.markdown import render_markdown
from evalsite.lib.seeds import arrange, derive_number
from evalsite.participation.jump_menu import list_contents
from evalsite.participation.view_models import view_item
from evalsite.participation.views import render_example, render_explanation
from evalsite.people.access import language_of
from evalsite.people.models import Participant, Recruitment
from evalsite.people.views import describe_opening, study_facts
from evalsite.studies.bonus import cap_in_words
from evalsite.studies.consent_sentences import write_consent
from evalsite.studies.models import Item, Study
from evalsite.studies.qualification import TRIES, plan_qualification
from evalsite.studies.versions import protocol_instructions


@dataclass(frozen=True)
class Preview:
    """A whole page of a participant, shown in a frame."""

    key: str
    title: str
    html: str


def make_previews(study: Study, keys: Sequence[str]) -> list[Preview]:
    """Return these pages as they would be with the settings that this study has in memory."""
    with language_of(study):
        pages = [(key, *_PAGES[key]) for key in keys]
        return [Preview(key, title, html) for key, title, make in pages if (html := make(study))]


def is_preview(key: str) -> bool:
    return key in _PAGES


def _frame(study: Study) -> dict[str, Any]:
    names = {"title": study.title, "contact_name": study.contact_name}
    return {"texts": study.texts | names, "is_still": True}


def _make_landing(study: Study) -> str:
    recruitment = Recruitment.objects.open_link(study)
    recruitment.study = study
    eligibility = study.config.eligibility if study.is_eligibility_on else None
    return render_to_string(
        "people/landing.html",
        _frame(study)
        | {
            "is_free": True,
            "opening": describe_opening(study) if study.is_before_opening else None,
            "facts": study_facts(study, recruitment),
            "cap": cap_in_words(study),
            "has_entry": bool(eligibility),
            "plan": plan_qualification(study) if study.is_qualification_on else None,
            "tries": TRIES,
            "is_personal": True,
            **(_describe_consent(study) if study.has_notice else {}),
        },
    )


def _make_consent(study: Study) -> str:
    """Return the page on which people agree; "" where Start on the first page does."""
    if study.has_notice:
        return ""
    return render_to_string(
        "people/consent.html",
        _frame(study) | _describe_consent(study) | {"cap": cap_in_words(study)},
    )


def _describe_consent(study: Study) -> dict[str, Any]:
    return {
        "consent_html": render_markdown(write_consent(study, study.config)),
        "has_notice": study.has_notice,
        "minimum_age": study.minimum_age,
        "asks_to_share": study.asks_to_share,
    }


def _make_instructions(study: Study) -> str:
    config = study.config
    nobody = Participant(study=study)
    text = study.instructions or protocol_instructions(study)
    return render_to_string(
        "participation/instructions.html",
        _frame(study)
        | {
            "title": config.instructions_title,
            "html": render_markdown(text, with_anchors=True),
            "contents": list_contents(study) if study.version_id is None else [],
            "examples": [
                {
                    "html": render_example(nobody, example, number),
                    "why": render_explanation(example),
                }
                for number, example in enumerate(config.instruction_examples, start=1)
            ],
            "next_label": _("Start practice") if study.is_practice_on else _("Continue"),
        },
    )


def _make_item(study: Study) -> str:
    """Return the first item's page; "" while there is none."""
    item = Item.objects.main().filter(study=study).first()
    if item is None:
        return ""
    texts = list(item.outputs.order_by("position").values_list("text", flat=True))
    return render_item(study, key=item.key, inputs=item.inputs, texts=texts)


def render_item(study: Study, *, key: str, inputs: Mapping[str, Any], texts: Sequence[str]) -> str:
    """Return the page of an item, blind as participants get it."""
    config = study.config
    arrangement = derive_number(study.seed, "preview", key)
    order = list(range(len(texts)))
    if not config.layout.is_given:
        order = arrange(len(texts), arrangement, study.seed, key)
    view = view_item(
        config,
        inputs=inputs,
        texts=[texts[position] for position in order],
        options=config.default_options | study.options,
        is_aided=study.is_aided,
    )
    return render_to_string(
        config.item_template,
        {"frame": "participation/preview.html", "item": view, "layout": config.layout},
    )


_PAGES: dict[str, tuple[str, Callable[[Study], str]]] = {
    "landing": ("First page", _make_landing),
    "consent": ("Consent", _make_consent),
    "instructions": ("Instructions", _make_instructions),
    "item": ("First item", _make_item),
}

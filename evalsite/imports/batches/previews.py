"""The first items of a file, exactly as annotators will see them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string

from evalsite.annotation.display import view_item
from evalsite.lib.seeds import arrange, derive_number
from evalsite.studies.models import Study

SHOWN = 5


@dataclass(frozen=True)
class Preview:
    """A whole page of a participant, to stand in a frame of its own."""

    number: int
    html: str


def preview_items(study: Study, items: Sequence[Mapping[str, Any]]) -> list[Preview]:
    """Pages of the first items, made by the very templates that participants get: blind."""
    return [
        Preview(number, _render(study, item)) for number, item in enumerate(items[:SHOWN], start=1)
    ]


def _render(study: Study, item: Mapping[str, Any]) -> str:
    config, key = study.config, item["key"]
    texts = [text for _, text in item["outputs"]]
    arrangement = derive_number(study.seed, "preview", key)
    order = arrange(len(texts), arrangement, study.seed, key)
    view = view_item(
        config,
        inputs=item["inputs"],
        texts=[texts[position] for position in order],
        options=config.default_options | study.options,
        is_aided=study.is_aided,
    )
    return render_to_string(
        config.item_template,
        {
            "frame": "annotation/preview.html",
            "item": view,
            "layout": config.layout.style,
        },
    )

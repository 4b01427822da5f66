"""The kinds of questions: how each is answered, what its parameters are, and what is an answer."""

from typing import Annotated, Any, get_args

from django.apps import apps
from pydantic import Field

from evalsite.instruments.parts import refuse
from evalsite.instruments.scales.base import COMMENT as COMMENT
from evalsite.instruments.scales.base import LONGEST_TEXT as LONGEST_TEXT
from evalsite.instruments.scales.base import NA as NA
from evalsite.instruments.scales.base import Per as Per
from evalsite.instruments.scales.base import Scale as Scale
from evalsite.instruments.scales.base import find_twice as find_twice
from evalsite.instruments.scales.base import is_among as is_among
from evalsite.instruments.scales.best_worst import BestWorst
from evalsite.instruments.scales.checklist import Checklist
from evalsite.instruments.scales.choice import Choice
from evalsite.instruments.scales.choices import Choices
from evalsite.instruments.scales.decision import Decision
from evalsite.instruments.scales.likert import Likert
from evalsite.instruments.scales.magnitude import Magnitude
from evalsite.instruments.scales.number import Number
from evalsite.instruments.scales.post_edit import PostEdit
from evalsite.instruments.scales.preference import Preference
from evalsite.instruments.scales.ranking import Ranking
from evalsite.instruments.scales.slider import Slider
from evalsite.instruments.scales.spans import Spans
from evalsite.instruments.scales.text import Text

# the kinds of the format, each in a module of its own
AnyScale = Annotated[
    Likert
    | Slider
    | Number
    | Magnitude
    | Decision
    | Checklist
    | Choice
    | Choices
    | Preference
    | Ranking
    | BestWorst
    | Spans
    | Text
    | PostEdit,
    Field(discriminator="kind"),
]
KINDS: dict[str, type[Scale]] = {
    get_args(scale.model_fields["kind"].annotation)[0]: scale
    for scale in get_args(get_args(AnyScale)[0])
}


def list_kinds() -> dict[str, type[Scale]]:
    """Return the kinds of questions: those of the format, and those that apps on this site add."""
    configs: list[Any] = list(apps.get_app_configs())
    added = [config for config in configs if getattr(config, "shape", None)]
    return KINDS | {config.scale.kind: config.shape for config in added}


def read_scale(data: Any) -> Scale:
    """Read a scale by its kind."""
    if not isinstance(data, dict):
        raise refuse("type", "must be an object")
    kinds = list_kinds()
    kind = kinds.get(str(data.get("kind")))
    if kind is None:
        raise refuse("unknown_scale", f"must be one of: {', '.join(sorted(kinds))}")
    return kind.model_validate(data)


def is_scale(data: Any) -> bool:
    """Tell whether this is a scale without any fault."""
    try:
        scale = read_scale(data)
    except ValueError:
        return False
    return not list(scale.find_faults(""))

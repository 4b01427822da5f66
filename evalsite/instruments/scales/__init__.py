"""The kinds of questions: how each is answered, what its parameters are, and what is an answer."""

from typing import Annotated, Any, get_args

from pydantic import Field

from evalsite.instruments.parts import refuse
from evalsite.instruments.scales.base import COMMENT as COMMENT
from evalsite.instruments.scales.base import NA as NA
from evalsite.instruments.scales.base import OUTPUT as OUTPUT
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
from evalsite.instruments.scales.preference import BOTH as BOTH
from evalsite.instruments.scales.preference import Preference
from evalsite.instruments.scales.ranking import Ranking
from evalsite.instruments.scales.slider import Slider
from evalsite.instruments.scales.spans import NONE as NONE
from evalsite.instruments.scales.spans import Spans
from evalsite.instruments.scales.spans import parse_entry as parse_entry
from evalsite.instruments.scales.spans import write_json as write_json
from evalsite.instruments.scales.text import Text

# one line for each kind, in the order of lists and of the builder
AnyScale = Annotated[
    Likert
    | Magnitude
    | Decision
    | Preference
    | Slider
    | Number
    | Choice
    | Choices
    | Checklist
    | Text
    | Ranking
    | BestWorst
    | Spans
    | PostEdit,
    Field(discriminator="kind"),
]
KINDS: dict[str, type[Scale]] = {
    scale.name_kind(): scale for scale in get_args(get_args(AnyScale)[0])
}


def installed_scales() -> dict[str, type[Scale]]:
    """Return the kinds that this version can ask."""
    return {kind: scale for kind, scale in KINDS.items() if scale.has_page}


def get_scale(kind: str) -> type[Scale]:
    """Return the class of a kind that this version can ask; LookupError if there is none."""
    scale = KINDS.get(kind)
    if scale is None or not scale.has_page:
        raise LookupError(f"There is no kind of question {kind!r}.")
    return scale


def read_scale(data: Any) -> Scale:
    """Read a scale by its kind."""
    if not isinstance(data, dict):
        raise refuse("type", "must be an object")
    scale = KINDS.get(str(data.get("kind")))
    if scale is None:
        raise refuse("unknown_scale", f"must be one of: {', '.join(sorted(KINDS))}")
    return scale.model_validate(data)

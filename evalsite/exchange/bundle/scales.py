"""The criteria of an instrument that a bundle holds, as the site's own classes."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from evalsite.exchange.bundle.opening import BadBundle
from evalsite.protocol import Criterion, Scale, get_scale

Scales = dict[str, Scale]
_TEXTS = [field.name for field in fields(Criterion) if field.name != "scale"]

_LONGEST_KIND = 60


class UnknownScale(BadBundle):
    """A kind of question that isn't installed on this site."""


def find_scales(
    about: Mapping[str, Any], contents: Mapping[int, Mapping[str, Any]]
) -> dict[int | None, Scales]:
    """Return the scale of each criterion, by version; None: before the first launch."""
    instruments = {None: about["instrument"]} | {
        number: content["instrument"] for number, content in contents.items()
    }
    return {
        number: {criterion.key: criterion.scale for criterion in read_criteria(instrument)}
        for number, instrument in instruments.items()
    }


def read_criteria(instrument: Mapping[str, Any]) -> list[Criterion]:
    """Read the criteria of an instrument; BadBundle says why they can't be read here."""
    try:
        return [_read_criterion(data) for data in instrument["criteria"]]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise BadBundle(
            "The criteria of an instrument in this bundle can't be read: something is missing, "
            "or of another kind."
        ) from None


def _read_criterion(data: Mapping[str, Any]) -> Criterion:
    texts = {name: data[name] for name in _TEXTS if name in data}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("A criterion has something other than text.")
    return Criterion(scale=_read_scale(data["scale"]), **texts)


def _read_scale(data: Mapping[str, Any]) -> Scale:
    given = dict(data)
    kind = given.pop("kind")
    try:
        scale = get_scale(kind)
    except LookupError:
        raise UnknownScale(
            f"This bundle asks with the kind of question “{str(kind)[:_LONGEST_KIND]}”, which "
            "isn't installed on this site. Install it, then try again."
        ) from None
    return scale.from_fields(given)

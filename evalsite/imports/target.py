"""What a file is checked against: a study, an instrument, or nothing yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from evalsite.imports.models import Upload
from evalsite.instruments.schema import InputColumn, Instrument, ItemParts, Outputs
from evalsite.studies.models import Study

# what instruments call their outputs
_OUTPUTS = [
    "translation", "mt", "summary", "decoded", "description", "caption", "story", "paraphrase",
    "simplification", "report", "tgt", "target",
]  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What a check needs: an instrument, and a study or a draft of one that isn't stored.

    While no instrument is chosen, `is_open`: the instrument then shows whatever inputs a file has.
    """

    instrument: Instrument
    study: Study
    is_open: bool = False

    @property
    def is_draft(self) -> bool:
        """Return whether the study isn't stored, so that it has no items but its practice."""
        return self.study._state.adding


def aim_at_study(study: Study) -> Target:
    return Target(study.config, study)


def aim_at_instrument(instrument: Instrument, seed: str) -> Target:
    """Check for a study that would be made of this instrument, with its defaults."""
    return Target(instrument, Study(seed=seed, groups=instrument.design.groups))


def aim_at_upload(upload: Upload) -> Target:
    """Check a file for the study that it belongs to, or without one for whatever is in it."""
    if upload.study is not None:
        return aim_at_study(upload.study)
    return aim_at_nothing(upload.seed)


def aim_at_nothing(seed: str) -> Target:
    """Check for whatever is in a file, before there is an instrument."""
    return Target(make_open_instrument([]), Study(seed=seed), is_open=True)


def make_open_instrument(inputs: Sequence[InputColumn], output_kind: str = "text") -> Instrument:
    """Return an instrument without questions that shows these inputs, and outputs one by one."""
    outputs = Outputs.model_validate(
        {"kind": output_kind, "least": 1, "most": 1, "aliases": _OUTPUTS}
    )
    parts = {"item": ItemParts(inputs=[*inputs], outputs=outputs), "criteria": [], "key": "none"}
    # not validated: an instrument that can be asked has questions and a source
    return Instrument.model_construct(**cast(dict[str, Any], parts))

"""The instruments that a bundle holds, read with distrust: they must be what this site can ask."""

from collections.abc import Mapping
from typing import Any

from evalsite.exports.bundle.opening import BadBundle
from evalsite.protocol import Criterion, Protocol, Scale, find_folder, get_scale
from evalsite.protocol.checking import check_instrument
from evalsite.protocol.data import FORMAT
from evalsite.protocol.faults import Fault
from evalsite.protocol.version_0_1 import read_criteria, read_stored

Scales = dict[str, Scale]
# what plain data of another shape raise when they are read
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError)
_MOST_FAULTS = 3
_LONGEST = 60


def find_scales(
    about: Mapping[str, Any], contents: Mapping[int, Mapping[str, Any]]
) -> dict[int | None, Scales]:
    """Return the scale of each criterion, by version; None: before the first launch."""
    instruments = {None: about["instrument"]} | {
        number: content["instrument"] for number, content in contents.items()
    }
    return {
        number: {criterion.key: criterion.scale for criterion in check_criteria(instrument)}
        for number, instrument in instruments.items()
    }


def check_criteria(instrument: Mapping[str, Any]) -> tuple[Criterion, ...]:
    """Read the criteria of an instrument; BadBundle says why they can't be read here."""
    try:
        kinds = [criterion["scale"]["kind"] for criterion in instrument["criteria"]]
        for kind in kinds:
            _insist_on_kind(kind)
        # its protocol need not be installed where a bundle is only checked
        _insist_on_format(instrument, "hooks_not_allowed")
        criteria = read_criteria(instrument)
    except _UNREADABLE:
        raise _unreadable() from None
    texts = [text for one in criteria for name, text in vars(one).items() if name != "scale"]
    if not all(isinstance(text, str) for text in texts):
        raise _unreadable()
    return criteria


def insist_on_instrument(data: Mapping[str, Any], protocol: str) -> None:
    """Refuse an instrument that a study of this installed protocol can't have (BadBundle)."""
    try:
        _insist_on_format(data)
        asked = read_stored(data, protocol)
    except _UNREADABLE:
        raise _unreadable() from None
    if asked.key != protocol:
        raise BadBundle(f"The instrument is that of “{asked.key[:_LONGEST]}”, not of “{protocol}”.")
    if unknown := asked.hook_names - _list_hooks(protocol):
        raise BadBundle(f"The instrument calls what “{protocol}” here doesn't: {min(unknown)}.")


def _list_hooks(protocol: str) -> frozenset[str]:
    """List what the installed protocol calls, now and in version 0.1."""
    folder = find_folder(protocol)
    kept = folder.instrument_of_version_0_1
    then = frozenset[str]() if kept is None else Protocol.from_stored(kept).hook_names
    return folder.instrument.hook_names | then


def _insist_on_kind(kind: Any) -> None:
    try:
        get_scale(kind)
    except LookupError:
        raise BadBundle(
            f"This bundle asks with the kind of question “{str(kind)[:_LONGEST]}”, which isn't "
            "installed on this site. Install it, then try again."
        ) from None


def _insist_on_format(instrument: Mapping[str, Any], *allowed: str) -> None:
    """Refuse an instrument with faults of other codes than these; version 0.1 had no format."""
    if instrument.get("format") != FORMAT:
        return
    faults = [fault for fault in check_instrument(instrument) if fault.code not in allowed]
    if faults:
        raise BadBundle(f"An instrument in this bundle is not right: {_list_faults(faults)}.")


def _list_faults(faults: list[Fault]) -> str:
    return "; ".join(str(fault) for fault in faults[:_MOST_FAULTS])


def _unreadable() -> BadBundle:
    return BadBundle(
        "The criteria of an instrument in this bundle can't be read: something is missing, or of "
        "another kind."
    )

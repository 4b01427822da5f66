"""The protocols that are installed: folders that settings list, each with its instrument."""

import logging
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings

from evalsite.instruments.checks import InvalidInstrument, find_not_yet, read_instrument
from evalsite.instruments.faults import Fault, Faults
from evalsite.instruments.schema import Instrument
from evalsite.lib.limited import read_json

logger = logging.getLogger(__name__)
_PRACTICE = ("examples", "practice", "comprehension")


class ProtocolConfig(AppConfig):
    """Registers a protocol: subclass it in `<folder>/apps.py`, list the folder in settings.

    The folder's `protocol.json` is the instrument. `instructions.md` and `practice.json` beside it
    hold its longer texts, where they are easier to write.
    """

    # Django takes a module's only config class, and this imported base would count as one.
    default = False
    # title and summary of its demo; what is left out is the protocol's own
    demo_texts: Mapping[str, str] = MappingProxyType({})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.default = True

    @cached_property
    def instrument(self) -> Instrument:
        """Return what the folder holds.

        InvalidInstrument, OSError or a ValueError of JSON if anything is wrong with it.
        """
        data = self._read_object("protocol.json")
        if (self._folder / "practice.json").exists():
            data |= self._read_object("practice.json", _PRACTICE)
        if (instructions := self._folder / "instructions.md").exists():
            data["instructions"] = instructions.read_text(encoding="utf-8")
        instrument = read_instrument(data)
        if faults := find_not_yet(instrument):
            raise InvalidInstrument(faults)
        return instrument

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Say why the instrument can't be used; nothing if it can. Looked for, and logged, once."""
        problems: tuple[str, ...] = ()
        try:
            if self.instrument.key != self.label:
                problems = (f"key must be {self.label!r}, the name of its folder",)
        except InvalidInstrument as error:
            problems = tuple(map(str, error.faults))
        except (OSError, ValueError) as error:
            problems = (f"{type(error).__name__}: {error}",)
        if problems:
            logger.error("The protocol %s can't be used: %s", self.label, "; ".join(problems))
        return problems

    @property
    def example_batch(self) -> Path:
        return self._folder / "example_batch.csv"

    def _read_object(self, name: str, keys: Collection[str] = ()) -> dict[str, Any]:
        """Read a file; InvalidInstrument if it is no object, or has other keys than these."""
        data = read_json((self._folder / name).read_bytes())
        if not isinstance(data, dict):
            raise InvalidInstrument(Faults([Fault("type", name, "must be an object")]))
        faults = [
            Fault("unknown_key", f"{name}.{key}", f"can't be in this file, only {', '.join(keys)}")
            for key in data
            if keys and key not in keys
        ]
        if faults:
            raise InvalidInstrument(Faults(faults))
        return data

    @property
    def _folder(self) -> Path:
        return Path(self.path)


def installed_folders() -> dict[str, ProtocolConfig]:
    """Return the folders of the protocols that settings list, by key, in that order."""
    configs = {config.name: config for config in apps.get_app_configs()}
    listed = (configs.get(name) for name in settings.PROTOCOLS)
    return {config.label: config for config in listed if isinstance(config, ProtocolConfig)}


def find_folder(key: str) -> ProtocolConfig:
    """Return the folder of this protocol; LookupError if settings don't list it."""
    try:
        return installed_folders()[key]
    except KeyError:
        raise LookupError(f"No protocol {key!r} is listed in PROTOCOLS.") from None


def installed_protocols() -> dict[str, Instrument]:
    """Return the protocols that settings list, by key, in that order.

    One with a fault is left out, so that it stops nothing else; `manage.py check` names it.
    """
    folders = installed_folders().items()
    return {key: folder.instrument for key, folder in folders if not folder.problems}


def get_protocol(key: str) -> Instrument:
    """Return the installed protocol with this key; LookupError if settings don't list it."""
    return find_folder(key).instrument

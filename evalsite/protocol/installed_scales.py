"""The kinds of questions that settings list, each an app of its own."""

from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings

from evalsite.instruments.scales import Scale as Shape
from evalsite.protocol.scale import Scale


class ScaleConfig(AppConfig):
    """Registers a scale: subclass it in `<folder>/apps.py`, list the folder in settings.

    `shape`: its parameters as a model, for a kind that the format doesn't know by itself.
    """

    # Django takes a module's only config class, and this imported base would count as one.
    default = False
    scale: type[Scale]
    shape: "type[Shape] | None" = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.default = True
        # a protocol may have the name of a scale
        cls.label = f"scale_{cls.name.rpartition('.')[2]}"


def installed_scales() -> dict[str, type[Scale]]:
    """Return the scales that settings list, by kind, in that order."""
    configs = {config.name: config for config in apps.get_app_configs()}
    listed = (configs.get(name) for name in settings.SCALES)
    return {config.scale.kind: config.scale for config in listed if isinstance(config, ScaleConfig)}


def get_scale(kind: str) -> type[Scale]:
    """Return the installed scale of this kind; LookupError if settings don't list it."""
    try:
        return installed_scales()[kind]
    except KeyError:
        raise LookupError(f"No scale {kind!r} is listed in SCALES.") from None

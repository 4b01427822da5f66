"""Registers the scale with the site."""

from evalsite.protocol import ScaleConfig
from evalsite.scales.choices import Choices


class ChoicesConfig(ScaleConfig):
    name = "evalsite.scales.choices"
    scale = Choices

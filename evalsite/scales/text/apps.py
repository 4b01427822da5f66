"""Registers the scale with the site."""

from evalsite.protocol import ScaleConfig
from evalsite.scales.text import Text


class TextConfig(ScaleConfig):
    name = "evalsite.scales.text"
    scale = Text

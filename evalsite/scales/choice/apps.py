"""Registers the scale with the site."""

from evalsite.protocol import ScaleConfig
from evalsite.scales.choice import Choice


class ChoiceConfig(ScaleConfig):
    name = "evalsite.scales.choice"
    scale = Choice

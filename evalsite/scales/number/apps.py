"""Registers the scale with the site."""

from evalsite.protocol import ScaleConfig
from evalsite.scales.number import Number


class NumberConfig(ScaleConfig):
    name = "evalsite.scales.number"
    scale = Number

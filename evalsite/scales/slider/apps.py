"""Registers the scale with the site."""

from evalsite.protocol import ScaleConfig
from evalsite.scales.slider import Slider


class SliderConfig(ScaleConfig):
    name = "evalsite.scales.slider"
    scale = Slider

"""Registers the scale with the site."""

from evalsite.protocol import ScaleConfig
from evalsite.scales.checklist import Checklist


class ChecklistConfig(ScaleConfig):
    name = "evalsite.scales.checklist"
    scale = Checklist

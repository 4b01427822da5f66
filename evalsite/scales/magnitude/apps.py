from evalsite.protocol.installed_scales import ScaleConfig
from evalsite.scales.magnitude import Magnitude


class MagnitudeConfig(ScaleConfig):
    name = "evalsite.scales.magnitude"
    scale = Magnitude

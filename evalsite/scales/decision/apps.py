from evalsite.protocol.installed_scales import ScaleConfig
from evalsite.scales.decision import Decision


class DecisionConfig(ScaleConfig):
    name = "evalsite.scales.decision"
    scale = Decision

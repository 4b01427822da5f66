from evalsite.protocol.installed_scales import ScaleConfig
from evalsite.scales.likert import Likert


class LikertConfig(ScaleConfig):
    name = "evalsite.scales.likert"
    scale = Likert

from evalsite.protocol.scale import ScaleConfig
from evalsite.scales.likert import Likert


class LikertConfig(ScaleConfig):
    name = "evalsite.scales.likert"
    scale = Likert

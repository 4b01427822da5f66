from evalsite.platforms.contract import PlatformConfig
from evalsite.platforms.prolific import PROLIFIC


class ProlificConfig(PlatformConfig):
    name = "evalsite.platforms.prolific"
    platform = PROLIFIC

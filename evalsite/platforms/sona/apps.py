from evalsite.platforms.contract import PlatformConfig
from evalsite.platforms.sona import SONA


class SonaConfig(PlatformConfig):
    name = "evalsite.platforms.sona"
    platform = SONA

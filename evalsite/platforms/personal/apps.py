from evalsite.platforms.contract import PlatformConfig
from evalsite.platforms.personal import PERSONAL


class PersonalConfig(PlatformConfig):
    name = "evalsite.platforms.personal"
    platform = PERSONAL

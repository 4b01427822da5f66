from evalsite.platforms.contract import PlatformConfig
from evalsite.platforms.open_link import OPEN_LINK


class OpenLinkConfig(PlatformConfig):
    name = "evalsite.platforms.open_link"
    platform = OPEN_LINK

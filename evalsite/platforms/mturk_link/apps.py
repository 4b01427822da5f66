from evalsite.platforms.contract import PlatformConfig
from evalsite.platforms.mturk_link import MTURK_LINK


class MTurkLinkConfig(PlatformConfig):
    name = "evalsite.platforms.mturk_link"
    platform = MTURK_LINK

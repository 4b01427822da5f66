from evalsite.platforms.connect import CONNECT
from evalsite.platforms.contract import PlatformConfig


class ConnectConfig(PlatformConfig):
    name = "evalsite.platforms.connect"
    platform = CONNECT

from evalsite.platforms.contract import PlatformConfig
from evalsite.platforms.panel import PANEL


class PanelConfig(PlatformConfig):
    name = "evalsite.platforms.panel"
    platform = PANEL

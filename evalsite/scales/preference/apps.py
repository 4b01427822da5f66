from evalsite.protocol.installed_scales import ScaleConfig
from evalsite.scales.preference import Preference


class PreferenceConfig(ScaleConfig):
    name = "evalsite.scales.preference"
    scale = Preference

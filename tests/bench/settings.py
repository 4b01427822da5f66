"""The real settings, with one more app: the bare pair of views that we compare with."""

from evalsite.settings import *  # noqa: F403
from evalsite.settings import INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "tests.bench.bare"]
ROOT_URLCONF = "tests.bench.urls"

LOGGING["root"]["level"] = "WARNING"  # type: ignore[index]
# a whole crowd joins from one address
JOINS_PER_ADDRESS = JOINS_PER_STUDY = 0
# how much a site can take is what is measured, not what one link may send
SAVES_A_MINUTE = DRAFTS_A_MINUTE = 0

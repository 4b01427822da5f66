"""The tests' settings for a web server in a process of its own: it serves static files too."""

import os

from tests.settings import *  # noqa: F403

# over plain HTTP, too, a test can put a proxy in front
BEHIND_PROXY = os.environ.get("EVALSITE_TEST_PROXY") == "on"
# straight from the folders in which they are written: nothing has to be collected first
WHITENOISE_USE_FINDERS = True

"""The tests' settings for a web server in a process of its own: it serves static files too."""

from tests.settings import *  # noqa: F403

# straight from the folders in which they are written: nothing has to be collected first
WHITENOISE_USE_FINDERS = True

"""The WSGI entry point."""

import gc
import os
import sys

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from evalsite.checks import refuse_unsafe_database
from evalsite.lib.charsets import OneCharset

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = OneCharset(get_wsgi_application())
refuse_unsafe_database()

# All pages are loaded now, not by the first person who comes. What is loaded stays for good, so
# the search for garbage may leave it out, and need not come back at each request: about a tenth of
# the time of a save went there.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 10, 10)

# Most requests take a few milliseconds of processor time: with Python's usual 5 ms, threads stop
# each other in the middle of one, and switching costs time too.
sys.setswitchinterval(0.015)

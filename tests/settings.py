"""The site's settings for tests: the real ones, but for keys and folders."""

import os

os.environ |= {
    "EVALSITE_SECRET_KEY": "only-for-tests-" + "t" * 50,
    "EVALSITE_URL": "http://127.0.0.1",
    "EVALSITE_DEBUG": "off",
    "EVALSITE_SSO_SERVER": "https://id.example.org",
    "EVALSITE_SSO_NAME": "Example University",
    "EVALSITE_SSO_CLIENT": "evalsite",
    "EVALSITE_SSO_SECRET": "only-for-tests",
}

from evalsite.settings import *  # noqa: F403 (the real settings, all of them)
from evalsite.settings import ALLOWED_HOSTS, DATA_DIR, DATABASES, LOGGING, STORAGES

# the name that Django's test client asks for
ALLOWED_HOSTS = ["testserver", *ALLOWED_HOSTS]
SITE_ADDRESS = "http://testserver"
# whole crowds come from one address here; tests of the limits set their own
JOINS_PER_ADDRESS = JOINS_PER_STUDY = 0
# a test posts in a second what takes a person an hour
SAVES_A_MINUTE = DRAFTS_A_MINUTE = 0
LOGGING["root"]["level"] = "WARNING"  # type: ignore[index]

# A file, not memory: in memory neither WAL nor several connections mean anything.
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}

# No `collectstatic` before tests.
STORAGES = STORAGES | {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}

# Passwords in tests are no secrets; a slow hash would only slow every sign-in.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

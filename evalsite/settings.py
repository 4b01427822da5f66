"""Settings. Every value from the environment is EVALSITE_*, parsed, and refused if malformed."""

import sys
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from evalsite.lib import env
from evalsite.lib.folders import BASE_DIR, default_data_folder
from evalsite.limits import (  # noqa: F401 (read as settings, which tests may change)
    DRAFTS_A_MINUTE,
    EXPORT_STREAM_ROWS,
    INVITATION_DAYS,
    JOINS_PER_ADDRESS,
    JOINS_PER_STUDY,
    LOG_LEVEL,
    REVIEW_DAYS,
    SAVES_A_MINUTE,
    UPLOAD_JOB_BYTES,
    UPLOAD_MAX_BYTES,
    UPLOAD_MAX_CELL,
    UPLOAD_MAX_COLUMNS,
    UPLOAD_MAX_ROWS,
    UPLOAD_MAX_TEXT,
    UPLOAD_PERSON_BYTES,
    UPLOAD_PERSON_FILES,
    UPLOAD_STUDY_BYTES,
    UPLOAD_STUDY_FILES,
)

env.refuse_unknown_names()

# first, so that `protocols` is ours, wherever this is installed and started
if sys.path[0] != str(BASE_DIR):
    sys.path.insert(0, str(BASE_DIR))
DATA_DIR = Path(env.read_text("EVALSITE_DATA_DIR") or default_data_folder()).absolute()

# One line for each protocol; everything else about it is in its folder.
PROTOCOLS = [
    "protocols.magnitude",
    "protocols.rrgen",
    "protocols.dialogue",
    "protocols.fluency",
    "protocols.pairwise",
]

DEBUG = env.read_flag("EVALSITE_DEBUG", default=False)
SECRET_KEY = env.read_key("EVALSITE_SECRET_KEY")
if not SECRET_KEY:
    if not DEBUG:
        raise ImproperlyConfigured(
            "Set EVALSITE_SECRET_KEY (or EVALSITE_SECRET_KEY_FILE) to a long random text. "
            "`evalsite serve` makes one for you, in its data folder."
        )
    SECRET_KEY = env.FOR_DEBUGGING + "x" * 40
# earlier keys: what they signed is still accepted
SECRET_KEY_FALLBACKS = env.read_keys("EVALSITE_SECRET_KEY_FALLBACKS")

# where this site is reached: links in e-mails begin with it
_ADDRESS = env.read_address("EVALSITE_URL", "http://127.0.0.1:8000" if DEBUG else "")
if _ADDRESS is None:
    raise ImproperlyConfigured(
        "Set EVALSITE_URL to where this site is reached, such as https://evalsite.example.org."
    )
SITE_ADDRESS = _ADDRESS.url
ALLOWED_HOSTS = [*_ADDRESS.hosts, *env.read_hosts("EVALSITE_HOSTS")]

# --- applications ---------------------------------------------------------------

INSTALLED_APPS = [
    "evalsite.apps.EvalsiteAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "crispy_forms",
    # before the queue, whose worker it replaces
    "evalsite.core.jobs",
    "django_tasks",
    "django_tasks_db",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "csp",
    "evalsite.apps.EvalsiteConfig",
    "evalsite.core.audit",
    "evalsite.core.accounts",
    # databases know some apps by a label of their own: see apps.py of each
    "evalsite.studies",
    "evalsite.people",
    "evalsite.handout",
    "evalsite.fieldwork",
    "evalsite.decisions",
    "evalsite.data.files",
    "evalsite.data",
    "evalsite.operations",
    "evalsite.results",
    *PROTOCOLS,
]

MIDDLEWARE = [
    # before all that refuses a request: monitoring knows no host name and no HTTPS
    "evalsite.operations.health.HealthAddresses",
    "django.middleware.security.SecurityMiddleware",
    "evalsite.core.response_headers.BrowserLimits",
    "evalsite.core.response_headers.StaticFiles",
    "evalsite.core.response_headers.Compression",
    "csp.middleware.CSPMiddleware",
    # before the CSRF check, which reads the whole body of a request
    "evalsite.core.request_bodies.BodyCheck",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "evalsite.core.accounts.sessions.LastUsed",
]

ROOT_URLCONF = "evalsite.urls"
WSGI_APPLICATION = "evalsite.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["evalsite.core.template_loader.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["django.templatetags.static"],
        },
    }
]

CACHES = {
    # failed sign-ins, counted for all processes
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "evalsite_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
    # parts of pages that are the same for everyone, kept in each process (for the tag `cache`)
    "template_fragments": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "template-fragments",
        "OPTIONS": {"MAX_ENTRIES": 5_000},
    },
}

# --- database -------------------------------------------------------------------

DATABASES = {
    "default": env.read_database("EVALSITE_DATABASE", f"sqlite:///{DATA_DIR / 'evalsite.sqlite3'}")
}

# --- jobs -----------------------------------------------------------------------

TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}

# --- who may sign in ------------------------------------------------------------

LOGIN_URL = "account_login"
AUTHENTICATION_BACKENDS = [
    "evalsite.core.accounts.backend.AccountBackend",
    # sessions of older versions name it
    "django.contrib.auth.backends.ModelBackend",
]
ACCOUNT_ADAPTER = "evalsite.core.accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "evalsite.core.accounts.forms.SignInForm",
    "change_password": "evalsite.core.accounts.forms.NewPasswordForm",
    "reset_password": "evalsite.core.accounts.forms.PasswordForgottenForm",
}
ACCOUNT_LOGIN_METHODS = {"email", "username"}
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "django.contrib.auth.tokens.PasswordResetTokenGenerator"  # noqa: S105 (a class)
# wrong passwords and codes are counted in core/accounts/lockout.py
ACCOUNT_RATE_LIMITS = {"login_failed": None}
PASSWORD_RESET_TIMEOUT = 60 * 60

# signing in with an organisation, which needs the extra `sso`; empty: not offered
SSO_SERVER = env.read_text("EVALSITE_SSO_SERVER")
SSO_NAME = env.read_text("EVALSITE_SSO_NAME", "your organisation")
if SSO_SERVER:
    # before our pages of accounts, which take its tables out of Records
    _place = INSTALLED_APPS.index("evalsite.core.accounts")
    INSTALLED_APPS[_place:_place] = [
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ]
    SOCIALACCOUNT_ADAPTER = "evalsite.studies.sso.InvitedAdapter"
    SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "sso",
                    "name": SSO_NAME,
                    "client_id": env.read_text("EVALSITE_SSO_CLIENT"),
                    "secret": env.read_secret("EVALSITE_SSO_SECRET"),
                    "settings": {"server_url": SSO_SERVER},
                }
            ],
        }
    }
    # the organisation vouches for its addresses
    SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
    SOCIALACCOUNT_QUERY_EMAIL = True
MFA_ADAPTER = "evalsite.core.accounts.adapter.CodeAdapter"
MFA_FORMS = {
    "authenticate": "evalsite.core.accounts.forms.CodeForm",
    "reauthenticate": "evalsite.core.accounts.forms.CodeAgainForm",
}
# addresses are no condition of an account here
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "Evalsite"
MFA_TOTP_TOLERANCE = 1
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "evalsite.core.accounts.passwords.CommonPasswords"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "evalsite.core.accounts.passwords.DifferentCharacters"},
    {"NAME": "evalsite.core.accounts.passwords.WithoutNames"},
]

# --- e-mail ----------------------------------------------------------------------

# without a server and a sender, whatever would be sent is a link to copy
_MAIL = env.read_mail("EVALSITE_MAIL")
EMAIL_HOST, EMAIL_PORT = _MAIL.host, _MAIL.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _MAIL.user, _MAIL.password
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = EMAIL_PORT == 587
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.read_text("EVALSITE_MAIL_FROM")

# --- backups ------------------------------------------------------------------------

# a folder into which the worker writes a backup every day, keeping so many; empty: none
BACKUP_FOLDER = env.read_text("EVALSITE_BACKUP_FOLDER")
BACKUPS_KEPT = env.read_whole("EVALSITE_BACKUPS_KEPT", 14)

# --- identities -------------------------------------------------------------------

# how long identities are kept after a study was closed, or pay was last decided in it
IDENTITY_DAYS = env.read_whole("EVALSITE_IDENTITY_DAYS", 90)

# --- the web --------------------------------------------------------------------

HTTPS = _ADDRESS.is_https
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
# a site with HTTPS has a proxy in front, which sets X-Forwarded-Proto and, as the last address of
# X-Forwarded-For, who asks
BEHIND_PROXY = HTTPS
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
if HTTPS:
    SESSION_COOKIE_NAME = "__Host-session"
    CSRF_COOKIE_NAME = "__Host-csrf"
X_FRAME_OPTIONS = "DENY"

# no page uses these; copying to the clipboard is the only one that is used
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        *("accelerometer", "autoplay", "browsing-topics", "camera", "clipboard-read"),
        *("display-capture", "encrypted-media", "fullscreen", "gamepad", "geolocation"),
        *("gyroscope", "hid", "identity-credentials-get", "idle-detection", "local-fonts"),
        *("magnetometer", "microphone", "midi", "otp-credentials", "payment"),
        *("picture-in-picture", "publickey-credentials-create", "publickey-credentials-get"),
        *("screen-wake-lock", "serial", "storage-access", "sync-xhr", "usb"),
        *("window-management", "xr-spatial-tracking"),
    )
)

_FORM_TARGETS = [SELF]
if SSO_SERVER:
    # the form that starts signing in is redirected there
    _FORM_TARGETS += ["/".join(SSO_SERVER.split("/")[:3])]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": _FORM_TARGETS,
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4000  # the builder with forty questions and its practice
DATA_UPLOAD_MAX_NUMBER_FILES = 300  # of a folder; each is an open file while it comes in
FILE_UPLOAD_HANDLERS = ["evalsite.core.request_bodies.FilesWhereAskedFor"]
# the pages that a file may be sent to, by name; all others read past it
FILE_VIEWS = {
    "admin:study-new",
    "admin:new-upload-correct",
    "admin:new-ratings",
    "admin:new-ratings-file",
    "admin:new-ratings-create",
    "admin:upload-new",
    "admin:bundle-upload",
    "admin:instrument-import",
    "admin:upload-correct",
    "admin:pay-export",
}

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static", ("guides", BASE_DIR / "docs" / "images")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "evalsite.core.static_storage.SmallerStaticFiles"
    },
}
WHITENOISE_MAX_AGE = 60
WHITENOISE_ALLOW_ALL_ORIGINS = False

CRISPY_ALLOWED_TEMPLATE_PACKS = "evalsite"
CRISPY_TEMPLATE_PACK = "evalsite"  # templates/evalsite

# --- language and time ------------------------------------------------------------

LANGUAGE_CODE = "en-gb"
# what participants' pages are written in; a study in another language has them in English
LANGUAGES = [("en-gb", "English")]
USE_I18N = True
FORMAT_MODULE_PATH = "evalsite.formats"
TIME_ZONE = "UTC"
USE_TZ = True

# --- logs ---------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "routine": {"()": "evalsite.core.log_safety.LeaveOutRoutine"},
        "outages": {"()": "evalsite.core.outage.OneLineAMinute"},
        "hide_tokens": {"()": "evalsite.core.log_safety.HideTokens"},
    },
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "filters": ["routine", "outages", "hide_tokens"],
            "formatter": "line",
        }
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # replace the handlers of Django and of the web server, so that every line goes through the
    # filter; gunicorn's levels stay as its own --log-level says
    "loggers": {
        "django": {"handlers": ["console"], "level": LOG_LEVEL, "propagate": False},
        "django.server": {"handlers": ["console"], "level": LOG_LEVEL, "propagate": False},
        "gunicorn.error": {"handlers": ["console"], "propagate": False},
        "gunicorn.access": {"handlers": ["console"], "propagate": False},
        # a drawing as PDF would log every table of every font that it embeds
        "fontTools": {"level": "WARNING"},
        # two lines for each job
        "django_tasks": {"level": "WARNING"},
    },
}

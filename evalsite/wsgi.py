"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

from evalsite.checks import refuse_unsafe_database

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = get_wsgi_application()
refuse_unsafe_database()

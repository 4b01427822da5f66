"""All addresses of the site, and the bare pair."""

from django.urls import path

from evalsite.urls import handler404 as handler404
from evalsite.urls import urlpatterns as site_urlpatterns
from tests.bench.bare.views import bare, bare_page, bare_text

urlpatterns = [
    *site_urlpatterns,
    path("bare/", bare, name="bare"),
    path("bare/page/", bare_page, name="bare-page"),
    path("bare/text/<int:item>/", bare_text, name="bare-text"),
]

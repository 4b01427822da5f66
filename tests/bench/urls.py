"""All addresses of the site, and the bare pair."""

from django.urls import path

from evalsite.urls import handler404 as handler404
from evalsite.urls import urlpatterns as site_urlpatterns
from tests.bench.bare.views import bare

urlpatterns = [*site_urlpatterns, path("bare/", bare, name="bare")]

"""Headers of every response, and which static files are served."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware


class BrowserLimits(MiddlewareMixin):
    """Tell browsers to refuse what no page uses, and to keep other sites from loading ours."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        # it is for documents: with a style or a script it would only be half a kilobyte more
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers["Permissions-Policy"] = settings.PERMISSIONS_POLICY
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response


class StaticFiles(WhiteNoiseMiddleware):
    """Serve the collected files, but not the list of them."""

    def add_file_to_dictionary(self, url: str, path: str, **known: Any) -> None:
        if not url.endswith("/staticfiles.json"):
            super().add_file_to_dictionary(url, path, **known)

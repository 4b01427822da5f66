"""Headers of every response, how pages are compressed, and which static files are served."""

import re
from typing import Any

import brotli
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware

from evalsite.core.log_safety import holds_secret

# higher ones take longer and save next to nothing
_QUALITY = 5


class BrowserLimits(MiddlewareMixin):
    """Tell browsers to refuse what no page uses, and to keep other sites from loading ours.

    Pages whose address is a secret stay out of every cache.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        # it is for documents: elsewhere it would only be half a kilobyte more
        is_document = response.headers.get("Content-Type", "").startswith("text/html")
        if is_document and "Location" not in response.headers:
            response.headers["Permissions-Policy"] = settings.PERMISSIONS_POLICY
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        match = request.resolver_match
        is_kept = "no-store" not in response.headers.get("Cache-Control", "")
        if is_kept and match is not None and holds_secret(match.kwargs):
            response.headers["Cache-Control"] = "no-store"
        return response


class Compression(GZipMiddleware):
    """Compress pages with Brotli where browsers know it, which saves a tenth, all else with gzip.

    Pages that depend on a cookie stay with gzip, whose random padding hides their length.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_known = re.search(r"\bbr\b", request.headers.get("Accept-Encoding", ""))
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        has_cookie = "Cookie" in response.headers.get("Vary", "")
        if not is_known or not is_page or has_cookie or not isinstance(response, HttpResponse):
            return super().process_response(request, response)
        packed = brotli.compress(response.content, brotli.MODE_TEXT, quality=_QUALITY)
        response.content = packed
        response.headers["Content-Encoding"] = "br"
        response.headers["Content-Length"] = str(len(packed))
        patch_vary_headers(response, ("Accept-Encoding",))
        return response


class StaticFiles(WhiteNoiseMiddleware):
    """Serve the collected files, but not the list of them."""

    def add_file_to_dictionary(self, url: str, path: str, **known: Any) -> None:
        if not url.endswith("/staticfiles.json"):
            super().add_file_to_dictionary(url, path, **known)

"""How much may be sent to a page, settled before any of it is read or kept."""

from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.files.uploadhandler import SkipFile, TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

MEGABYTE = 1024 * 1024
# what stands around a file in the body of a request: other fields, boundaries
SLACK = MEGABYTE


def takes_files(request: HttpRequest) -> bool:
    """Whether a file may be sent to this page."""
    match = request.resolver_match
    return match is not None and match.view_name in settings.FILE_VIEWS


class BodyLimit(MiddlewareMixin):
    """Answers a body that is too large, by its Content-Length, before anything reads it.

    No server hands over more than that length, and nothing at all where it is missing.
    """

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponseBase | None:
        size = _length_of(request)
        if size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return None
        if not takes_files(request):
            return _too_large(request, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        if size > settings.UPLOAD_MAX_BYTES + SLACK:
            return _too_large(request, settings.UPLOAD_MAX_BYTES)
        return None


class FilesWhereAskedFor(TemporaryFileUploadHandler):
    """Files go to disk where a page asks for one; elsewhere they are read past."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        if self.request is None or not takes_files(self.request):
            raise SkipFile
        super().new_file(*args, **kwargs)


def _length_of(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def _too_large(request: HttpRequest, limit: int) -> HttpResponse:
    context = {"limit": f"{limit / MEGABYTE:g} MB", "is_file": takes_files(request)}
    return render(request, "413.html", context, status=413)

"""What may be sent to a page, and how much, settled before any of it is used or kept."""

from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import SkipFile, TemporaryFileUploadHandler
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, UnreadablePostError
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from evalsite.lib.charsets import REFUSED

MEGABYTE = 1024 * 1024
# what surrounds a file in a request's body: other fields, boundaries
SLACK = MEGABYTE


def takes_files(request: HttpRequest) -> bool:
    """Return whether a file may be sent to this page."""
    match = request.resolver_match
    return match is not None and match.view_name in settings.FILE_VIEWS


class BodyCheck(MiddlewareMixin):
    """Answer what no page should read: another charset, a body that is too large or cut off.

    The size is what Content-Length says. No server hands over more than that, and nothing at all
    where it is missing.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if REFUSED in request.META:
            return render(None, "415.html", status=415)
        if "\0" in request.path_info:
            # some databases refuse even to look for it
            raise Http404("No address contains a NUL.")
        if request.encoding is not None:
            request.encoding = "utf-8"  # however it was spelled
        if any("\0" in "".join((name, *values)) for name, values in request.GET.lists()):
            request.GET = _replace_nul(request.GET)  # type: ignore[assignment]
        return None

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponseBase | None:
        return self._check_size(request) or self._check_text(request)

    def _check_size(self, request: HttpRequest) -> HttpResponseBase | None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        size = int(length) if length.isascii() and length.isdigit() else 0
        if size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return None
        if not takes_files(request):
            return _too_large(request, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        if size > settings.UPLOAD_MAX_BYTES + SLACK:
            return _too_large(request, settings.UPLOAD_MAX_BYTES)
        return None

    def _check_text(self, request: HttpRequest) -> HttpResponse | None:
        try:
            _ = request.POST
        except TooManyFilesSent:
            context = {"most_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES}
            return render(request, "413.html", context, status=413)
        except UnreadablePostError:
            return render(None, "408.html", status=408)
        return None


class FilesWhereAskedFor(TemporaryFileUploadHandler):
    """Write files to disk where a page asks for one; elsewhere read past them."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        if self.request is None or not takes_files(self.request):
            raise SkipFile
        super().new_file(*args, **kwargs)


def _replace_nul(sent: QueryDict) -> QueryDict:
    """Return a copy with U+FFFD for each NUL, which some databases refuse even to look for.

    Dropped instead, it would turn what is malformed into something valid.
    """
    kept = QueryDict(mutable=True)
    for name, values in sent.lists():
        kept.setlist(
            name.replace("\0", "\ufffd"), [value.replace("\0", "\ufffd") for value in values]
        )
    return QueryDict(kept.urlencode())


def _too_large(request: HttpRequest, limit: int) -> HttpResponse:
    context = {"limit": f"{limit / MEGABYTE:g} MB", "is_file": takes_files(request)}
    return render(request, "413.html", context, status=413)

"""Small files, sent to be saved."""

from django.http import HttpResponse


def send_csv(text: str | bytes, name: str) -> HttpResponse:
    """The text as a file of this name."""
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response

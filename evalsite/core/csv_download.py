"""Small tables as downloads."""

from django.http import HttpResponse


def send_csv(text: str | bytes, name: str, *, is_personal: bool = False) -> HttpResponse:
    """Send a small file under this name; no cache keeps one that is about people."""
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    if is_personal:
        response.headers["Cache-Control"] = "no-store"
    return response

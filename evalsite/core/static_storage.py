"""How static files are collected: smaller, compressed, and named after their content."""

from collections.abc import Callable
from pathlib import PurePath

from django.core.files.base import ContentFile, File
from rcssmin import cssmin
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

_SHORTEN: dict[str, Callable[..., str]] = {".js": jsmin, ".css": cssmin}


class SmallerStaticFiles(CompressedManifestStaticFilesStorage):
    """Drop comments, except those of licences, and white space from scripts and styles."""

    # a script that imports another one gets the name under which that is cached
    support_js_module_import_aggregation = True

    def _save(self, name: str, content: File) -> str:
        if shorten := _SHORTEN.get(PurePath(name).suffix):
            text = b"".join(content.chunks()).decode()
            content = ContentFile(shorten(text, keep_bang_comments=True).encode())
        return str(super()._save(name, content))

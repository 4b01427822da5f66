"""Staff pages of files that go out."""

from evalsite.data.files import views  # noqa: F401 (pages that register themselves)

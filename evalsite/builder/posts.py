"""What the builder's form posts: each of its fields once, and nothing else."""

from django.http import QueryDict

from evalsite.instruments.fields import drop_unstorable

# more rows than any list of the format may have, so that one too many can be shown and removed
MOST_ROWS = 400
# of the page, and not of the draft
_OF_PAGE = frozenset({"csrfmiddlewaretoken", "revision", "do", "as"})


def clean(text: str) -> str:
    """Return a text as it is compared: without spaces around it, and with plain line breaks."""
    return text.replace("\r\n", "\n").strip()


class BadPost(ValueError):
    """The fields that were posted aren't those of the form."""


class Post:
    """The fields of a form, each of which has to be read."""

    def __init__(self, data: QueryDict) -> None:
        self.values: dict[str, str] = {}
        for name, texts in data.lists():
            if len(texts) != 1:
                raise BadPost(f"{name} was sent {len(texts)} times")
            self.values[name] = drop_unstorable(str(texts[0]))
        self._unread = self.values.keys() - _OF_PAGE

    def read(self, name: str) -> str:
        """Return the text of a field, without spaces around it; BadPost if it wasn't sent."""
        if name not in self.values:
            raise BadPost(f"{name} is missing")
        self._unread.discard(name)
        return clean(self.values[name])

    def read_if_sent(self, name: str) -> str | None:
        return self.read(name) if name in self.values else None

    def lacks(self, name: str) -> bool:
        """Tell whether nothing was sent for a field, or for what is below it."""
        return not any(sent == name or sent.startswith(f"{name}-") for sent in self.values)

    def is_ticked(self, name: str) -> bool:
        """Tell whether a box is ticked: one that isn't is never sent."""
        self._unread.discard(name)
        return name in self.values

    def count(self, name: str) -> int:
        """Return how many rows a list has; BadPost if that can't be."""
        text = self.read(name)
        if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text) <= MOST_ROWS):
            raise BadPost(f"{name} is no number of rows")
        return int(text)

    def finish(self) -> None:
        """Raise BadPost if a field was sent that the form doesn't have."""
        if self._unread:
            raise BadPost(f"{min(self._unread)} is no field of this form")

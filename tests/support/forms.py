"""What a browser would post of a form on a page."""

from html.parser import HTMLParser


class _Form(HTMLParser):
    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id, self.is_in, self.values = form_id, False, {}
        self._area, self._select = "", ""

    def handle_starttag(self, tag: str, attrs: list) -> None:
        given = dict(attrs)
        if tag == "form":
            self.is_in = given.get("id") == self.form_id
        if not self.is_in or "disabled" in given or given.get("form", self.form_id) != self.form_id:
            return
        name, kind = given.get("name", ""), given.get("type", "text")
        if tag == "input" and name and (kind not in ("radio", "checkbox") or "checked" in given):
            self.values[name] = given.get("value") or ("on" if kind == "checkbox" else "")
        elif tag == "textarea":
            self._area, self.values[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and (
            "selected" in given or (self._select and self._select not in self.values)
        ):
            self.values[self._select] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.is_in = False
        elif tag == "textarea":
            self._area = ""
        elif tag == "select":
            self._select = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.values[self._area] += data


def read_form(html: str, form_id: str) -> dict[str, str]:
    """Return the fields of the form with this id, as they stand on the page."""
    form = _Form(form_id)
    form.feed(html)
    # a browser drops the line break after a textarea's tag
    return {name: text.removeprefix("\n") for name, text in form.values.items()}

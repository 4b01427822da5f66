"""How moments are written where a page leaves it to Django, such as in the stock pages."""

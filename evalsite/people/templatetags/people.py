"""People on pages of a study: by name for those who may see identities, else by pseudonym."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html

register = template.Library()


@register.simple_tag(takes_context=True)
def person_name(context: Any, pseudonym: str) -> str:
    """Return the name of someone who was invited by name, otherwise the pseudonym."""
    return str(context["people_names"].get(pseudonym, pseudonym))


@register.simple_tag(takes_context=True)
def person(context: Any, pseudonym: str) -> str:
    """Link to a person's page by name, with the pseudonym below, or by the pseudonym alone."""
    address = reverse("admin:study-person", args=[context["study"].pk, pseudonym])
    name = context["people_names"].get(pseudonym)
    if name is None:
        return format_html('<a class="mono" href="{}">{}</a>', address, pseudonym)
    link = format_html('<a href="{}"><bdi>{}</bdi></a>', address, name)
    return format_html('{}<small class="mono">{}</small>', link, pseudonym)

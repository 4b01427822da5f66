"""Numbers and lists in the sentences of a report, and its entries: a name, and words."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils.formats import date_format
from django.utils.translation import get_language_info

from evalsite.results.document.text import quote_markdown
from evalsite.results.report.prose import join_lines
from evalsite.results.report.sentences import write_sentence
from evalsite.studies.summary_lines import count_of, format_moment, format_money, list_of

register = template.Library()


@register.filter
def number(value: float) -> str:
    """Write 1234 as "1,234"."""
    return f"{value:,}"


@register.filter
def count(value: int, noun: str) -> str:
    """Write 3 as "3 items"; `noun`: "item", or "criterion,criteria"."""
    singular, _, plural = noun.partition(",")
    return count_of(value, singular, plural)


@register.filter
def p_value(written: str) -> str:
    """Write ".012" as "= .012", and "< .001" as it is."""
    return written if written[:1] in "<>" else f"= {written}"


@register.filter
def listing(words: Iterable[str]) -> str:
    """Write "a", "a and b", "a, b and c"."""
    return list_of(list(words))


@register.filter
def day(moment: str | None) -> str:
    """Write the day of a moment as the report holds it; "" if there is none."""
    return date_format(datetime.fromisoformat(moment), "j F Y") if moment else ""


@register.filter
def moment(at: str) -> str:
    """Write a moment as the report holds it, with its time."""
    return format_moment(datetime.fromisoformat(at))


@register.filter
def money(amount: str, currency: str) -> str:
    """Write an amount with the sign of its currency."""
    return format_money(Decimal(amount), currency)


@register.filter
def markdown(text: str) -> str:
    """Quote the text for Markdown."""
    return quote_markdown(text)


@register.filter
def language(code: str) -> str:
    """Write "en" as "English"; a code without a known name stays as it is."""
    try:
        return str(get_language_info(code)["name"])
    except KeyError:
        return code


@register.simple_tag
def comma(loop: dict[str, Any]) -> str:
    """Separate what a loop lists: "a", "a and b", "a, b and c"."""
    if loop["first"]:
        return ""
    return " and " if loop["last"] else ", "


@register.simple_tag
def sentence(code: str, **facts: Any) -> str:
    """Write the sentence of a code from its facts, as results/report/sentences.py words it."""
    return write_sentence({"code": code, "facts": facts})


@register.simple_block_tag(takes_context=True, end_name="endentry")
def entry(context: template.Context, content: str, name: str, *, keep_lines: bool = False) -> str:
    """Add the name and its words to the entries of the template; "" if nothing is known."""
    context["entries"].append((name, content.strip() if keep_lines else join_lines(content)))
    return ""

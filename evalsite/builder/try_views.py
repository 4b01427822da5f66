"""Trying an instrument before a study is made of it: what is posted is checked and dropped."""

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.builder.gallery import find_entry
from evalsite.builder.trying import list_samples, render_instructions, try_item

INVALID = 422


@require_http_methods(["GET", "HEAD", "POST"])
def try_instrument(request: HttpRequest, kind: str, name: str, number: int) -> HttpResponseBase:
    """Ask one item; once answered, say what is suggested."""
    value = f"{kind}:{name}"
    entry = find_entry(value, request.user)
    if entry is None:
        raise Http404("No such instrument.")
    config = entry.config
    total = len(list_samples(config))
    if not 1 <= number <= total:
        raise Http404("No such item.")
    data = request.POST if request.method == "POST" else None
    context = try_item(config, number, data)
    context |= {
        "instructions_url": reverse("admin:instrument-instructions", args=[kind, name]),
        "back_url": reverse("admin:new-all"),
        "use_url": f"{reverse('admin:new-from')}?instrument={value}",
        "next_url": number < total
        and reverse("admin:instrument-try", args=[kind, name, number + 1]),
    }
    status = INVALID if context["errors"] else 200
    return render(request, list(config.item_template), context, status=status)


@require_safe
def show_instructions(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    """Show the instructions of an instrument that is tried."""
    entry = find_entry(f"{kind}:{name}", request.user)
    if entry is None:
        raise Http404("No such instrument.")
    config = entry.config
    context = {
        "texts": {"title": config.title, "language": config.language},
        "heading": config.instructions_title or config.title,
        "html": render_instructions(config),
        "try_url": entry.try_url,
    }
    return render(request, "builder/instructions.html", context)

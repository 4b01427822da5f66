from datetime import timedelta
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt

from evalsite.instruments.installed import get_protocol
from evalsite.lib.clock import now
from evalsite.participation.view_models import Progress, view_item
from evalsite.studies.models import Item
from tests.bench.bare.models import Row

TEXTS = [
    f"This is the text of output {number}, about as long as a real one." for number in (1, 2, 3)
]
MR = "name[Cocum], type[restaurant], food[Italian], area[city centre], familyFriendly[no]"


@csrf_exempt
def bare(request: HttpRequest) -> HttpResponse:
    """A POST inserts one row and redirects; a GET renders one page without a query."""
    if request.method == "POST":
        Row.objects.create(value=int(request.POST["score-1"]))
        return redirect("bare")
    return render(request, "bare/bare.html", {"texts": TEXTS})


@csrf_exempt
def bare_page(request: HttpRequest) -> HttpResponse:
    """The same, but the page is a whole rating page, with everything in it made beforehand."""
    if request.method == "POST":
        Row.objects.create(value=int(request.POST["score-1"]))
        return redirect("bare-page")
    return render(request, get_protocol("magnitude").item_template, dict(_page()))


@cache
def _page() -> dict[str, Any]:
    config = get_protocol("magnitude")
    home = f"/p/{'x' * 22}/"
    return {
        "frame": "participation/annotate.html",
        "layout": config.layout,
        "texts": {
            "title": "Restaurant descriptions", "organisation": "University of Exampleton",
            "contact_name": "Ada Example", "contact_email": "ada@example.org", "language": "en",
        },
        "urls": {
            name: f"{home}{name}/"
            for name in ("home", "examples", "instructions", "stop", "withdraw")
        },
        "item": view_item(
            config, inputs={"mr": MR}, texts=TEXTS, options=config.default_options
        ),
        "item_name": config.item.name,
        "place": 4,
        "total": 10,
        "state": "x" * 120,
        "order_mark": "0" * 12,
        "status": "Saved",
        "errors": [],
        "has_back": True,
        "draft_url": f"{home}draft/",
        "report_url": f"{home}sets/1/items/4/report/?state={'x' * 120}",
        "progress": Progress(3, 10),
        "minutes_left": 4,
        "lease_until": now() + timedelta(hours=1),
        "reserved_until": None,
    }  # fmt: skip


@cache
def _read_texts(item: int) -> tuple[str, list[str]]:
    """Return an item's inputs in one text, and its outputs, read once."""
    row = Item.objects.prefetch_related("outputs").get(pk=item)
    return "\n".join(row.inputs.values()), [output.text for output in row.outputs.all()]


def bare_text(request: HttpRequest, item: int) -> HttpResponse:
    """Show the texts of an item and a form, without stylesheet, script or query."""
    inputs, outputs = _read_texts(item)
    return render(request, "bare/text.html", {"inputs": inputs, "texts": outputs})

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt

from tests.bench.bare.models import Row

TEXTS = [
    f"This is the text of output {number}, about as long as a real one." for number in (1, 2, 3)
]


@csrf_exempt
def bare(request: HttpRequest) -> HttpResponse:
    """A POST inserts one row and redirects; a GET renders one page without a query."""
    if request.method == "POST":
        Row.objects.create(value=int(request.POST["score-1"]))
        return redirect("bare")
    return render(request, "bare/bare.html", {"texts": TEXTS})

"""Results of error spans in a browser: accessible, and as wide as the window."""

import pytest
from django.urls import reverse

from evalsite.results.report.computation import compute_report
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn, find_overflow
from tests.support.factories import make_user
from tests.support.spans import answer_vector, make_spans_study

pytestmark = pytest.mark.django_db(transaction=True)


def test_pages_of_errors_are_accessible_and_as_wide_as_the_window(page, live_server):
    study = make_spans_study()
    study.systems.filter(name="C").update(name="<b>نظام C " + "long name " * 6)
    answer_vector(study)
    compute_report(study)
    item = study.items.get(key="i01/A")
    sign_in(page, live_server, make_user(is_superuser=True))

    faults = []
    for name, *rest in (
        ("results-question", "errors"), ("results-items",), ("results-item", item.pk),
        ("results-raters",), ("study-results",),
    ):  # fmt: skip
        page.goto(f"{live_server}{reverse(f'admin:{name}', args=[study.pk, *rest])}")
        faults += find_faults_in_turn(page)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            faults += find_overflow(page, width)

    assert faults == []

"""Who sees the comparison of a study with the one that it repeats, and what is told where there is
nothing to compare."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.results.replication.comparison import KIND, choose_original
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, sign_in
from tests.support.factories import make_study as build_study
from tests.support.factories import make_user
from tests.support.repeated import compare, page, rate


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=3, title="The repeat")


@pytest.fixture
def original(make_study: Callable[..., Any]) -> Study:
    return make_study(items=3, title="The first one")


def test_viewers_read_and_editors_choose(study: Study, original: Study) -> None:
    given = {
        role: member(study, role).post(page("study-repeat-choose", study), {}).status_code
        for role in ("owner", "editor", "viewer")
    }

    assert given == {"owner": 302, "editor": 302, "viewer": 403}
    viewed = member(study, "viewer").get(page("study-repeat", study))
    assert viewed.status_code == 200
    assert b"<select" not in viewed.content


def test_stranger_finds_no_page(study: Study) -> None:
    client = sign_in(make_user("stranger"))

    assert client.get(page("study-repeat", study)).status_code == 404


def test_a_deleted_study_is_told_without_its_title(staff_client: Client, study: Study) -> None:
    original = build_study(items=0, title="The first one")
    choose_original(study=study, original=original, by=None)
    job = Job.objects.create(kind=KIND, study_id=study.pk, params={"original": str(original.pk)})

    original.delete()
    html = staff_client.get(page("study-repeat", study)).content.decode()

    assert "has been deleted, or is no longer chosen" in html
    assert "The first one" not in html
    assert run_job(job).message == "The other study has been deleted. Choose another one."


def test_page_goes_on_saying_that_a_study_has_no_answers(
    staff_client: Client, study: Study, original: Study
) -> None:
    rate(study)
    staff_client.post(page("study-repeat-choose", study), {"original": str(original.pk)})

    pages = [staff_client.get(page("study-repeat", study)).content.decode() for _ in range(2)]

    assert [one.count("The other study has no answers yet.") for one in pages] == [1, 1]


@pytest.mark.torture
@pytest.mark.slow
def test_studies_of_other_systems_are_told_in_one_sentence(
    staff_client: Client, study: Study, original: Study
) -> None:
    for system in original.systems.all():  # type: ignore[attr-defined]
        system.name = f"old-{system.name}"
        system.save()
    for one in (study, original):
        rate(one)

    html = compare(staff_client, study, original)

    assert "The two studies have no system in common, so there is nothing to compare." in html
    assert "scores of systems" not in html
    assert "Correlations of so few systems" not in html


@pytest.mark.torture
@pytest.mark.slow
def test_titles_and_names_are_never_markup(
    staff_client: Client, study: Study, original: Study
) -> None:
    hostile = "<script>alert(1)</script>"
    Study.objects.filter(pk=original.pk).update(title=hostile)
    for one in (study, original):
        one.systems.filter(name="neural").update(name=hostile)  # type: ignore[attr-defined]
        rate(one)

    html = compare(staff_client, study, original)

    assert hostile not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html

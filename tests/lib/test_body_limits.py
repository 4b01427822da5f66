"""What is sent to a page is bounded before it is read, and files are taken only where asked for."""

from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.data.models import Upload
from tests.support.factories import make_participant, make_study, mint_link

MEGABYTE = 1024 * 1024


class Broken:
    """A body whose sender has gone."""

    def read(self, *args: Any) -> bytes:
        raise ConnectionResetError

    readline = read


class Unread:
    """A body that nobody may touch."""

    def read(self, *args: Any) -> bytes:
        raise AssertionError("The body was read.")

    readline = read


def send_length(client: Client, address: str, length: int, body: Any = None):
    """The answer to a form that claims this length."""
    return client.generic(
        "POST",
        address,
        **{
            "CONTENT_TYPE": "multipart/form-data; boundary=parts",
            "CONTENT_LENGTH": str(length),
            "wsgi.input": body or Unread(),
        },
    )


def upload_address(study) -> str:
    return reverse("admin:upload-new", args=[study.pk])


def test_bad_29_upload_that_is_far_too_large_is_refused_unread(staff_client):
    response = send_length(staff_client, upload_address(make_study()), 27 * MEGABYTE)

    assert response.status_code == 413
    assert "A file may have 25 MB at most" in response.text
    assert not Upload.objects.exists()


def test_bad_29_the_site_takes_what_the_documented_proxy_lets_through(staff_client):
    with pytest.raises(AssertionError, match="The body was read"):
        send_length(staff_client, upload_address(make_study()), 26 * MEGABYTE)


def test_bad_81_a_body_that_breaks_off_is_408_and_no_error_of_the_site(client):
    response = send_length(client, reverse("account_login"), 100, Broken())

    assert response.status_code == 408


def test_bad_29_upload_that_is_shorter_than_it_says_stores_nothing(staff_client):
    staff_client.raise_request_exception = False

    broken_off = BytesIO(
        b'--parts\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nitem'
    )

    response = send_length(staff_client, upload_address(make_study()), 20 * MEGABYTE, broken_off)

    assert response.status_code in (400, 422)
    assert not Upload.objects.exists()


def test_bad_29_stranger_is_asked_to_sign_in_before_a_file_is_read(db):
    response = send_length(Client(), upload_address(make_study()), 20 * MEGABYTE)

    assert response.status_code == 302
    assert response.url.startswith(reverse("admin:login"))


def find_address(page: str) -> str:
    """The address of a page of a new study, for somebody who takes part in it."""
    study = make_study()
    home = mint_link(make_participant(study))
    addresses: dict[str, str] = {
        "join": reverse("study-join", args=[study.pk]),
        "consent": f"{home}consent/",
        "draft": f"{home}draft/",
        "login": reverse("account_login"),
        "overview": reverse("admin:study-overview", args=[study.pk]),
    }
    return addresses[page]


@pytest.mark.parametrize("page", ["join", "consent", "draft", "login", "overview"])
def test_bad_50_page_without_files_refuses_a_large_body_unread(db, page):
    response = send_length(Client(), find_address(page), 3 * MEGABYTE)

    assert response.status_code == 413
    assert "At most 2.5 MB can be sent to this page" in response.text
    assert not response.cookies


@pytest.mark.one_case
@pytest.mark.parametrize("page", ["join", "consent", "draft", "login"])
def test_bad_50_too_many_fields_are_refused_with_a_plain_page(db, page):
    fields = range(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)

    response = Client().post(find_address(page), {f"field-{number}": "1" for number in fields})

    assert response.status_code == 400
    assert "<h1>" in response.text
    assert not response.cookies


@pytest.mark.parametrize("page", ["consent", "login"])
def test_file_sent_to_a_page_that_takes_none_is_not_kept(db, page):
    home = mint_link(make_participant(make_study()))
    address = f"{home}consent/" if page == "consent" else reverse("account_login")
    file = SimpleUploadedFile("a.csv", b"x" * 100)

    response = Client().post(address, {"go": "decline", "file": file})

    assert response.status_code in (200, 302, 422)
    assert not response.wsgi_request.FILES
    assert response.wsgi_request.POST["go"] == "decline"


def test_every_page_that_takes_files_exists():
    an_id = "00000000-0000-4000-8000-000000000000"
    # how many ids an address has; every other has that of its study or upload
    ids = {
        "admin:study-new": 0,
        "admin:new-ratings": 0,
        "admin:bundle-upload": 0,
        "admin:instrument-import": 0,
        "admin:upload-correct": 2,
    }

    assert ids.keys() <= settings.FILE_VIEWS
    assert all(reverse(name, args=[an_id] * ids.get(name, 1)) for name in settings.FILE_VIEWS)

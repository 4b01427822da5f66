"""What a password may not be."""

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import CommonPasswordValidator, validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from tests.core.accounts.test_account_log import Walk
from tests.support.accounts import PASSWORD, sign_in

JANE = User(username="Janet", email="j@example.org")


def list_faults(password: str) -> list[str]:
    try:
        validate_password(password, JANE)
    except ValidationError as error:
        return [fault.code for fault in error.error_list]
    return []


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("Elevenchars", "password_too_short"),
        ("aaaaaaaaaaaa", "password_too_uniform"),
        ("abababABABab", "password_too_uniform"),
        ("abcd" * 5, "password_too_uniform"),
        ("Password123!", "password_too_common"),
        ("2024passWORD2024", "password_too_common"),
        ("!!Football99!!", "password_too_common"),
        ("qwertyuiop123456", "password_too_common"),
        ("janetjanet12", "password_contains_a_name"),
        ("x9-JANET-kq7w2", "password_contains_a_name"),
        ("my-EvalSite-login", "password_contains_a_name"),
        ("7391846205173", "password_entirely_numeric"),
    ],
)
def test_weak_passwords_are_refused(password, fault):
    assert fault in list_faults(password)


@pytest.mark.parametrize(
    "password",
    [PASSWORD, "abcde" * 3, "correct horse battery staple", "Fußgängerüberweg", "kL9#vT2$qX7!"],
)
def test_others_are_taken(password):
    assert list_faults(password) == []


def test_short_user_name_may_be_part_of_a_password():
    validate_password(PASSWORD, User(username="wo"))


def test_list_has_more_than_10_000_passwords():
    assert len(CommonPasswordValidator().passwords) > 10_000


@pytest.mark.django_db
@pytest.mark.slow
def test_page_refuses_them_too(jane, served_before):
    client = Client()
    sign_in(client)
    weak = {"oldpassword": PASSWORD, "password1": "otherJANE12x", "password2": "otherJANE12x"}

    response = client.post("/account/password/", weak)

    assert response.status_code == 422
    assert User.objects.get(pk=jane.pk).check_password(PASSWORD)


@pytest.mark.django_db
def test_user_name_of_a_new_account_is_refused_as_part_of_its_password(jane):
    path, fields = Walk(jane).invitation()
    weak = "xx-priya-2049"

    response = Client().post(path, fields | {"password1": weak, "password2": weak})

    assert response.status_code == 422
    assert not User.objects.filter(username="priya").exists()

"""The harness itself: another process and a browser see what a test wrote."""

import os
import subprocess
import sys

import pytest

from tests.support.browsing import follow

COUNT_USERS = """
import django
django.setup()
from django.contrib.auth.models import User
print(User.objects.count())
"""


def test_another_process_sees_the_rows_of_a_test(researcher, database_url):
    done = subprocess.run(
        [sys.executable, "-c", COUNT_USERS],
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "tests.settings", "EVALSITE_DATABASE": database_url},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "1"


@pytest.mark.django_db(transaction=True)
def test_the_browser_signs_in_to_the_live_site(page, live_server, researcher):
    researcher.set_password("a long enough password")
    researcher.save()

    page.goto(f"{live_server}/admin/")
    page.get_by_label("Username").fill(researcher.username)
    page.get_by_label("Password").fill("a long enough password")
    follow(page, "[type=submit]")

    assert page.get_by_role("button", name="Log out").is_visible()

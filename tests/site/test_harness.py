"""The harness itself: another process and a browser see what a test wrote."""

import filecmp
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import TransactionTestCase

from evalsite.studies.models import Item
from tests.support.browsing import follow
from tests.support.databases import choose_fewest
from tests.support.emptying import Emptying, no_rows
from tests.support.factories import make_study

COUNT_USERS = """
import django
django.setup()
from django.contrib.auth.models import User
print(User.objects.count())
"""


@pytest.mark.torture
@pytest.mark.both_databases
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


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_the_browser_signs_in_to_the_live_site(page, live_server, researcher):
    researcher.set_password("a long enough password")
    researcher.save()

    page.goto(f"{live_server}/admin/")
    page.get_by_label("User name").fill(researcher.username)
    page.get_by_label("Password").fill("a long enough password")
    follow(page, "[type=submit]")

    page.locator("details.menu summary").first.click()
    assert page.get_by_role("button", name="Sign out").is_visible()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_changed", [False, True])
def test_emptying_leaves_no_rows_but_every_permission(is_changed):
    emptying, before = Emptying(), Permission.objects.count()
    make_study(items=2)
    if is_changed:
        Permission.objects.earliest("pk").delete()

    emptying.empty(TransactionTestCase())

    assert not User.objects.exists()
    assert not Item.objects.exists()
    assert Permission.objects.count() == before


@pytest.mark.both_databases
@pytest.mark.django_db
def test_rows_come_back_after_a_while_without_any():
    make_study(items=2)
    before = list(Item.objects.values())

    with no_rows():
        assert not Item.objects.exists()

    assert list(Item.objects.values()) == before


def test_few_cases_of_a_matrix_have_each_of_its_values():
    matrix = {f"{letter}{number}": {letter, number} for letter in "abc" for number in (1, 2)}

    chosen = choose_fewest(matrix)

    assert len(chosen) == 3
    assert set().union(*(matrix[case] for case in chosen)) == {*"abc", 1, 2}


@pytest.mark.torture
def test_what_is_kept_of_the_demos_is_the_same_in_each_run(tmp_path):
    folders = [tmp_path / "first", tmp_path / "second"]

    for number, folder in enumerate(folders):
        subprocess.run(
            [sys.executable, "-m", "tests.support.keep", str(folder)],
            cwd=settings.BASE_DIR,
            env=os.environ | {"PYTHONHASHSEED": str(number)},
            check=True,
        )

    first, second = (
        sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        for folder in folders
    )
    assert first == second
    assert {"ratings.csv", "report.tex"} <= {path.name for path in first}
    assert filecmp.cmpfiles(*folders, map(str, first), shallow=False)[1:] == ([], [])

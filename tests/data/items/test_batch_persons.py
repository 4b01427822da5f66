"""Columns that tell of persons: warned of before the import, and left out if that is chosen."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.data.importing import is_personal
from evalsite.data.items.columns import guess_mapping
from evalsite.data.items.importer import import_batch
from evalsite.data.items.items import CheckedItems as Checked
from evalsite.data.models import Upload
from evalsite.instruments.installed import installed_protocols
from evalsite.studies.models import Item
from tests.data.items.test_upload_pages import address, press_import, send
from tests.support.exports import export
from tests.support.uploads import GOOD, Check, check, study

__all__ = ["check", "study"]  # fixtures

pytestmark = pytest.mark.django_db

PERSONAL = "\n".join(
    f"{line},{'W1,dev,Leeds' if number else '_worker_id,split,_city'}"
    for number, line in enumerate(GOOD.splitlines())
)
LEFT_OUT = {"_worker_id": "-", "_city": "-"}


def say(checked: Checked) -> str:
    return " ".join(str(remark) for remark in checked.remarks)


@pytest.mark.parametrize(
    "name",
    ["_worker_id", "WorkerId", "_city", "email", "E-mail", "ip", "_ip", "IPAddress", "Input.email",
     "region", "country", "Phone", "annotator", "first name", "user", "User ID", "username"],
)  # fmt: skip
def test_names_of_columns_about_persons_are_known(name: str) -> None:
    assert is_personal(name)


@pytest.mark.parametrize(
    "name",
    ["split", "user_goal", "domain", "capacity", "recipe", "page", "system_name", "file_name",
     "language", "description", "batch", "study", "output_id", "extra", "turn"],
)  # fmt: skip
def test_names_of_other_columns_are_left_alone(name: str) -> None:
    assert not is_personal(name)


def test_kept_columns_about_persons_are_remarked_on_by_name(check: Check) -> None:
    checked = check(PERSONAL)

    assert not checked.faults
    assert "Columns “_worker_id”, “_city” look personal" in say(checked)
    assert "Leave out" in say(checked)
    assert "“split”" not in say(checked)


def test_columns_left_out_are_never_stored_and_not_remarked_on(check: Check, study: Any) -> None:
    checked = check(PERSONAL, LEFT_OUT)
    import_batch(study=study, checked=checked, file_name="a.csv", sha256="1", by=None)

    item = Item.objects.get(batch__isnull=False)
    assert item.extra == {"split": "dev"}
    assert "personal" not in say(checked)
    assert "W1" not in str(checked.samples)
    assert b"Leeds" not in export(study, "items")


def test_column_about_persons_is_never_guessed_to_be_a_system() -> None:
    if "pairwise" not in installed_protocols():
        pytest.skip("protocols.pairwise is not listed in PROTOCOLS.")
    config = installed_protocols()["pairwise"]

    mapping = guess_mapping(["item", "dialogue", "alpha", "beta", "_city"], config)

    assert mapping["_city"] == ""


def test_page_offers_to_leave_a_column_out(staff_client: Client, study: Any) -> None:
    page = send(staff_client, study, PERSONAL)
    assert "look personal" in page.content.decode()
    found = Upload.objects.get()
    fields = ["item", "mr", "system", "output", "-", "", "-"]

    page = staff_client.post(
        address("upload-preview", study, found.pk),
        {f"column-{number}": field for number, field in enumerate(fields)},
        follow=True,
    )

    assert "look personal" not in page.content.decode()
    assert "Leeds" not in page.content.decode()
    press_import(staff_client, study, found)
    assert Item.objects.get(batch__isnull=False).extra == {"split": "dev"}


def test_command_leaves_a_column_out_and_refuses_one_that_is_not_there(
    study: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(PERSONAL, encoding="utf-8")
    given = ["import_batch", str(study.pk), str(path), "--map", "_worker_id=-", "--map"]

    with pytest.raises(CommandError, match="no column “_town”"):
        call_command(*given, "_town=-", stdout=StringIO())
    call_command(*given, "_city=-", stdout=StringIO())

    assert Item.objects.get(batch__isnull=False).extra == {"split": "dev"}

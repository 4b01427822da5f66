"""A protocol with a fault is named by `manage.py check`, and stops nothing else."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client
from django.urls import reverse

from evalsite.instruments.installed import ProtocolConfig, find_folder, installed_protocols
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProtocolConfig:
    """The protocol fluency, read from a copy of its folder that a test may spoil."""
    found = find_folder("fluency")
    shutil.copytree(found.path, tmp_path / "fluency")
    monkeypatch.setattr(found, "path", str(tmp_path / "fluency"))
    for name in ("instrument", "problems"):
        monkeypatch.setitem(found.__dict__, name, None)
        del found.__dict__[name]  # read again, also when the test is over
    return found


Spoil = Callable[[ProtocolConfig], None]


def write(name: str, text: str) -> Spoil:

    def spoil(folder: ProtocolConfig) -> None:
        Path(folder.path, name).write_text(text)

    return spoil


def declare(**changes: Any) -> Spoil:
    """Return a function that changes protocol.json; examples are in practice.json otherwise."""

    def spoil(folder: ProtocolConfig) -> None:
        file = Path(folder.path, "protocol.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))
        Path(folder.path, "practice.json").write_text("{}")

    return spoil


EXAMPLE = {"inputs": {"dialogue": "A: Hi"}, "outputs": ["Hi"], "why": "-", "ratings": {"typo": [1]}}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (write("practice.json", "{"), "JSONDecodeError"),
        (write("practice.json", "[]"), "practice.json must be an object (type)"),
        (write("practice.json", '{"criteria": []}'), "practice.json.criteria can't be in this"),
        (write("practice.json", '{"practice": 3}'), "practice must be a list"),
        (write("protocol.json", "7"), "protocol.json must be an object (type)"),
        (declare(examples=[EXAMPLE]), "examples.0.ratings.typo"),
        (declare(criteria=7), "criteria must be a list (type)"),
        (lambda folder: Path(folder.path, "protocol.json").unlink(), "FileNotFoundError"),
        (lambda folder: Path(folder.path, "instructions.md").unlink(), "instructions is required"),
    ],
)
def test_faulty_protocol_stops_no_page_and_is_named(folder, spoil, said):
    spoil(folder)
    make_study(protocol="rrgen")
    client = Client()
    client.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")

    for page in ("admin:index", "admin:study-new"):
        assert client.get(reverse(page), follow=True).status_code == 200
    with pytest.raises(SystemCheckError, match=r"protocols\.fluency") as caught:
        call_command("check")

    assert said in str(caught.value)
    assert "fluency" not in installed_protocols()


def test_fault_is_logged_once(folder, caplog):
    Path(folder.path, "practice.json").write_text("{")

    for _ in range(3):
        installed_protocols()

    assert len([one for one in caplog.records if "can't be used" in one.getMessage()]) == 1


def test_hook_that_does_not_exist_is_named(folder):
    declare(hooks={"clean": "protocols.fluency.hooks.gone"})(folder)

    with pytest.raises(SystemCheckError, match=r"protocols\.fluency\.hooks\.gone"):
        call_command("check")


def test_protocol_may_be_one_file(folder):
    data = folder.instrument.to_data() | {"title": "From a file"}
    Path(folder.path, "protocol.json").write_text(json.dumps(data))
    for name in ("instructions.md", "practice.json"):
        Path(folder.path, name).unlink()
    del folder.__dict__["instrument"]

    found = installed_protocols()["fluency"]

    assert (found.title, found.to_data()) == ("From a file", data)

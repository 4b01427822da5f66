"""A protocol with a fault is named by `manage.py check`, and stops nothing else."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client
from django.urls import reverse

from evalsite.protocol import Example, ProtocolConfig, find_folder, installed_protocols
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


def write_practice(text: str) -> Callable[[ProtocolConfig, Any], None]:
    def spoil(folder: ProtocolConfig, monkeypatch: Any) -> None:
        Path(folder.path, "practice.json").write_text(text)

    return spoil


def rate_an_unknown_criterion(folder: ProtocolConfig, monkeypatch: Any) -> None:
    assert folder.protocol is not None
    example = Example(inputs={"dialogue": "A: Hi"}, outputs=("Hi",), ratings={"typo": (1,)})
    # practice.json has no examples then
    Path(folder.path, "practice.json").write_text("{}")
    monkeypatch.setattr(folder, "protocol", replace(folder.protocol, examples=(example,)))


def declare_texts_as_numbers(folder: ProtocolConfig, monkeypatch: Any) -> None:
    assert folder.protocol is not None
    monkeypatch.setattr(folder, "protocol", replace(folder.protocol, criteria=7))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (write_practice("{"), "JSONDecodeError"),
        (write_practice("[]"), "practice.json must be an object"),
        (write_practice('{"criteria": []}'), "practice.json.criteria is not a key"),
        (write_practice('{"practice": 3}'), "practice must be a list"),
        (rate_an_unknown_criterion, "examples.0.ratings.typo"),
        (declare_texts_as_numbers, "apps.py can't be read"),
    ],
)
def test_faulty_protocol_stops_no_page_and_is_named(folder, monkeypatch, spoil, said):
    spoil(folder, monkeypatch)
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


def test_hook_that_does_not_exist_is_named(folder, monkeypatch):
    hooks = {"clean": "protocols.fluency.hooks.gone"}
    monkeypatch.setattr(folder, "protocol", replace(folder.protocol, hooks=hooks))

    with pytest.raises(SystemCheckError, match=r"protocols\.fluency\.hooks\.gone"):
        call_command("check")


def test_protocol_may_be_one_file_of_plain_data(folder, monkeypatch):
    data = folder.instrument.to_data() | {"title": "From a file"}
    Path(folder.path, "protocol.json").write_text(json.dumps(data))
    for name in ("instructions.md", "practice.json"):
        Path(folder.path, name).unlink()
    monkeypatch.setattr(folder, "protocol", None)
    del folder.__dict__["instrument"]

    found = installed_protocols()["fluency"]

    assert (found.title, found.to_data()) == ("From a file", data)

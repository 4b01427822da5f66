"""The image, compose.yaml, .env.example and the Caddyfile agree with each other and the site."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from evalsite.command_line.main import COMMANDS
from evalsite.lib.env import NAMES
from tests.support.deployed import (
    IMAGE,
    ROOT,
    SECRET_KEY,
    build_environment,
    fill_in,
    read_example,
    read_image,
    read_services,
)

OURS = ("prepare", "web", "worker")
VALUES = {
    "EVALSITE_URL": "https://eval.example.org",
    "EVALSITE_SECRET_KEY": SECRET_KEY,
    "POSTGRES_PASSWORD": "0a1b2c",
    "EVALSITE_SSO_CLIENT": "evalsite",
    "EVALSITE_SSO_SECRET": "secret",
}


def test_values_are_filled_in_as_compose_does():
    values = {"A": "x", "EMPTY": ""}

    assert fill_in("${A:?}-${B:-y}-${EMPTY:-z}-${A}", values) == "x-y-z-x"


def test_site_takes_every_variable_of_the_examples():
    named = {name for service in OURS for name in build_environment(service, VALUES)}
    named |= read_example(is_whole=True).keys()

    assert {name for name in named if name.startswith("EVALSITE_")} <= NAMES
    # what Compose asks for, and no more, is to be filled in
    asked = set(re.findall(r"\$\{(\w+):\?\}", (ROOT / "compose.yaml").read_text()))
    assert asked | {"EVALSITE_SECRET_KEY"} == read_example().keys()


@pytest.mark.slow
@pytest.mark.parametrize("is_whole", [False, True])
def test_settings_can_be_read_from_the_example(is_whole, tmp_path):
    variables = build_environment("web", VALUES) | read_example(is_whole=is_whole) | VALUES
    variables |= {"EVALSITE_DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    code = (
        "from evalsite import settings as s; d = s.DATABASES['default'];"
        "print(s.SITE_ADDRESS, d['HOST'], d['USER'], d['PASSWORD'], s.BACKUP_FOLDER)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=variables | {"PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout == "https://eval.example.org database evalsite 0a1b2c /backups\n"


def test_image_runs_as_a_user_of_its_own_who_owns_the_volumes():
    (user,) = read_image("USER")
    (volumes,) = read_image("VOLUME")
    text = IMAGE.read_text(encoding="utf-8")

    assert user == "10001:10001"
    assert "useradd --no-log-init --uid 10001 " in text
    assert "install -d -o evalsite -g evalsite -m 700 /data /backups" in text
    mounted = {volume.split(":")[1] for volume in read_services()["web"]["volumes"]}
    assert mounted == {*yaml.safe_load(volumes)} == {"/data", "/backups"}


def test_image_is_made_of_the_wheel_and_pinned_versions_alone():
    text = IMAGE.read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (?!--from)(\S+)", text, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert copied == ["requirements-all.lock", "dist/*.whl"]
    assert [line for line in allowed if not line.startswith("#")] == [
        "*",
        *(f"!{path}" for path in copied),
    ]
    assert "--require-hashes -r requirements-all.lock" in text
    assert (ROOT / "requirements-all.lock").is_file()


@pytest.mark.parametrize("name", OURS)
def test_our_services_may_write_in_their_volumes_only(name):
    service = read_services()[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["command"][0] == name
    assert service["command"][0] in COMMANDS
    assert "ports" not in service


def test_only_the_proxy_is_reached_from_outside():
    published = {name for name, service in read_services().items() if "ports" in service}

    assert published == {"proxy"}


def test_everything_waits_for_what_it_needs():
    waits = {
        name: {other: rule["condition"] for other, rule in service.get("depends_on", {}).items()}
        for name, service in read_services().items()
    }

    assert waits == {
        "database": {},
        "prepare": {"database": "service_healthy"},
        "web": {"prepare": "service_completed_successfully"},
        "worker": {"prepare": "service_completed_successfully"},
        "proxy": {"web": "service_healthy"},
    }
    (check,) = read_image("HEALTHCHECK")
    assert check.endswith('CMD ["evalsite", "health"]')
    assert read_services()["worker"]["healthcheck"]["test"] == [
        "CMD", "evalsite", "health", "--worker",
    ]  # fmt: skip


def test_image_and_compose_start_the_web_server_alike_and_the_proxy_finds_it():
    (command,) = read_image("CMD")
    caddyfile = (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8")

    assert yaml.safe_load(command) == read_services()["web"]["command"]
    assert "{$UPSTREAM:web:8000}" in caddyfile
    assert {"{$EVALSITE_URL}", "{$UPSTREAM:web:8000}"} == set(re.findall(r"\{\$[^}]*\}", caddyfile))


def test_database_and_image_have_one_major_version_of_postgresql():
    (major,) = re.findall(r"postgresql-client-(\d+)", IMAGE.read_text(encoding="utf-8"))

    assert read_services()["database"]["image"].startswith(f"postgres:{major}-")

"""The commands that run a site on one machine."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.core.management import CommandError, call_command

from evalsite.command_line.output import WRONG_USE, Refused
from evalsite.command_line.processes import is_answering, start, wait_until_ready
from evalsite.data.demo import import_example
from evalsite.handout.models import Annotation
from tests.support.factories import launch, make_study, make_user
from tests.support.workers import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def start_serve(port: int, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "evalsite", "serve", "--port", str(port)],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "evalsite.settings",
            "EVALSITE_DATA_DIR": str(folder),
            "EVALSITE_DATABASE": f"sqlite:///{folder}/evalsite.sqlite3",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.torture)], ids=["old", "new"])
def is_new(request) -> bool:
    """Whether the site has no database yet."""
    return request.param


@pytest.fixture
def site(is_new, django_db_setup, port, tmp_path) -> Iterator[subprocess.Popen[str]]:
    """A site of its own that said it is ready; stopped afterwards.

    In the suite its database has tables already, as to make them takes most of the time.
    """
    if not is_new:
        shutil.copyfile(os.environ["EVALSITE_TEST_TEMPLATE"], tmp_path / "evalsite.sqlite3")
    process = start_serve(port, tmp_path)
    assert process.stdout is not None
    line = next((line for line in process.stdout if line.startswith("Ready")), "")
    assert line.startswith(f"Ready: http://127.0.0.1:{port}/admin/"), process.communicate()[1]
    yield process
    process.terminate()
    process.communicate()


def children_of(process: subprocess.Popen[str]) -> dict[str, int]:
    """The processes that it started: command line -> number."""
    numbers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return {Path(f"/proc/{number}/cmdline").read_text(): int(number) for number in numbers}


def number_of(process: subprocess.Popen[str], name: str) -> int | None:
    """The process of this name that it started, if one runs."""
    return next((pid for line, pid in children_of(process).items() if name in line), None)


def test_site_answers_when_ready_starts_again_what_dies_and_ctrl_c_stops_all_of_it(
    site, port, is_new
):
    """In one walk, as most of its time would go into starts; `make torture` kills both parts."""
    with urlopen(f"http://127.0.0.1:{port}/admin/login/") as answer:
        assert answer.status == 200
    web = number_of(site, "\0web\0")
    kill_and_wait(site, port, "job worker", "\0worker\0")
    assert number_of(site, "\0web\0") == web
    if is_new:
        kill_and_wait(site, port, "web server", "\0web\0")
    children = children_of(site)

    site.send_signal(signal.SIGINT)
    site.communicate()

    assert site.returncode == 0
    assert any("\0web\0" in name for name in children)
    assert any("\0worker\0" in name for name in children)
    assert not any(Path(f"/proc/{number}").exists() for number in children.values())


def kill_and_wait(site: subprocess.Popen[str], port: int, name: str, program: str) -> None:
    """This part of the site is gone, and another one of it runs."""
    dead = number_of(site, program)

    os.kill(dead, signal.SIGKILL)
    told = site.stdout.readline()
    wait_until(lambda: number_of(site, program) not in (None, dead))
    wait_until(lambda: is_answering(port))

    assert told == f"The {name} was ended by signal 9. Starting it again in 5 s.\n"
    assert site.poll() is None


def test_web_server_that_cannot_start_ends_the_site(port):
    server = start([sys.executable, "-c", "raise SystemExit(3)"])

    with pytest.raises(Refused, match="exit code 3"):
        wait_until_ready(port, server)


def test_a_port_in_use_is_said_before_anything_is_made(port, tmp_path):
    with socket.create_server(("127.0.0.1", port)):
        process = start_serve(port, tmp_path)
        _, told = process.communicate()

    assert process.returncode == WRONG_USE
    assert f"Port {port} can't be used" in told
    assert f"such as {port + 1}" in told
    assert not list(tmp_path.iterdir())


def test_a_new_password_is_printed_once_and_works(client, researcher):
    client.force_login(researcher, backend="django.contrib.auth.backends.ModelBackend")
    told = StringIO()

    call_command("password", stdout=told)

    printed = dict(line.split(": ") for line in told.getvalue().splitlines()[:2])
    researcher.refresh_from_db()
    assert printed["User"] == researcher.username
    assert researcher.check_password(printed["Password"])
    assert client.get("/admin/").status_code == 302  # the old session has ended


def test_with_several_researchers_a_name_is_asked_for(researcher):
    make_user("ann")

    with pytest.raises(CommandError, match="There are: ann, jane"):
        call_command("password")


@pytest.mark.django_db
def test_a_password_for_nobody_is_refused():
    with pytest.raises(CommandError, match="There is no account yet"):
        call_command("password")


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_demo_crowds_need_nothing_that_only_tests_have(database_url, tmp_path):
    """In a process of its own, where pages carry no context and nothing watches templates."""
    # the protocol whose pages offer most
    study = make_study(protocol="rrgen", items=0, k=12, is_demo=True)
    import_example(study, by=make_user())
    launch(study)

    for arguments in (["collectstatic", "--noinput", "-v0"], ["demo", "--crowd"]):
        subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "evalsite.settings",
                "EVALSITE_DATA_DIR": str(tmp_path),
                "EVALSITE_DATABASE": database_url,
            },
            check=True,
        )

    given = Annotation.objects.filter(study=study)
    assert given.filter(place__gt=5).exists()
    assert set(given.values_list("origin", flat=True)) == {"simulated"}
    assert set(given.values_list("outcome", flat=True)) == {"rated", "ignored"}

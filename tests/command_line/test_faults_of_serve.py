"""Starting a site where something is in the way: a sentence, an exit code, nothing half made."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evalsite.command_line import processes
from evalsite.command_line.lock import only_one
from evalsite.command_line.main import run_command
from evalsite.command_line.output import DONE, NO, STOPPED, WRONG_USE, Refused
from evalsite.command_line.site import HOST, make_site, use_folder

ROOT = Path(__file__).resolve().parents[2]


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@pytest.fixture
def port() -> int:
    return find_port()


@pytest.fixture
def no_site(monkeypatch) -> None:
    """No variable names a site, and those that a test sets are taken back."""
    for name in ("EVALSITE_DATA_DIR", "EVALSITE_SECRET_KEY_FILE", "EVALSITE_URL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def start_command(*words: str, **variables: str) -> subprocess.Popen[str]:
    """A process of `python -m evalsite` that knows nothing of the tests' own site."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EVALSITE_", "DJANGO_"))
    }
    return subprocess.Popen(
        [sys.executable, "-m", "evalsite", *words],
        cwd=ROOT, env=inherited | variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def end_command(*words: str, **variables: str) -> tuple[int, str]:
    process = start_command(*words, **variables)
    _, errors = process.communicate()
    assert "Traceback" not in errors
    return process.returncode, errors


def run_until_ready(monkeypatch, *, answers_after: int) -> None:
    """Wait for a server whose process lives, by a clock that goes on 10 s at each look."""
    looks = iter(range(0, 10_000, 10))
    seconds = [0]
    monkeypatch.setattr(
        processes.time, "monotonic", lambda: seconds.append(next(looks)) or seconds[-1]
    )
    monkeypatch.setattr(processes.time, "sleep", lambda pause: None)
    monkeypatch.setattr(processes, "is_answering", lambda port: seconds[-1] >= answers_after)
    server = SimpleNamespace(poll=lambda: None)
    processes.wait_until_ready(8000, cast(Any, server))


def test_a_server_on_a_busy_machine_is_waited_for_but_not_forever(monkeypatch):
    run_until_ready(monkeypatch, answers_after=240)

    with pytest.raises(Refused, match="did not start"):
        run_until_ready(monkeypatch, answers_after=5_000)


@pytest.mark.parametrize("command", ["serve", "web"])
def test_a_port_in_use_is_refused_before_anything_starts(command, capsys):
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        option = ["--port", str(port)] if command == "serve" else ["--bind", f"{HOST}:{port}"]

        assert run_command([command, *option]) == WRONG_USE

    assert str(port + 1) in capsys.readouterr().err


@pytest.mark.parametrize("number", ["-1", "0", "65536", "8,000"])
def test_a_number_that_is_no_port_is_refused(number, capsys):
    assert run_command(["serve", "--port", number]) == WRONG_USE

    assert number in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(tmp_path, port, capsys):
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "data"):
        assert run_command(["serve", "--port", str(port), "--data", str(folder)]) == WRONG_USE

        assert str(tmp_path / "file") in capsys.readouterr().err


def test_a_secret_is_made_once_for_its_owner_alone(tmp_path, monkeypatch):
    for name in ("EVALSITE_DATA_DIR", "EVALSITE_SECRET_KEY", "EVALSITE_SECRET_KEY_FILE"):
        monkeypatch.setenv(name, "")  # put back afterwards
    make_site(tmp_path / "data")
    first = (tmp_path / "data" / "secret").read_text()

    make_site(tmp_path / "data")

    assert (tmp_path / "data" / "secret").read_text() == first
    assert len(first) > 50
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "data", tmp_path / "data/secret")]
    assert modes == [0o700, 0o600]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret"]


def test_two_commands_never_run_on_one_folder(tmp_path):
    with only_one(tmp_path):
        with pytest.raises(Refused, match=f"process {os.getpid()}") as refused, only_one(tmp_path):
            raise AssertionError("both run")
        assert refused.value.code == WRONG_USE
    # the first one has ended
    with only_one(tmp_path):
        pass


@pytest.mark.slow
def test_a_second_serve_on_the_same_folder_is_refused_and_ctrl_c_ends_the_first(
    tmp_path, port, no_site
):
    data = str(tmp_path / "data")
    first = start_command("serve", "--data", data, "--port", str(port))
    assert first.stdout is not None
    assert first.stdout.readline() == f"Data folder: {data}\n"

    code, errors = end_command("serve", "--data", data, "--port", str(find_port()))
    first.send_signal(signal.SIGINT)
    _, first_errors = first.communicate()

    assert code == WRONG_USE
    assert f"process {first.pid}" in errors
    assert first.returncode in (DONE, STOPPED)
    assert "Traceback" not in first_errors
    # other commands give addresses at the port of the first
    use_folder(Path(data))
    assert os.environ["EVALSITE_URL"] == f"http://{HOST}:{port}"


@pytest.mark.parametrize("content", [None, "", "80", "many"])
def test_addresses_are_at_the_usual_port_unless_another_was_served(tmp_path, no_site, content):
    if content is not None:
        (tmp_path / "port").write_text(content)

    use_folder(tmp_path)

    expected = 80 if content == "80" else 8000
    assert os.environ["EVALSITE_URL"] == f"http://{HOST}:{expected}"


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "web", "worker", "prepare"])
def test_no_command_starts_on_a_database_of_another_version(command, tmp_path, port):
    make_newer(tmp_path / "evalsite.sqlite3")
    before = (tmp_path / "evalsite.sqlite3").read_bytes()
    key = {"EVALSITE_SECRET_KEY": "kT9-" + "only-for-this-test" * 4}
    site = key | {"EVALSITE_URL": f"http://{HOST}", "EVALSITE_DATA_DIR": str(tmp_path)}
    option = {"serve": ["--port", str(port)], "web": ["--bind", f"{HOST}:{port}"]}

    code, errors = end_command(command, *option.get(command, []), **site)

    assert code == NO
    assert "studies.9999_future" in errors
    assert (tmp_path / "evalsite.sqlite3").read_bytes() == before


def make_newer(path: Path) -> None:
    """A database that has had a migration from the future."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE django_migrations (id, app, name, applied)")
        row = (1, "studies", "9999_future", "2100-01-01")
        database.execute("INSERT INTO django_migrations VALUES (?, ?, ?, ?)", row)
    database.close()


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("command", ["web", "worker", "prepare"])
def test_a_server_never_takes_the_site_of_a_data_folder_by_itself(command, tmp_path):
    (tmp_path / "secret").write_text("kT9-" + "only-for-this-test" * 4)

    code, errors = end_command(command, EVALSITE_DATA_DIR=str(tmp_path))

    assert code == WRONG_USE
    assert "EVALSITE_SECRET_KEY" in errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, "There is no site in"),
        ({"EVALSITE_DATABASE": "sqlite:////var/lib/another.sqlite3"}, "EVALSITE_DATABASE"),
    ],
)
def test_a_command_works_on_the_site_of_its_folder_or_on_none(tmp_path, variables, named):
    words = ["export", "a-study", "--data", str(tmp_path / "absent")]

    code, errors = end_command(*words, **variables)

    assert code == WRONG_USE
    assert named in errors
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_code_is_being_made_leaves_the_exit_code_to_us(tmp_path):
    (tmp_path / "stopped.py").write_text(
        """
import sys
from evalsite.command_line.processes import take_signals

take_signals()
try:
    exec("import signal; signal.raise_signal(signal.SIGINT)")
except KeyboardInterrupt:
    sys.exit(4)
"""
    )
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])

    # CPython looks at the signal only where a module is run by its name
    ended = subprocess.run(
        [sys.executable, "-m", "stopped"], env=os.environ | {"PYTHONPATH": paths}
    )

    assert ended.returncode == STOPPED

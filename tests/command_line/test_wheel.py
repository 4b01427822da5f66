"""The wheel: whole, and a site from a folder that has nothing to do with the checkout."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evalsite import __version__
from evalsite.command_line.site import HOST
from tests.command_line.test_rate import answer, read_event
from tests.command_line.test_results import write_ratings
from tests.support.annotators import Annotator
from tests.support.raters import Diary, TirelessBrowser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# top-level folders whose files a wheel keeps below evalsite/resources
MOVED = (
    "protocols/",
    "templates/",
    "static/",
    "docs/",
    "fixtures/demo.json",
    "fixtures/instruments/",
)
LEFT_OUT = re.compile(
    r"/tests\.py$|^docs/decisions/|^docs/images/(choose|rating|results)|^fixtures/instruments/faulty/"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory) -> Path:
    """The folder of programs of an environment with the wheel; its packages are those of here."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    python = str(folder / "bin/python")
    # an environment that uv made has no pip
    uv = shutil.which("uv")
    command = (
        [uv, "pip", "install", "--python", python]
        if uv
        else [sys.executable, "-m", "pip", "--python", python, "install", "--no-compile"]
    )
    subprocess.run([*command, "-q", "--no-index", "--no-deps", wheel], cwd=folder, check=True)
    return folder / "bin"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Somebody's folder, in which two files have the names of modules that the site imports."""
    (tmp_path / "protocols").mkdir()
    for name in ("protocols/__init__.py", "numpy.py", "gunicorn.conf.py"):
        (tmp_path / name).write_text("raise SystemExit('hostile')")
    return tmp_path


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """Nothing of the tests' own environment, and an empty home."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}


def test_the_wheel_has_every_file_of_the_checkout(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "evalsite", *MOVED],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    expected = {
        name if name.startswith("evalsite/") else f"evalsite/resources/{name}"
        for name in listed
        if name and (ROOT / name).exists() and not LEFT_OUT.search(name)
    }

    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}

    assert names == expected
    assert wheel.name == f"evalsite-{__version__}-py3-none-any.whl"


def test_an_installed_evalsite_takes_no_module_from_the_current_folder(
    programs, folder, environment
):
    code = "import evalsite, numpy, protocols; print(evalsite.__file__, protocols.__file__)"
    site = environment | {"EVALSITE_DEBUG": "on"}
    for command in ([programs / "evalsite"], [programs / "python", "-m", "evalsite"]):
        done = subprocess.run(
            [*command, "manage", "shell", "--no-imports", "-c", code],
            cwd=folder, env=site, capture_output=True, text=True, check=False,
        )  # fmt: skip

        assert done.returncode == 0, done.stderr
        modules = done.stdout.split()
        assert len(modules) == 2
        assert all(path.startswith(str(programs.parent)) for path in modules)


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def site(programs, folder, environment) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """What was started with `evalsite serve --demo` in this folder, and its port."""
    port = find_port()
    process = subprocess.Popen(
        [programs / "evalsite", "serve", "--demo", "--port", str(port)],
        cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    yield process, port
    process.send_signal(signal.SIGINT)
    process.wait()


@pytest.mark.torture
def test_from_an_installed_wheel_to_the_first_rating(site, environment):
    process, port = site
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ready"):
            break
    printed = "".join(lines)
    join = re.search(r"/join/([0-9a-f-]{36})/", printed)
    assert join, printed
    data = Path(environment["HOME"], ".local/share/evalsite")
    assert printed.startswith(f"Data folder: {data}\n")

    person = Annotator(TirelessBrowser(port, Diary()), seed="1", leaves_after=1)
    home = person.join(join[1])
    person.work(person.browser.get(home))
    process.send_signal(signal.SIGINT)
    process.communicate()

    assert process.returncode == 0
    assert (data.stat().st_mode & 0o777, (data / "secret").stat().st_mode & 0o777) == (
        0o700, 0o600,
    )  # fmt: skip
    with sqlite3.connect(data / "evalsite.sqlite3") as database:
        # an answer without a slot is practice
        count = (
            "SELECT count(*) FROM annotation_annotation "
            "WHERE origin = 'own' AND slot_id IS NOT NULL"
        )
        assert database.execute(count).fetchone() == (1,)


@pytest.fixture
def rate(programs, folder, environment) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start `evalsite rate` in this folder, each time on the same port."""
    processes = []
    whole = (ROOT / "protocols/magnitude/example_batch.csv").read_text(encoding="utf-8")
    (folder / "outputs.csv").write_text("".join(whole.splitlines(keepends=True)[:13]))
    port = find_port()

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [programs / "evalsite", "rate", "outputs.csv", "--instrument", "magnitude",
             "--people", "2", "--out", "human", "--port", str(port), "--json",
             "--primary", "informativeness"],
            cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate()


def test_two_people_rate_for_an_installed_wheel_and_a_gate_decides(
    rate, programs, folder, environment
):
    first = rate()
    ready = read_event(first, "ready")
    port = urlsplit(ready["links"][0]).port
    answer(ready["links"][0], port, leaves_after=2)
    first.send_signal(signal.SIGINT)
    stopped = read_event(first, "stopped")
    first.communicate()
    second = rate()
    for link in read_event(second, "ready")["links"]:
        answer(link, port)
    read_event(second, "complete")
    second.communicate()

    assert (first.returncode, stopped["done"], second.returncode) == (4, 2, 0)
    digest = (folder / "human/plan.txt").read_text().split()[3]

    def end(*words: str) -> int:
        done = subprocess.run(
            [programs / "evalsite", *words, "--json"],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        assert json.loads(done.stdout)["exit"] == done.returncode
        return done.returncode

    assert end("verify", "human/bundle.zip", "--plan-hash", digest) == 0
    gate = ["gate", "ratings.csv", "--system", "B", "--against", "A", "--margin"]
    assert end("gate", "human/bundle.zip", "--system", "neural", "--against", "template",
               "--margin", "1.1") == 2  # fmt: skip
    write_ratings(folder / "ratings.csv", 0)
    assert end(*gate, "1.5") == 0
    write_ratings(folder / "ratings.csv", -3)
    assert end(*gate, "0.5") == 1

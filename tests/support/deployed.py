"""The site as compose.yaml runs it, in plain processes.

Read from the files themselves: the image's environment, entry point and commands, and what
compose.yaml and .env.example add. Replaced is only what Docker would bring: host names of its
network, and the places of its volumes.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg2
import yaml

from evalsite.command_line.site import HOST
from tests.support.databases import Cluster
from tests.support.proxies import NAME, Proxy, find_free_port, prepare_caddy, running

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "deploy/Dockerfile"
SECRET_KEY, PASSWORD = "kT9-" + "only-for-this-test" * 4, "0a1b2c3d4e5f"
_SECONDS = 120


def read_services() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load(
        (ROOT / "compose.yaml").read_text(encoding="utf-8")
    )["services"]
    return services


def read_image(word: str) -> list[str]:
    """Return what the last stage of the image has after this word, line by line."""
    text = IMAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    last_stage = text[text.rindex("\nFROM ") :]
    return re.findall(rf"^{word} (.*)$", last_stage, re.MULTILINE)


def read_example(*, is_whole: bool = False) -> dict[str, str]:
    """Return the variables of .env.example; `is_whole`: with those that are commented out."""
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    mark = "(?:# )?" if is_whole else ""
    return dict(re.findall(rf"^{mark}([A-Z_]+)=(.*)$", text, re.MULTILINE))


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Do what Compose does with ${NAME:?} and ${NAME:-default}."""

    def replace(match: re.Match[str]) -> str:
        name, default = match.groups()
        return values.get(name) or (default or "")[1:]

    return re.sub(r"\$\{(\w+)(?::([-?][^}]*))?\}", replace, text)


def build_environment(service: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a service, by the image, .env and compose.yaml."""
    definition = read_services()[service]
    environment: dict[str, str] = {}
    if "image" in definition and definition["image"].startswith("evalsite:"):
        for line in read_image("ENV"):
            environment |= dict(word.split("=", 1) for word in shlex.split(line))
    if definition.get("env_file") == [".env"]:
        environment |= read_example() | values
    for name, value in definition.get("environment", {}).items():
        environment[name] = fill_in(value, values)
    return environment


class Process:
    """One service in a process group of its own."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                env=environment,
                cwd=log.parent,
                start_new_session=True,
                stdout=output,
                stderr=output,
            )

    def read_log(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it as Docker does, or at once; return its exit code."""
        if self.process.poll() is None:
            if number == signal.SIGKILL:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)
        return self.process.wait(timeout=_SECONDS)


class Composed:
    """A site of compose.yaml in one folder, on one PostgreSQL, with as many nodes as a test asks.

    Used as a context manager: on leaving, every process ends.
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.processes: list[Process] = []
        self.values = {
            "EVALSITE_URL": f"https://{NAME}",
            "EVALSITE_SECRET_KEY": SECRET_KEY,
            "POSTGRES_PASSWORD": PASSWORD,
        }
        self.volumes = {"/data": folder / "data", "/backups": folder / "backups"}
        for volume in self.volumes.values():
            volume.mkdir(mode=0o700)
        owner = psycopg2.connect(host=str(cluster.folder), user="postgres", dbname="postgres")
        owner.autocommit = True
        database = read_services()["database"]["environment"]
        user, name = database["POSTGRES_USER"], database["POSTGRES_DB"]
        with owner.cursor() as cursor:
            # the image of PostgreSQL makes its user a superuser as well
            cursor.execute(f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD %s", [PASSWORD])
            cursor.execute(f"CREATE DATABASE {name} OWNER {user}")
        owner.close()

    def __enter__(self) -> "Composed":
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self.processes:
            process.end(signal.SIGKILL)

    def environment(self, service: str) -> dict[str, str]:
        """Return what a process of the service gets, with the places of this machine."""
        variables = build_environment(service, self.values)
        for name, value in variables.items():
            variables[name] = str(self.volumes.get(value, value))
        socket = f"/evalsite?host={quote(str(self.cluster.folder), safe='')}"
        url = variables["EVALSITE_DATABASE"]
        variables["EVALSITE_DATABASE"] = url.replace("database:5432/evalsite", socket)
        assert variables["EVALSITE_DATABASE"] != url
        # the image's own programs are not here
        inherited = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nonexistent"}
        return variables | inherited

    def build_command(self, *words: str) -> list[str]:
        entry = yaml.safe_load(read_image("ENTRYPOINT")[0])
        assert entry == ["tini", "--", "evalsite"]
        return [sys.executable, "-P", "-m", "evalsite", *words]

    def run(self, *words: str) -> str:
        """Do what `docker compose run --rm worker ...` does; return its output."""
        done = subprocess.run(
            self.build_command(*words),
            env=self.environment("worker"),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, *words: str) -> int:
        """Run a command of the worker's container for its exit code, such as a health check."""
        done = subprocess.run(
            self.build_command(*words), env=self.environment("worker"), cwd=self.folder,
            capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode

    def run_program(self, program: str) -> str:
        """Run Python with the site's settings; return what it prints."""
        done = subprocess.run(
            [sys.executable, "-c", f"import django\ndjango.setup()\n{program}"],
            env=self.environment("web") | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"},
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, service: str, **replaced: str) -> Process:
        """Start a service with the command of compose.yaml, as a node of its own."""
        words = [replaced.get(word, word) for word in read_services()[service]["command"]]
        return self._start(service, self.build_command(*words), self.environment(service))

    def _start(self, name: str, command: list[str], environment: Mapping[str, str]) -> Process:
        log = self.folder / f"{name}-{len(self.processes)}.txt"
        process = Process(command, environment, log)
        self.processes.append(process)
        return process

    def start_web(self) -> tuple[Process, int]:
        """Start a web node; return it and its port."""
        port = find_free_port()
        process = self.start("web", **{"0.0.0.0:8000": f"{HOST}:{port}"})
        wait_until(lambda: self.ask("health", "--port", str(port)) == 0, process)
        return process, port

    @contextmanager
    def proxied(self, *site_ports: int) -> Iterator[Proxy]:
        """Run the proxy of compose.yaml in front of these web nodes."""
        port = find_free_port()
        folder = self.folder / f"proxy-{port}"
        folder.mkdir()
        variables = build_environment("proxy", self.values)
        assert variables == {"EVALSITE_URL": self.values["EVALSITE_URL"]}
        variables["EVALSITE_URL"] += f":{port}"
        nodes = " ".join(f"{HOST}:{site_port}" for site_port in site_ports)
        variables |= {"UPSTREAM": nodes, "HOME": str(folder)}
        with running(prepare_caddy(folder), folder, port, variables) as proxy:
            yield proxy


def wait_until(is_so: Callable[[], bool], process: Process | None = None) -> None:
    """Wait for it, as long as the process runs."""
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        log = process.read_log() if process else ""
        assert process is None or process.process.poll() is None, log
        assert time.monotonic() < deadline, f"It did not come about.\n{log}"
        time.sleep(0.2)

"""A pytest plugin: which database the suite runs on, and a throw-away PostgreSQL if asked for.

`pytest` runs on SQLite, one file for each process. `pytest --database postgresql` runs the tests
that are marked `both_databases` on PostgreSQL, and with `--whole` all that use a database: on the
server at EVALSITE_TEST_POSTGRES, or on a cluster of its own, made from the installed server
binaries in a temporary folder and gone afterwards.
"""

import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, settings

# One thread of linear algebra for each test: many cost more than they bring on small tables.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# how long drawing and running an example takes says nothing on a busy machine
settings.register_profile(
    "torture", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# a tenth of the examples that Hypothesis draws by itself
settings.register_profile("suite", settings.get_profile("torture"), max_examples=10)
settings.load_profile("suite")

_DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup"}
# they bring a browser, or let another process see the rows of a test
_SLOW_FIXTURES = {"browser", "database_url"}
# Beside the one that most tests use: one that rates by points, and one that compares.
_PROTOCOLS_ON_POSTGRESQL = {"rrgen", "pairwise"}
_Case = TypeVar("_Case")
_MARK = b"both_databases"
_ROOM = 2 * 1024**3
NO_SERVER = "PostgreSQL tests skipped: no server binaries (initdb, pg_ctl) are installed."


class Cluster:
    """A PostgreSQL server of our own, reached by a socket in its own folder."""

    def __init__(
        self, binaries: Path, *, is_durable: bool = False, folder: Path | None = None
    ) -> None:
        self.binaries = binaries
        self.is_durable = is_durable
        self.folder = folder or make_folder("evalsite-pg-")
        # PostgreSQL refuses to run as root; its own user comes with its package.
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user, self.user)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/evalsite?host={quote(str(self.folder), safe='')}"

    def start(self) -> None:
        """The server answers at `url`."""
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                  "--no-locale", "--no-sync")  # fmt: skip
        self.serve()

    def serve(self) -> None:
        """The server answers, with the data that stand in its folder."""
        # Without fsync a power cut would lose data; this data lives for minutes.
        # synchronous_commit stays on: the product's promise is tested.
        options = (
            f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' "
            "-c max_connections=200"
            # a table that is empty between two tests would pass for empty in the next
            " -c autovacuum=off"
            # and tables of which nothing is known look so large that every query would be compiled
            " -c jit=off"
        )
        if not self.is_durable:
            options += " -c fsync=off -c full_page_writes=off"
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-o", options,
                  "-l", str(self.folder / "log"), "-w", "-t", "60", "start")  # fmt: skip

    def crash(self) -> None:
        """The server is gone at once, as after a crash: nothing was written back in good order."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")

    def stop(self) -> None:
        """The server and its folder are gone."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command: str, *arguments: str) -> None:
        with (self.folder.parent / f"{self.folder.name}.out").open("w+") as output:
            done = subprocess.run(
                [str(self.binaries / command), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
                check=False,
            )
            output.seek(0)
            told = output.read()
        Path(output.name).unlink()
        if done.returncode:
            raise pytest.UsageError(f"{command} failed: {told.strip()}")


def make_folder(prefix: str) -> Path:
    """Return a new folder for databases: in memory if there is room, where no disk is waited for.

    Databases still flush what they commit, as the site makes them; it costs nothing there.
    """
    memory = Path("/dev/shm")  # noqa: S108 (a folder of our own in it)
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM
    return Path(tempfile.mkdtemp(prefix=prefix, dir=memory if has_room else None))


def find_binaries() -> Path | None:
    """The folder of the newest PostgreSQL server programs, if there are any."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: int(folder.parent.name) if folder.parent.name.isdigit() else 0,
        reverse=True,
    )
    if on_path := shutil.which("initdb"):
        folders.insert(0, Path(on_path).resolve().parent)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        choices=["sqlite", "postgresql"],
        default=os.environ.get("EVALSITE_TEST_DATABASE", "sqlite"),
        help="what the suite runs on: sqlite (default) or postgresql",
    )
    parser.addoption(
        "--whole",
        action="store_true",
        help="on PostgreSQL: every test that uses a database, not only those about it",
    )
    parser.addoption(
        "--all-cases",
        action="store_true",
        help="of a test marked one_case or each_once, all cases",
    )
    parser.addoption(
        "--few",
        action="store_true",
        help="of a test with many cases, only the first and the last",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("database") == "postgresql" and "EVALSITE_DATABASE" not in os.environ:
        pytest.exit(NO_SERVER, returncode=0)
    # Not a conftest.py: the tests in the protocols' folders need these fixtures as well.
    config.pluginmanager.import_plugin("tests.support.emptying")
    config.pluginmanager.import_plugin("tests.support.fixtures")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without a search for garbage, and leave what was collected out of later ones.

    There is hardly any, and each search would go through thousands of tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with slow tests come first; on PostgreSQL only those whose answer may differ there."""
    for item in items:
        if not _SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    if not config.getoption("all_cases"):
        _leave_repeats_to_torture(items)
    # Or the last process would be busy with one of them when the others are done. What the tests of
    # a file share is made once: they stay together.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if config.getoption("few"):
        _keep(_list_few(items), items, config)
    if config.getoption("database") != "postgresql":
        return
    is_whole = config.getoption("whole")
    _keep({item for item in items if _is_for_postgresql(item, is_whole=is_whole)}, items, config)


def _keep(chosen: set[pytest.Item], items: list[pytest.Item], config: pytest.Config) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _list_few(items: list[pytest.Item]) -> set[pytest.Item]:
    """The first and the last case of each test."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("torture") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {one for many in cases.values() for one in (many[0], many[-1])}


def _leave_repeats_to_torture(items: list[pytest.Item]) -> None:
    """Choose the cases that the suite runs of tests marked `one_case` or `each_once`."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        is_marked = item.get_closest_marker("one_case") or item.get_closest_marker("each_once")
        if is_marked and item.get_closest_marker("torture") is None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        if cases[0].get_closest_marker("one_case"):
            kept = {cases[0]}
        else:
            kept = choose_fewest({item: _list_values(item) for item in cases})
        for item in cases:
            if item not in kept:
                item.add_marker("torture")


def choose_fewest(values: Mapping[_Case, set[object]]) -> set[_Case]:
    """Return few of the cases, which have all values between them."""
    chosen: set[_Case] = set()
    missing = set[object]().union(*values.values())
    while missing:
        best = max(values, key=lambda case: len(values[case] & missing))
        chosen.add(best)
        missing -= values[best]
    return chosen


def _list_values(item: pytest.Item) -> set[object]:
    """What a case has that another may have as well: its parameters, or what its mark tells."""
    mark = item.get_closest_marker("each_once")
    given = item.callspec.params if hasattr(item, "callspec") else {}
    if mark and "of" in mark.kwargs:
        return set(mark.kwargs["of"](*given.values()))
    return {(name, repr(value)) for name, value in given.items()}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """On PostgreSQL do not even read the many files of which no test would run there."""
    if config.getoption("database") != "postgresql" or config.getoption("whole"):
        return None
    is_other = collection_path.suffix == ".py" and _MARK not in collection_path.read_bytes()
    return is_other or None


def _is_for_postgresql(item: pytest.Item, *, is_whole: bool) -> bool:
    """Whether its answer may differ there, as it says itself; for all others SQLite is enough."""
    if item.get_closest_marker("both_databases"):
        return is_whole or not _is_of_another_protocol(item)
    names = set(getattr(item, "fixturenames", ()))
    uses_database = item.get_closest_marker("django_db") is not None
    # what a page shows and how it is used is the same
    return (
        is_whole
        and "browser" not in names
        and (uses_database or not _DATABASE_FIXTURES.isdisjoint(names))
    )


def _is_of_another_protocol(item: pytest.Item) -> bool:
    """Whether it is a test of each protocol: all of them store the same rows in the same tables."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    values = [given[name] for name in ("config", "protocol") if name in given]
    keys = [key for value in values if isinstance(key := getattr(value, "key", value), str)]
    return bool(keys) and _PROTOCOLS_ON_POSTGRESQL.isdisjoint(keys)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Choose the database before Django reads its settings; xdist's workers inherit the choice."""
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        # the schedule deletes files that its database knows nothing of
        _set_data_folder(Path(os.environ["EVALSITE_DATA_DIR"], worker))
        return
    folder = make_folder("evalsite-tests-")
    early_config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    _set_data_folder(folder)
    # a suite that a test runs copies the template of the suite that it belongs to
    os.environ.setdefault("EVALSITE_TEST_TEMPLATE", str(folder / "template.sqlite3"))
    os.environ.pop("EVALSITE_DATABASE", None)
    options = early_config.known_args_namespace
    is_asked = options.database == "postgresql" and not (options.help or options.version)
    if is_asked and (url := _find_postgres(early_config)):
        os.environ["EVALSITE_DATABASE"] = url


def _set_data_folder(folder: Path) -> None:
    os.environ["EVALSITE_DATA_DIR"] = str(folder)
    (folder / "static").mkdir(parents=True)  # where whitenoise looks


def _find_postgres(config: pytest.Config) -> str | None:
    """The address of a PostgreSQL for this session; None where there cannot be one."""
    if url := os.environ.get("EVALSITE_TEST_POSTGRES"):
        return url
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("CI") == "true":
            raise pytest.UsageError(NO_SERVER)
        return None
    cluster = Cluster(binaries)
    config.add_cleanup(cluster.stop)
    cluster.start()
    return cluster.url

"""Settings: refused when unsafe or malformed, and really in force in the database."""

import logging
import os
import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from django.db import connection, transaction

from evalsite.checks import check_durability
from evalsite.core.log_safety import HideTokens

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
STRONG = "kT9-" + "only-for-this-test" * 4
SAFE = {
    "EVALSITE_SECRET_KEY": STRONG,
    "EVALSITE_URL": "https://evalsite.example",
}
only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="is about SQLite")
only_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="is about PostgreSQL"
)


def run_site(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What manage.py says to this environment."""
    return run_python("manage.py", *arguments, **variables)


def run_python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a new process says to this environment; nothing of the tests' own is passed on."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EVALSITE_", "DJANGO_"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=inherited | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"EVALSITE_SECRET_KEY": ""}, "Set EVALSITE_SECRET_KEY"),
        ({"EVALSITE_URL": ""}, "Set EVALSITE_URL"),
        ({"EVALSITE_ULR": "https://evalsite.example"}, "EVALSITE_URL"),
    ],
)
def test_it_refuses_to_start_unsafe_or_malformed(variables, named):
    """Which values are refused is in tests/lib/test_env.py; here they stop the start."""
    done = run_site("check", **SAFE | variables)

    assert done.returncode != 0
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.one_case
@pytest.mark.parametrize("command", [("manage.py", "db_worker"), ("-c", "import evalsite.wsgi")])
def test_neither_worker_nor_web_server_starts_with_a_key_that_can_be_guessed(command, tmp_path):
    weak = SAFE | {"EVALSITE_SECRET_KEY": "abc", "EVALSITE_DATA_DIR": str(tmp_path)}

    done = run_python(*command, **weak)

    assert done.returncode != 0
    assert "can be guessed" in done.stderr


def test_earlier_keys_come_from_the_environment_or_a_file(tmp_path):
    older, oldest = "older-" + STRONG, "oldest-" + STRONG
    (tmp_path / "keys").write_text(f"{older}\n{oldest}\n", encoding="utf-8")
    code = "from evalsite import settings; print(settings.SECRET_KEY_FALLBACKS)"

    told = run_python("-c", code, **SAFE, EVALSITE_SECRET_KEY_FALLBACKS=f"{older} {oldest}")
    filed = run_python(
        "-c", code, **SAFE, EVALSITE_SECRET_KEY_FALLBACKS_FILE=str(tmp_path / "keys")
    )

    assert told.stdout == filed.stdout == f"{[older, oldest]}\n", told.stderr + filed.stderr


@pytest.mark.torture
def test_a_safe_site_passes_the_deploy_check_without_a_warning(tmp_path):
    done = run_site(
        "check", "--deploy", "--fail-level", "WARNING", "--database", "default",
        **SAFE | {"EVALSITE_DATA_DIR": str(tmp_path)},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


CARELESS = """
from evalsite.settings import *
is_sqlite = DATABASES["default"]["ENGINE"].endswith("sqlite3")
DATABASES["default"]["OPTIONS"] |= (
    {"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"}
    if is_sqlite
    else {"options": "-c synchronous_commit=off"}
)
"""
# what a web server does when it starts
SERVE = "import sys; sys.path.append('.'); import evalsite.wsgi"


@pytest.mark.torture
@pytest.mark.parametrize("is_careless", [False, True])
def test_a_web_server_does_not_start_on_a_database_that_may_lose_answers(
    is_careless, tmp_path, database_url
):
    (tmp_path / "careless.py").write_text(CARELESS, encoding="utf-8")
    variables = {"EVALSITE_DATA_DIR": str(tmp_path), "EVALSITE_DATABASE": database_url}
    if is_careless:
        variables |= {"PYTHONPATH": str(tmp_path), "DJANGO_SETTINGS_MODULE": "careless"}

    done = run_python("-c", SERVE, **SAFE | variables)

    assert (done.returncode != 0) == is_careless, done.stderr
    assert ("ImproperlyConfigured" in done.stderr) == is_careless
    assert ("must run with" in done.stderr) == is_careless


@pytest.mark.torture
def test_a_web_server_starts_before_its_database_and_says_so(tmp_path):
    absent = f"postgresql://nobody@/evalsite?host={tmp_path}"

    done = run_python("-c", SERVE, **SAFE | {"EVALSITE_DATABASE": absent})

    assert done.returncode == 0, done.stderr
    assert "The database can't be reached yet" in done.stderr


# --- logs -----------------------------------------------------------------------------

GUNICORN = f"""
from gunicorn.config import Config
from gunicorn.glogging import Logger
log = Logger(Config())
{SERVE}
log.access_log.info("GET %s", "/p/secret-token/start/")
log.access_log.info("POST %s", "/invitation/secret-token/")
log.access_log.info("GET %s", "/admin/login/?next=/invitation/secret-token")
try:
    raise ValueError("/p/secret-token/finish/")
except ValueError:
    log.exception("Error handling request %s", "/p/secret-token/")
"""


def test_the_web_server_writes_no_token_into_its_logs(tmp_path):
    done = run_python("-c", GUNICORN, **SAFE | {"EVALSITE_DATA_DIR": str(tmp_path)})

    assert done.returncode == 0, done.stderr
    assert "Error handling request /p/…/" in done.stderr
    assert "ValueError: /p/…/finish/" in done.stderr
    assert "GET /p/…/start/" in done.stderr
    assert "POST /invitation/…/" in done.stderr
    assert "GET /admin/login/?next=/invitation/…" in done.stderr
    assert "secret-token" not in done.stdout + done.stderr


STUDY = "/join/11111111-2222-4333-8444-555555555555/"


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        (f'"GET {STUDY}?PROLIFIC_PID=5f0&x=1 HTTP/1.1" 200', f'"GET {STUDY}?… HTTP/1.1" 200'),
        (f"GET {STUDY[:-1]}?PROLIFIC_PID=5f0", f"GET {STUDY[:-1]}?…"),
        (f'"https://x.example{STUDY}?a=5f0\'5f0" "UA"', f'"https://x.example{STUDY}?…" "UA"'),
        (f"<WSGIRequest: GET '{STUDY}?a=5f0'>", f"<WSGIRequest: GET '{STUDY}?…'>"),
        (f"POST {STUDY} 302", f"POST {STUDY} 302"),
        ("GET /admin/?q=5f0", "GET /admin/?q=5f0"),
    ],
)
def test_the_ids_in_a_join_link_reach_no_log(line, hidden, settings):
    import_module(settings.ROOT_URLCONF)  # a process without pages hides every long part
    record = logging.LogRecord("gunicorn.access", logging.INFO, "", 0, "%s", (line,), None)

    HideTokens().filter(record)

    assert record.getMessage() == hidden


# --- the database ---------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.django_db
def test_the_database_of_the_suite_passes_the_durability_check():
    assert check_durability(databases=["default"]) == []


@only_sqlite
@pytest.mark.django_db
def test_sqlite_runs_with_wal_full_and_foreign_keys_and_waits_for_other_writers():
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 20_000}
    found = {}
    with connection.cursor() as cursor:
        for name in wanted:
            cursor.execute(f"PRAGMA {name}")
            found[name] = cursor.fetchone()[0]

    assert found == wanted


@only_sqlite
@pytest.mark.django_db(transaction=True)
def test_a_sqlite_transaction_takes_the_writer_lock_at_its_start():
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=0)

    with transaction.atomic(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")

    other.close()


@only_sqlite
@pytest.mark.django_db(transaction=True)
def test_sqlite_that_may_lose_answers_is_refused():
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=NORMAL")

    problems = check_durability(databases=["default"])
    connection.close()  # the next one starts with the right values again

    assert [problem.id for problem in problems] == ["evalsite.E002"]


@pytest.mark.both_databases
@only_postgresql
@pytest.mark.django_db
def test_postgresql_runs_with_synchronous_commit():
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")

        assert cursor.fetchone()[0] == "on"


@pytest.mark.both_databases
@only_postgresql
@pytest.mark.django_db(transaction=True)
def test_postgresql_waits_for_the_disk_whatever_the_server_prefers():
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    connection.close()  # the next one asks the server again

    problems = check_durability(databases=["default"])
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} RESET synchronous_commit")

    assert problems == []


@pytest.mark.both_databases
@only_postgresql
@pytest.mark.django_db(transaction=True)
def test_postgresql_compiles_no_query_whatever_the_server_prefers():
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} SET jit = on")
    connection.close()  # the next one asks the server again

    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        in_force = cursor.fetchone()[0]
        cursor.execute(f"ALTER DATABASE {name} RESET jit")

    assert in_force == "off"


@pytest.mark.both_databases
@only_postgresql
@pytest.mark.django_db
def test_postgresql_that_may_lose_answers_is_refused():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")

    problems = check_durability(databases=["default"])

    assert [problem.id for problem in problems] == ["evalsite.E003"]


def test_database_out_of_reach_is_told_in_a_sentence(tmp_path: Path) -> None:
    # a folder can't be made below a file, whoever tries
    (tmp_path / "file").touch()

    done = run_site("migrate", **SAFE, EVALSITE_DATA_DIR=str(tmp_path / "file" / "data"))

    assert done.returncode == 1
    assert "can't be opened and written. Make its folder" in done.stderr
    assert "Traceback" not in done.stderr

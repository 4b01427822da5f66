"""manage.py as it is typed: after `make run`, before it, and on a database that is new."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.support.factories import make_study

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path) -> Path:
    """A folder with manage.py, whose var/ holds what `make run` made."""
    shutil.copy(ROOT / "manage.py", tmp_path)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "secret").write_text("kT9-" + "only-for-this-test" * 4)
    return tmp_path


def run(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What manage.py says where no variable of the site is set but these."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EVALSITE_", "DJANGO_"))
    }
    data = {"PYTHONPATH": str(ROOT), "EVALSITE_DATA_DIR": str(project / "var")}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=project,
        env=inherited | data | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_after_make_run_a_command_runs_as_printed_and_says_on_which_site(project):
    done = run(project, "migrate", "--plan")

    assert done.returncode == 0, done.stderr
    assert f"the site in {project / 'var'}." in done.stderr
    assert "make run" not in done.stdout


@pytest.mark.one_case
@pytest.mark.parametrize(
    "arguments",
    [[], ["check"], pytest.param(["import_batch", "--help"], marks=pytest.mark.torture)],
)
def test_command_that_needs_no_data_says_nothing_about_sites(project, arguments):
    done = run(project, *arguments)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.one_case
@pytest.mark.parametrize("command", ["runserver", "db_worker"])
def test_server_and_worker_never_take_the_site_of_make_run_by_themselves(project, command):
    done = run(project, command)

    assert done.returncode != 0
    assert "Set EVALSITE_SECRET_KEY" in done.stderr


@pytest.mark.one_case
@pytest.mark.parametrize(
    "named", ["EVALSITE_SECRET_KEY", "EVALSITE_URL", "EVALSITE_DEBUG", "EVALSITE_DATABASE"]
)
def test_site_that_is_set_up_by_half_is_refused_even_beside_that_of_make_run(project, named):
    done = run(project, "check", **{named: ""})

    assert done.returncode != 0
    assert "Set EVALSITE_SECRET_KEY" in done.stderr


def test_what_is_wrong_with_the_settings_is_a_sentence_for_every_command(project):
    key = "kT9-" + "only-for-this-test" * 4
    done = run(project, "makemigrations", "--check", EVALSITE_SECRET_KEY=key)

    assert done.returncode == 1
    assert done.stderr.startswith("Set EVALSITE_URL")
    assert "Traceback" not in done.stderr


@pytest.mark.torture
def test_command_that_verifies_bundles_asks_for_no_site(project):
    shutil.rmtree(project / "var")

    done = run(project, "verify_bundle", "study.zip")

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "study.zip" in done.stderr
    assert "EVALSITE_SECRET_KEY" not in done.stderr


@pytest.mark.torture
@pytest.mark.django_db
def test_bundle_is_verified_where_no_site_was_ever_set_up(project):
    shutil.rmtree(project / "var")
    call_command("export_bundle", str(make_study().pk), output=project / "study.zip")

    done = run(project, "verify_bundle", "study.zip")

    assert done.returncode == 0, done.stderr
    assert "study.zip: nothing is wrong." in done.stdout


@pytest.mark.torture
def test_database_without_tables_is_told_with_what_makes_them(project):
    empty = f"sqlite:///{project}/var/new.sqlite3"

    site = {
        "EVALSITE_SECRET_KEY": "kT9-" + "only-for-this-test" * 4,
        "EVALSITE_URL": "https://a.example",
    }

    done = run(project, "import_bundle", "study.zip", EVALSITE_DATABASE=empty, **site)

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "Run evalsite prepare" in done.stderr


@pytest.mark.django_db
def test_import_of_a_bundle_where_nobody_can_sign_in_says_what_makes_somebody():
    with pytest.raises(CommandError, match="evalsite prepare"):
        call_command("import_bundle", "study.zip")


def test_python_without_django_is_told_which_one_to_take(project):
    bare = {"PYTHONPATH": ""}

    done = subprocess.run(
        [sys.executable, "-S", ROOT / "manage.py", "check"],
        cwd=project, env=bare, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode != 0
    assert ".venv/bin/python -m evalsite" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.torture
def test_folder_and_database_that_the_site_makes_are_readable_by_its_user_only(project):
    data = project / "data"

    variables = {"EVALSITE_DATA_DIR": str(data), "EVALSITE_DEBUG": "on"}
    static = run(project, "collectstatic", "-v0", "--noinput", **variables)
    # one app is enough to make the file
    done = run(project, "migrate", "-v0", "contenttypes", **variables)

    assert (static.returncode, done.returncode) == (0, 0), static.stderr + done.stderr
    modes = [oct(path.stat().st_mode & 0o777) for path in (data, data / "evalsite.sqlite3")]
    assert modes == ["0o700", "0o600"]


@pytest.mark.one_case
@pytest.mark.parametrize(
    "command",
    [
        "analyse",
        "import_batch",
        *(
            pytest.param(name, marks=pytest.mark.torture)
            for name in ("export_bundle", "simulate", "fsck")
        ),
    ],
)
def test_what_a_command_makes_is_for_nobody_else_to_read(project, command):
    data = project / "var" / "data"
    data.mkdir()
    shutil.copy(project / "var" / "secret", data)
    (data / "secret").chmod(0o600)
    (project / "file.csv").write_text("id")

    run(project, command, "a-study", *["file.csv"] * (command == "import_batch"),
        EVALSITE_DATA_DIR=str(data))  # fmt: skip

    made = list(data.rglob("*"))
    assert len(made) > 1
    assert [path for path in made if path.stat().st_mode & 0o077] == []

"""The command line: exit codes, one JSON document, sentences in place of tracebacks."""

import errno
import io
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management import CommandError
from django.db import OperationalError

from evalsite import __version__
from evalsite.command_line import main, output
from evalsite.command_line.main import COMMANDS, run_command
from evalsite.command_line.output import NO, STOPPED, UNDECIDED, WRONG_USE, Refused, Result
from evalsite.command_line.processes import take_signals
from evalsite.lib.database_state import OtherDatabase
from evalsite.lib.env import BadSetting


@pytest.fixture
def command(monkeypatch):
    """A command `try` whose `run` a test replaces."""
    module = SimpleNamespace(add_arguments=lambda parser: None, run=lambda options: Result())
    monkeypatch.setitem(COMMANDS, "try", ("serve", "try something"))
    monkeypatch.setattr(main, "import_module", lambda name: module)
    return module


def raise_error(error: BaseException):
    def run(options):
        raise error

    return run


def test_exit_codes_are_those_that_workflows_rely_on():
    codes = (output.DONE, NO, UNDECIDED, WRONG_USE, STOPPED)

    assert codes == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_module_and_its_options(name):
    module = import_module(f"evalsite.command_line.{COMMANDS[name][0]}")

    if name not in ("import", "manage"):
        module.add_arguments(ArgumentParser())
    assert callable(module.run)


def test_every_command_is_listed_by_help(capsys):
    assert run_command(["help"]) == output.DONE

    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in COMMANDS)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4])
def test_a_command_writes_one_json_document_with_its_exit_code(command, capsys, code):
    command.run = lambda options: Result(code, "for people", {"outcome": "é"})

    assert run_command(["try", "--json"]) == code

    written = capsys.readouterr()
    assert json.loads(written.out) == {
        "evalsite": __version__, "command": "try", "exit": code, "outcome": "é",
    }  # fmt: skip
    assert "for people" not in written.err


def test_without_json_the_text_is_written(command, capsys):
    command.run = lambda options: Result(text="for people\n", facts={"outcome": 1})

    run_command(["try"])

    assert capsys.readouterr().out == "for people\n"


def test_with_json_all_else_goes_to_standard_error(command, capsys):
    def run(options):
        sys.stdout.write("a library that prints")
        options.output.say("a line for people")
        options.output.write_event("progress", done=1)
        return Result()

    command.run = run

    run_command(["try", "--json"])

    written = capsys.readouterr()
    events = [json.loads(line) for line in written.out.splitlines()]
    assert [event.get("event") for event in events] == ["progress", None]
    assert "a library that prints" in written.err
    assert "a line for people" in written.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "usage"),
        (["instrument"], "instruments"),
        (["no-such-command"], "evalsite help"),
        (["instruments", "--colour"], "--colour"),
        (["serve", "--port", "many"], "--port"),
        (["web", "--bind", "8000"], "--bind"),
        (["web", "--bind", "nowhere.invalid:8000"], "no address of this machine"),
        (["web", "--workers", "0"], "--workers"),
        (["web", "--workers", "-1"], "--workers"),
        (["import", "study", "items.csv", "--data"], "expected one argument"),
    ],
)
def test_wrong_use_is_a_sentence_and_ends_with_3(words, named, capsys):
    assert run_command(words) == WRONG_USE

    assert named in capsys.readouterr().err


def test_wrong_use_is_in_the_json_document_too(capsys):
    assert run_command(["instruments", "--colour", "--json"]) == WRONG_USE

    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == WRONG_USE
    assert "--colour" in document["error"]


def full_disk() -> OperationalError:
    """A fault of a database, as SQLite words it for a full disk."""
    cause = sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode = sqlite3.SQLITE_FULL
    wrapped = OperationalError(str(cause))
    wrapped.__cause__ = cause
    return wrapped


@pytest.mark.parametrize(
    ("error", "code", "named"),
    [
        (Refused("No.", NO), NO, "No."),
        (OtherDatabase("An older one."), NO, "An older one."),
        (ImproperlyConfigured("Set it."), WRONG_USE, "Set it."),
        (BadSetting("Not that."), WRONG_USE, "Not that."),
        (CommandError("No account."), WRONG_USE, "No account."),
        (ValidationError(["First.", "Second."]), WRONG_USE, "First. Second."),
        (PermissionError(errno.EACCES, "Permission denied", "/data"), WRONG_USE, "/data"),
        (OSError(errno.EROFS, "Read-only file system", "/data"), WRONG_USE, "/data"),
        (OSError(errno.ENOSPC, "No space left on device"), WRONG_USE, "The disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/data"), WRONG_USE, "The disk is full"),
        (full_disk(), WRONG_USE, "The disk is full"),
        (OperationalError("unable to open database file"), WRONG_USE, "EVALSITE_DATA_DIR"),
        (OperationalError("no such table: studies_study"), WRONG_USE, "evalsite prepare"),
        (
            OperationalError('connection to server on socket "/x" failed: no such file\n\tmore'),
            WRONG_USE,
            "EVALSITE_DATABASE",
        ),
        (KeyboardInterrupt(), STOPPED, "Stopped."),
    ],
)
def test_a_known_fault_is_a_sentence_with_its_exit_code(command, capsys, error, code, named):
    command.run = raise_error(error)

    assert run_command(["try", "--json"]) == code

    written = capsys.readouterr()
    assert named in json.loads(written.out)["error"]
    assert named in written.err
    assert "Traceback" not in written.err


@pytest.mark.parametrize("error", [KeyError("key"), OSError(errno.EIO, "Input/output error")])
def test_an_unknown_fault_is_never_taken_for_an_answer(command, capsys, error):
    """Python itself would end with 1, which means that the answer is no."""
    command.run = raise_error(error)

    assert run_command(["try", "--json"]) == WRONG_USE

    written = capsys.readouterr()
    document = json.loads(written.out)
    assert document["exit"] == WRONG_USE
    assert type(error).__name__ in document["error"]
    assert "Traceback" in written.err


def test_a_signal_while_a_class_is_being_made_stops_the_command(command, capsys):
    class Named:
        def __set_name__(self, owner, name):
            signal.raise_signal(signal.SIGINT)

    before = {number: signal.getsignal(number)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}  # fmt: skip
    command.run = lambda options: type("Made", (), {"part": Named()})
    try:
        take_signals()
        assert run_command(["try", "--json"]) == STOPPED
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert "Traceback" not in capsys.readouterr().err


def test_help_with_json_is_one_document(command, capsys):
    assert run_command(["try", "--json", "--help"]) == output.DONE

    written = capsys.readouterr()
    assert json.loads(written.out)["exit"] == output.DONE
    assert "usage: evalsite try" in written.err


def test_an_option_is_never_abbreviated(command, capsys):
    """`--js` would have been taken for --json, but written as text."""
    assert run_command(["try", "--js"]) == WRONG_USE

    assert "--js" in capsys.readouterr().err


def test_a_sentence_ends_once(command, capsys):
    def refuse(text):
        raise ArgumentTypeError("Write a scale as 1-7.")

    command.add_arguments = lambda parser: parser.add_argument("--scale", type=refuse)

    run_command(["try", "--scale", "7"])

    assert capsys.readouterr().err.endswith("Write a scale as 1-7.\n")


def test_control_characters_never_reach_a_terminal(command, capsys):
    command.run = lambda options: Result(text="a\x1b[2Jb\x9bc\td\ne")
    run_command(["try"])
    run_command(["try\x1b[2J"])

    written = capsys.readouterr()
    assert written.out == "a\\x1b[2Jb\\x9bc\td\ne\n"
    assert "\x1b" not in written.err


@pytest.mark.parametrize("words", [["try"], ["try", "--json"]])
def test_a_terminal_that_lacks_a_character_still_gets_the_result(command, monkeypatch, words):
    """`−` and the bytes of a file name that are no UTF-8, on a terminal with ASCII."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    command.run = lambda options: Result(text="−1 \udcff", facts={"name": "−1 \udcff"})

    monkeypatch.setattr(sys, "argv", ["evalsite", *words])
    monkeypatch.setattr(os, "umask", lambda mask: mask)

    assert main.main() == output.DONE

    written = raw.getvalue().decode("ascii")
    if "--json" in words:
        assert json.loads(written)["name"] == "−1 \udcff"
    else:
        assert written == "\\u22121 \\udcff\n"


@pytest.mark.parametrize("name", sorted({"serve", "web", "worker"} & COMMANDS.keys()))
def test_windows_is_shown_the_container(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "win32")

    assert run_command([name]) == WRONG_USE

    assert "container" in capsys.readouterr().err


# --- instruments ------------------------------------------------------------------------


def test_instruments_are_listed_with_the_columns_that_each_needs(capsys):
    assert run_command(["instruments", "--json"]) == output.DONE

    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)["instruments"]}
    assert listed["pairwise"]["columns"] == ["item", "system", "output", "dialogue"]
    assert (listed["pairwise"]["kind"], listed["summeval"]["kind"]) == ("protocol", "gallery")


def test_an_instrument_is_printed_as_it_can_be_imported(capsys, settings):
    assert run_command(["instruments", "summeval"]) == output.DONE

    path = settings.BASE_DIR / "fixtures" / "instruments" / "summeval.json"
    shipped = json.loads(path.read_text(encoding="utf-8"))
    printed = json.loads(capsys.readouterr().out)
    assert printed["key"] == "summeval"
    assert printed["criteria"] == shipped["criteria"]


def test_an_unknown_instrument_is_refused_with_the_nearest(capsys):
    assert run_command(["instruments", "sumeval"]) == WRONG_USE

    assert "summeval" in capsys.readouterr().err


# --- standard output that can't be written ------------------------------------------------


def run_with_output(shell: str, *words: object) -> int:
    """Run a command whose output goes where the shell says, and return its exit code."""
    command = shlex.join([sys.executable, "-m", "evalsite", *map(str, words)])
    done = subprocess.run(
        ["bash", "-c", f"{command} {shell}; exit ${{PIPESTATUS[0]}}"],
        stderr=subprocess.PIPE, text=True, check=False, cwd=settings.BASE_DIR,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode


@pytest.mark.parametrize(
    ("shell", "code"), [("| true", NO), (">&-", NO), (">/dev/full", WRONG_USE)]
)
def test_the_exit_code_stays_true_where_nobody_reads_the_result(tmp_path, shell, code):
    """A gate that failed would have passed a workflow that shows its first line only."""
    odd = tmp_path / "odd.zip"
    odd.write_bytes(b"odd")

    assert run_with_output(shell, "verify", odd) == code


def test_the_exit_code_stays_true_where_no_error_can_be_written(tmp_path):
    assert run_with_output("2>/dev/full", "verify", tmp_path / "none.zip") == WRONG_USE


# --- signals ----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_stopped_says_so(tmp_path, number):
    """It waits for a bundle from a pipe that nobody writes into."""
    bundle = tmp_path / "bundle.zip"
    os.mkfifo(bundle)
    process = subprocess.Popen(
        [sys.executable, "-m", "evalsite", "verify", str(bundle), "--json"],
        stdout=subprocess.PIPE, cwd=settings.BASE_DIR, env={**os.environ, "TMPDIR": str(tmp_path)},
        # under nohup it would be ignored, as it should
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )  # fmt: skip
    while not list(tmp_path.glob("evalsite-*")):
        assert process.poll() is None
    process.send_signal(number)
    written, _ = process.communicate(timeout=60)

    assert process.returncode == STOPPED
    assert json.loads(written)["exit"] == STOPPED


def test_signals_are_taken_where_terminals_have_no_end(monkeypatch):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.delattr(signal, "SIGHUP")
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        take_signals()
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("is_ignored", [True, False])
def test_the_end_of_a_terminal_is_ignored_under_nohup(is_ignored):
    before = {number: signal.getsignal(number)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}  # fmt: skip
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
        take_signals()
        assert (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN) == is_ignored
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""evalsite rate: from a file to a verified bundle, with people who answer through real pages."""

import json
import os
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from csv import DictReader
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit
from zipfile import ZipFile

import pytest

from evalsite.command_line import rate
from evalsite.command_line.lock import only_one
from evalsite.command_line.main import run_command
from evalsite.command_line.output import DONE, NO, STOPPED, WRONG_USE, Refused
from evalsite.command_line.site import HOST
from evalsite.decisions.plan_commitment import list_lines
from evalsite.handout.models import Slot
from evalsite.instruments.installed import get_protocol
from evalsite.studies.models import Study
from evalsite.studies.settings import SETTINGS
from tests.support.annotators import Annotator
from tests.support.raters import Diary, TirelessBrowser

ROOT = Path(__file__).resolve().parents[2]
# with the waits of real people cut short
QUICK = (
    "import sys; from evalsite.command_line import main, rate; rate.SECONDS_AT_THE_END = 0; "
    "sys.exit(main.main())"
)


@pytest.fixture
def file(tmp_path) -> Path:
    """Four meaning representations, each with the output of three systems."""
    whole = (ROOT / "protocols/magnitude/example_batch.csv").read_text(encoding="utf-8")
    path = tmp_path / "outputs.csv"
    path.write_text("".join(whole.splitlines(keepends=True)[:13]), encoding="utf-8")
    return path


@pytest.fixture
def words(file, tmp_path) -> list[str]:
    return [
        str(file), "--instrument", "magnitude", "--people", "2", "--out", str(tmp_path / "human"),
    ]  # fmt: skip


def parse(words: list[str]):
    parser = ArgumentParser()
    rate.add_arguments(parser)
    options, options.further = parser.parse_known_args(words)
    options.output = SimpleNamespace(say=lambda sentence: None)
    return options


# --- options ------------------------------------------------------------------------------


def test_as_many_people_are_invited_as_a_study_can_have():
    assert SETTINGS["k"].most == rate.MOST_PEOPLE


@pytest.mark.parametrize(
    "option",
    [
        ["--people", "0"],
        ["--people", "101"],
        ["--people", "two"],
        ["--margin", "B not worse than A"],
        ["--margin", "B better than A by 0.2"],
        ["--margin", "B not worse than A by -1"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--url", "name.example"],
        ["--url", "https://name.example/path"],
        ["--url", "https://[name"],
    ],
)
def test_an_option_that_makes_no_sense_is_refused_with_its_name(words, option, capsys, tmp_path):
    assert run_command(["rate", *words, *option]) == WRONG_USE

    assert option[0] in capsys.readouterr().err
    assert not (tmp_path / "human").exists()


def test_a_margin_names_two_systems_and_a_number(words):
    options = parse([*words, "--margin", " B 2  is not worse than A by x by 0.25"])

    assert options.margin == {"system": "B 2", "other": "A by x", "margin": "0.25"}


# --- one folder, one packet ---------------------------------------------------------------


def test_a_file_that_is_not_there_is_named_before_anything_is_made(words, tmp_path, capsys):
    words[0] = str(tmp_path / "absent.csv")

    assert run_command(["rate", *words]) == WRONG_USE

    assert "absent.csv" in capsys.readouterr().err
    assert not (tmp_path / "human").exists()


def test_a_folder_that_cannot_be_written_is_named(words, tmp_path, capsys):
    (tmp_path / "human").touch()

    assert run_command(["rate", *words]) == WRONG_USE

    assert str(tmp_path / "human") in capsys.readouterr().err


def test_results_without_their_answers_are_not_written_over(words, tmp_path, capsys):
    (tmp_path / "human").mkdir()
    (tmp_path / "human" / "bundle.zip").touch()

    assert run_command(["rate", *words]) == WRONG_USE

    assert "bundle.zip" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "human").iterdir()] == ["bundle.zip"]


def test_a_second_command_on_the_folder_is_refused_with_the_process_of_the_first(
    words, tmp_path, capsys
):
    folder = tmp_path / "human" / ".evalsite"
    folder.mkdir(parents=True)
    with only_one(folder):
        assert run_command(["rate", *words]) == WRONG_USE

    assert f"process {os.getpid()}" in capsys.readouterr().err
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_port_in_use_is_refused(words, capsys):
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        assert run_command(["rate", *words, "--port", str(port)]) == WRONG_USE

    assert str(port + 1) in capsys.readouterr().err


@pytest.fixture
def begun(words, tmp_path) -> Path:
    """The folder of a packet whose links were given out."""
    folder = tmp_path / "human" / ".evalsite"
    folder.mkdir(parents=True)
    asked = rate._describe_asked(parse(words))
    rate._write_state(folder, asked, {})
    return folder


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (["--people", "3"], "--people"),
        (["--practice"], "--practice"),
        (["--primary", "informativeness"], "--primary"),
        (["--instrument", "fluency"], "--instrument"),
    ],
)
def test_other_arguments_for_the_same_folder_are_refused(begun, words, option, named, capsys):
    assert run_command(["rate", *words, *option]) == WRONG_USE

    assert named in capsys.readouterr().err


def test_a_file_that_has_changed_since_is_refused(begun, words, file, capsys):
    file.write_text(f"{file.read_text()}\n")

    assert run_command(["rate", *words]) == WRONG_USE

    assert "FILE" in capsys.readouterr().err


def test_a_complete_packet_says_so_and_changes_nothing(begun, words, capsys):
    (begun.parent / "bundle.zip").touch()
    rate._write_state(begun, rate._describe_asked(parse(words)), {"bundle.zip": "0" * 64})

    assert run_command(["rate", *words, "--json"]) == DONE

    document = json.loads(capsys.readouterr().out)
    assert (document["event"], document["files"]) == ("complete", {"bundle.zip": "0" * 64})


# --- the study ----------------------------------------------------------------------------


@pytest.mark.django_db
def test_everybody_has_every_item_without_limit_practice_or_recognition(words):
    margin = "neural not worse than template by 1.2"
    options = parse([*words, "--primary", "informativeness", "--margin", margin])

    assert rate.make_study(options).code == DONE

    study = Study.objects.get()
    slots = Slot.objects.filter(item__study=study)
    assert (study.k, study.state) == (2, Study.State.LIVE)
    assert (slots.count(), slots.assigned().count()) == (8, 8)
    assert (study.recognise_days, study.is_practice_on, study.is_eligibility_on) == (
        0,
        False,
        False,
    )
    assert "\n" not in study.consent
    assert "the person who sent you this link" in study.consent
    (line,) = list_lines(study)
    assert line.split()[:2] == ["evalsite-plan", "1"]
    content = study.plan_versions.get().content
    assert content["primary"] == "informativeness"
    (planned,) = content["margins"]
    assert planned == {
        "criterion": "informativeness", "system": "neural", "relation": "not_worse",
        "other": "template", "margin": 1.2,
    }  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("option", "named"),
    [
        (["--primary", "clarity"], "informativeness"),
        (["--margin", "neural not worse than another by 1.2"], "another"),
        (["--margin", "neural not worse than neural by 1.2"], "different"),
        (["--margin", "neural not worse than template by 9"], "ratio"),
        (["--instrument", "magnitud"], "magnitude"),
        (["--instrument", "absent.json"], "absent.json"),
        (["--map", "output=nothing"], "nothing"),
        (["--primry", "informativeness"], "--primry"),
        (["--check"], "--check"),
    ],
)
def test_what_cannot_be_planned_or_asked_is_refused_before_launch(words, option, named):
    with pytest.raises(Refused, match=named) as refused:
        rate.make_study(parse([*words, *option]))

    assert refused.value.code == WRONG_USE
    assert not Study.objects.filter(launched_at__isnull=False).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["", "item,mr,system,output\n", "a,b\n1,2\n", "\x00\x01\x02"])
def test_faults_of_the_file_are_listed_and_end_with_1(words, file, text):
    file.write_text(text)

    result = rate.make_study(parse(words))

    assert result.code == NO
    assert result.text
    assert all({"line", "column", "message"} <= fault.keys() for fault in result.facts["faults"])
    assert result.facts["faults"]


@pytest.mark.django_db
def test_a_file_is_read_as_for_an_import_and_the_answer_to_its_question_is_an_option(words, file):
    text = "id,mr,system,output\n" + "".join(f"1,name[Café],{name},Café {name}\n" for name in "ABC")
    file.write_bytes(text.encode("windows-1252"))

    asked = rate.make_study(parse(words))
    assert asked.code == NO
    assert "--encoding windows-1252" in asked.text
    made = rate.make_study(parse([*words, "--encoding", "windows-1252"]))

    assert made.code == DONE
    study = Study.objects.get(launched_at__isnull=False)
    assert study.items.main().get().inputs["mr"] == "name[Café]"


@pytest.mark.django_db
def test_faults_of_an_instrument_are_listed_and_end_with_1(words, tmp_path):
    path = tmp_path / "rubric.json"
    path.write_text('{"format": "evalsite.instrument/1"}')

    result = rate.make_study(parse([*words, "--instrument", str(path)]))

    assert result.code == NO
    assert {fault["place"] for fault in result.facts["faults"]} >= {"title", "criteria"}


@pytest.mark.django_db
def test_a_margin_of_preferences_is_a_share(words, file):
    whole = (ROOT / "protocols/pairwise/example_batch.csv").read_text(encoding="utf-8")
    file.write_text(whole, encoding="utf-8")
    first, second = sorted({row["system"] for row in DictReader(StringIO(whole))})[:2]
    criterion = get_protocol("pairwise").criteria[0].key
    margin = ["--primary", criterion, "--margin", f"{second} not worse than {first} by 0.05"]

    assert rate.make_study(parse([*words, "--instrument", "pairwise", *margin])).code == DONE

    (planned,) = Study.objects.get().plan_versions.get().content["margins"]
    assert planned["margin"] == pytest.approx(0.05)


@pytest.mark.django_db
def test_one_system_can_be_rated_where_each_output_is_alone(words, file):
    rows = (ROOT / "fixtures/instruments/batches/adequacy_fluency.csv").read_text("utf-8")
    lines = rows.splitlines(keepends=True)
    kept = [line for line in lines if "tuned" in line.split(",")[0] or line is lines[0]]
    file.write_text("".join(kept), "utf-8")
    words = [*words, "--instrument", "adequacy_fluency"]

    assert rate.make_study(parse(words)).code == DONE

    margin = ["--primary", "adequacy", "--margin", "tuned not worse than baseline by 0.2"]
    with pytest.raises(Refused, match="baseline"):
        rate.make_study(parse([*words, *margin]))


# --- the whole way ------------------------------------------------------------------------


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@pytest.fixture
def start(words, port) -> Iterator:
    processes = []

    def begin(*options: str) -> subprocess.Popen[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("EVALSITE_", "DJAN"))}
        process = subprocess.Popen(
            [sys.executable, "-c", QUICK, "rate", *words, "--port", str(port), "--json", *options],
            cwd=ROOT, env=inherited, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        processes.append(process)
        return process

    yield begin
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate()


def read_event(process: subprocess.Popen[str], name: str) -> dict:
    for line in process.stdout:
        event = json.loads(line)
        if event.get("event") == name:
            return event
        assert "error" not in event, event
    raise AssertionError(process.stderr.read())


def answer(link: str, port: int, *, leaves_after: int = 0) -> str:
    """Answer through the pages of this link; return the name of the page at the end."""
    person = Annotator(TirelessBrowser(port, Diary()), seed=link, leaves_after=leaves_after)
    page = person.browser.get(urlsplit(link).path)
    while page.name not in ("rating-page", "participant-finish"):
        page = person._answer(page)
    return person.work(page).name


@pytest.mark.slow
def test_two_people_rate_with_a_stop_in_between_and_the_bundle_is_sound(
    start, words, tmp_path, port, capsys
):
    out = tmp_path / "human"
    margin = ["--margin", "neural not worse than template by 1.2"]
    first = start(*margin)
    ready = read_event(first, "ready")
    published = (out / "plan.txt").read_text()
    answer(ready["links"][0], port, leaves_after=2)
    first.send_signal(signal.SIGINT)
    stopped = read_event(first, "stopped")
    first.communicate()

    assert (first.returncode, stopped["done"], stopped["of"]) == (STOPPED, 2, 8)
    assert published == f"{ready['line']}\n"
    assert (out / ".evalsite" / ".gitignore").read_text() == "*\n"

    second = start(*margin)
    again = read_event(second, "ready")
    ends = [answer(link, port) for link in again["links"]]
    complete = read_event(second, "complete")
    second.communicate()

    assert (again["links"], again["line"]) == (ready["links"], ready["line"])
    assert ends == ["participant-finish"] * 2
    assert second.returncode == DONE
    assert set(complete["files"]) == {path.name for path in out.iterdir()} - {".evalsite"}
    with ZipFile(out / "bundle.zip") as bundle:
        name = next(name for name in bundle.namelist() if name.endswith("plan.txt"))
        assert bundle.read(name).decode() == published
    summary = (out / "summary.md").read_text()
    assert len(summary.splitlines()) <= 60
    assert complete["files"]["bundle.zip"] in summary
    digest = published.split()[3]
    assert run_command(["verify", str(out / "bundle.zip"), "--plan-hash", digest]) == DONE
    before = {path: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert run_command(["rate", *words, *margin]) == DONE
    assert {path: path.read_bytes() for path in before} == before

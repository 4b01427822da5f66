"""Demo studies: each is made whole or not at all, and one that fails stops nothing else."""

import json
import shutil
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.data.demo import FailedDemo, make_demo_studies, read_demo
from evalsite.data.files.file_counts import count_changed_files, store_counts
from evalsite.data.files.models import FileCounts
from evalsite.decisions.models import PeopleFigures
from evalsite.decisions.people_figures import measure_new_answers, store_figures
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import ProtocolConfig, find_folder
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Batch, Item, Study
from tests.support.factories import make_study, make_user
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two protocols are enough here, and as few people as give each item its answers."""
    demo = read_demo()
    demo["crowd"]["share_of_answers"] = 0
    (tmp_path / "demo.json").write_text(json.dumps(demo), encoding="utf-8")
    monkeypatch.setattr("evalsite.data.demo.DEMO_FILE", tmp_path / "demo.json")
    settings.PROTOCOLS = ["protocols.fluency", "protocols.rrgen"]


@pytest.fixture
def fluency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProtocolConfig:
    """The protocol, reading from a copy of its folder that a test may spoil."""
    folder = find_folder("fluency")
    shutil.copytree(folder.path, tmp_path / "fluency")
    monkeypatch.setattr(folder, "path", str(tmp_path / "fluency"))
    monkeypatch.setitem(folder.__dict__, "instrument", None)
    del folder.__dict__["instrument"]  # read again, also when the test is over
    monkeypatch.setitem(folder.__dict__, "problems", None)
    del folder.__dict__["problems"]
    return folder


def spoil_batch(folder: ProtocolConfig) -> None:
    folder.example_batch.write_text("item,dialogue,system,output\nu1,A: Hi,one,\n")


def spoil_practice(folder: ProtocolConfig) -> None:
    Path(folder.path, "practice.json").write_text('{"examples": [], "practice": [{}]}')


def spoil_json(folder: ProtocolConfig) -> None:
    Path(folder.path, "practice.json").write_text("{'examples': []}")


def remove_batch(folder: ProtocolConfig) -> None:
    folder.example_batch.unlink()


def leave_bonus_open(folder: ProtocolConfig) -> None:
    folder.demo_texts = {"bonus": Decimal(1), "max_sets": None}


def run_demo(*arguments: str) -> tuple[str, str]:
    """What the command prints on its two channels."""
    out, err = StringIO(), StringIO()
    call_command("demo", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_demo_is_live_with_the_protocols_own_words_where_it_has_no_texts_for_it(
    fluency, monkeypatch
):
    monkeypatch.setattr(fluency, "demo_texts", {})

    made, failed = make_demo_studies(by=make_user())

    study = next(study for study in made if study.protocol == "fluency")
    assert failed == []
    assert study.state == Study.State.LIVE
    protocol = fluency.instrument
    assert (study.title, study.summary) == (protocol.title, protocol.summary)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (spoil_batch, "The output is empty"),
        (remove_batch, "example_batch.csv"),
        (spoil_practice, "practice.0.outputs is required"),
        (spoil_json, "JSONDecodeError"),
        (leave_bonus_open, "needs a number of sets"),
    ],
)
def test_demo_that_fails_leaves_nothing_behind_and_the_others_are_made(
    fluency, monkeypatch, spoil, reason
):
    monkeypatch.setattr(fluency, "demo_texts", fluency.demo_texts)
    spoil(fluency)

    out, err = run_demo("--first")

    made = Study.objects.get(instrument=None)
    built = Study.objects.exclude(instrument=None)
    assert (made.protocol, made.state) == ("rrgen", Study.State.LIVE)
    assert built.get().state == Study.State.LIVE
    assert not Batch.objects.exclude(study=made).exclude(study__in=built).exists()
    assert not Item.objects.exclude(study=made).exclude(study__in=built).exists()
    assert made.title in out
    assert json.loads(Path(fluency.path, "protocol.json").read_text())["title"] not in out
    assert "fluency" in err
    assert reason in err


def test_demo_that_failed_is_made_at_the_next_start(fluency):
    shutil.move(fluency.example_batch, f"{fluency.example_batch}.away")
    run_demo("--first")
    shutil.move(f"{fluency.example_batch}.away", fluency.example_batch)

    _, err = run_demo("--first")

    assert err == ""
    assert set(Study.objects.values_list("protocol", "state")) == {
        ("fluency", "live"),
        ("rrgen", "live"),
        ("adequacy_fluency", "live"),
    }


@pytest.mark.slow
def test_half_made_demo_of_an_earlier_version_blocks_nothing():
    draft = make_study(protocol="fluency", items=0, is_demo=True)

    made, _ = make_demo_studies(by=make_user())
    again, _ = make_demo_studies(by=make_user())

    assert draft not in made
    assert {study.state for study in made} == {"live"}
    assert again == made


@pytest.mark.torture
def test_crowd_leaves_a_half_made_demo_of_an_earlier_version_alone():
    draft = make_study(protocol="fluency", items=0, is_demo=True)
    made, _ = make_demo_studies(by=make_user())

    run_demo("--crowd")

    assert not draft.participants.exists()
    for study in made:
        assert Annotation.objects.filter(study=study, origin="simulated").exists()


@pytest.mark.torture
@pytest.mark.slow
def test_crowd_that_fails_is_named_and_the_others_come(monkeypatch):
    make_demo_studies(by=make_user())
    hook = "item_context"  # called for each page
    show = Instrument.item_context

    def fail_for_one(self, options, inputs):
        return {}[hook] if self.key == "fluency" else show(self, options, inputs)

    monkeypatch.setattr(Instrument, hook, fail_for_one)

    out, err = run_demo("--crowd")

    assert "fluency" in err
    assert f"KeyError: '{hook}'" in err
    assert len(out.splitlines()) == 2
    simulated = Annotation.objects.filter(study__protocol="rrgen", origin="simulated")
    assert simulated.exists()
    # as in any study, nobody came before the launch
    assert not simulated.filter(started_at__lt=F("study__launched_at")).exists()


@pytest.mark.torture
@pytest.mark.slow
def test_crowd_that_comes_after_a_study_was_measured_is_measured_too():
    made, _ = make_demo_studies(by=make_user())
    for study in made:
        store_figures(study)
        store_counts(study)

    run_demo("--crowd")
    measure_new_answers()
    count_changed_files()

    for study in made:
        assert PeopleFigures.objects.get(study=study).people
        assert FileCounts.objects.get(study=study).rows["annotations"]


def test_newcomer_adds_demo_studies_of_their_own_once(client):
    make_demo_studies(by=make_user("before"))
    newcomer = make_user("newcomer")
    client.force_login(newcomer)
    page = client.get(reverse("admin:index")).text
    assert f'action="{reverse("admin:demo-studies")}"' in page

    for _ in range(2):
        client.post(reverse("admin:demo-studies"))
    assert Job.objects.filter(kind="demo studies").count() == 1
    assert "are being made" in client.get(reverse("admin:index")).text
    run_waiting_jobs()

    mine = Study.objects.filter(memberships__user=newcomer)
    assert mine.count() == 3
    assert all(study.is_demo and study.state == "live" for study in mine)
    assert Annotation.objects.filter(study__in=mine).exists()
    assert Job.objects.get(kind="demo studies").result == {"studies": 3}
    client.post(reverse("admin:demo-studies"))
    run_waiting_jobs()
    assert mine.count() == 3


def test_demo_studies_are_made_by_a_post_only(client):
    client.force_login(make_user("newcomer"))

    assert client.get(reverse("admin:demo-studies")).status_code == 405
    assert not Job.objects.exists()


def test_newcomer_reads_why_there_are_no_demo_studies(client, settings, monkeypatch):
    newcomer = make_user("newcomer")
    client.force_login(newcomer)
    client.post(reverse("admin:demo-studies"))
    refused = [], [FailedDemo("fluency", "The <batch> is spoiled.")]
    monkeypatch.setattr("evalsite.data.demo.make_demo_studies", lambda by: refused)
    run_waiting_jobs()

    page = client.get(reverse("admin:index")).text

    assert "The &lt;batch&gt; is spoiled." in page
    assert f'action="{reverse("admin:demo-studies")}"' in page

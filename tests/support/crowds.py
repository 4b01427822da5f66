"""A crowd through the real pages, in processes of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from django.conf import settings
from django.db.models import Count

from evalsite.core.jobs.services import run_job
from evalsite.data.demo import import_example
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item, Study
from tests.support.factories import make_study, make_user, open_to_everyone
from tests.support.invariants import check_invariants

# a crowd that takes longer than this hangs
MOST_SECONDS = 240


def make_live_study(**fields: Any) -> Study:
    """A live study of the example batch, or of what `add_items` brings."""
    add_items = fields.pop("add_items", lambda study: import_example(study, by=make_user()))
    study = make_study(items=0, **fields)
    add_items(study)
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    assert study.is_open
    open_to_everyone(study)
    return study


class Worker:
    """A process in which people work; it stays for the next test, as its start takes long."""

    def __init__(self, environment: dict[str, str], errors: Path) -> None:
        self.errors = errors
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.annotators"],
                cwd=settings.BASE_DIR,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def begin(self, path: Path) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()

    def wait(self) -> bool:
        """Whether the work came to an end; the process of one that hangs is gone."""
        assert self.process.stdout is not None
        timer = Timer(MOST_SECONDS, self.process.kill)
        timer.start()
        try:
            return self.process.stdout.readline() == "\n"
        finally:
            timer.cancel()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Crowd:
    """People in some processes, each person in a thread for each of their tabs."""

    def __init__(
        self, study: Study, start: Callable[[int], list[Worker]], folder: Path, *, processes: int
    ) -> None:
        self.study = study
        self.folder = folder
        self.start = start
        self.processes: list[list[dict]] = [[] for _ in range(processes)]

    def add(self, people: int, *, tabs: int = 1, leaves_after: int = 0) -> None:
        for _ in range(people):
            number = sum(map(len, self.processes))
            self.processes[number % len(self.processes)].append(
                {
                    "seed": f"person {number}",
                    "tabs": tabs,
                    "leaves_after": leaves_after,
                    "home": "",
                    "page": None,
                }
            )

    def work(self, moment: datetime | None = None) -> None:
        """Everyone has worked until nothing was left for them, or they left; no page failed."""
        workers = self.start(len(self.processes))
        paths = []
        for number, (worker, people) in enumerate(zip(workers, self.processes, strict=True)):
            paths.append(self.folder / f"crowd-{number}.json")
            state = {
                "study": str(self.study.pk),
                "moment": moment.isoformat() if moment else "",
                "people": people,
            }
            paths[-1].write_text(json.dumps(state), encoding="utf-8")
            worker.begin(paths[-1])
        # each of them is waited for
        ended = [worker.wait() for worker in workers]
        told = [worker.errors.read_text(encoding="utf-8") for worker in workers]
        # neither "database is locked" nor a deadlock, not even one that was survived
        assert {*told} == {""}
        assert all(ended)
        states = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        assert [error for state in states for error in state["errors"]] == []
        self.processes = [state["people"] for state in states]

    def come_back(self, moment: datetime) -> None:
        """Everyone comes back at this moment, and this time nobody leaves."""
        for person in chain(*self.processes):
            person["leaves_after"] = 0
        self.work(moment)


@pytest.fixture(scope="session")
def crowd_workers() -> Iterator[list[Worker]]:
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.end()


@pytest.fixture
def make_crowd(
    database_url: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    crowd_workers: list[Worker],
) -> Iterator[Callable[..., Crowd]]:
    """Return what makes a crowd; after a failure the next one gets processes of its own."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "EVALSITE_DATABASE": database_url,
    }

    def start(count: int) -> list[Worker]:
        while len(crowd_workers) < count:
            errors = tmp_path_factory.mktemp("crowd") / "errors.txt"
            crowd_workers.append(Worker(environment, errors))
        return crowd_workers[:count]

    yield lambda study, processes=2: Crowd(study, start, tmp_path, processes=processes)
    for worker in list(crowd_workers):
        if worker.process.poll() is not None or worker.errors.stat().st_size:
            crowd_workers.remove(worker)
            worker.end()


def check_exactly_k(study: Study) -> None:
    """Every item has k counted annotations of k people, and every slot is done."""
    check_invariants(study)
    items = Item.objects.main().filter(study=study)
    counted = Annotation.objects.filter(study=study).counted()
    people = counted.order_by().values("item").annotate(n=Count("participant", distinct=True))
    assert counted.count() == items.count() * study.k
    assert [row["n"] for row in people] == [study.k] * items.count()
    assert Rating.objects.filter(annotation__in=counted).count() == 3 * items.count() * study.k
    assert not Slot.objects.filter(study=study).exclude(state=Slot.State.DONE).exists()
    assert not ItemSet.objects.filter(study=study, finished_at=None).exclude(item_ids=[]).exists()

"""A crowd through the real pages, in processes of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.models import Count

from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.annotation.running.launch import launch_study
from evalsite.imports.demo import import_example
from evalsite.jobs.services import run_job
from evalsite.participants.models import ItemSet
from evalsite.studies.models import Item, Study
from tests.support.factories import make_study, make_user
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
    return study


class Crowd:
    """People in some processes, each person in a thread for each of their tabs."""

    def __init__(
        self, study: Study, database_url: str, folder: Path, *, processes: int = 2
    ) -> None:
        self.study = study
        self.folder = folder
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "EVALSITE_DATABASE": database_url,
        }
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
        """Everybody has worked until nothing was left for them, or they left; no page failed."""
        paths = []
        for number, people in enumerate(self.processes):
            paths.append(self.folder / f"crowd-{number}.json")
            state = {
                "study": str(self.study.pk),
                "moment": moment.isoformat() if moment else "",
                "people": people,
            }
            paths[-1].write_text(json.dumps(state), encoding="utf-8")
        running = [self._start(path) for path in paths]
        try:
            told = [process.communicate(timeout=MOST_SECONDS) for process in running]
        finally:
            for process in running:
                process.kill()
        assert {process.returncode for process in running} == {0}, told
        # neither "database is locked" nor a deadlock, not even one that was survived
        assert {err for _, err in told} == {""}
        self.processes = [json.loads(path.read_text(encoding="utf-8"))["people"] for path in paths]

    def come_back(self, moment: datetime) -> None:
        """Everybody comes back at this moment, and this time nobody leaves."""
        for person in chain(*self.processes):
            person["leaves_after"] = 0
        self.work(moment)

    def _start(self, path: Path) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.annotators", str(path)],
            cwd=settings.BASE_DIR,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def make_crowd(database_url: str, tmp_path: Path) -> Callable[..., Crowd]:
    return lambda study, **given: Crowd(study, database_url, tmp_path, **given)


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

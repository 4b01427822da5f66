"""Many people at once: exactly k for every item, nobody twice, nothing lost, nothing locked."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.db.models import Count

from evalsite.annotation.dealing import claim_set
from evalsite.annotation.launch import launch_study
from evalsite.annotation.models import Annotation, Rating, Revision, Slot
from evalsite.exchange.demo import import_example
from evalsite.exchange.importing import import_file
from evalsite.jobs.services import run_job
from evalsite.lib.clock import now, standing_at
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import Item, Study
from tests.annotators import Browser
from tests.factories import answer_item, launch, make_annotator, make_study, make_user, mint_link
from tests.invariants import check_invariants
from tests.tabs import BOXES, SCORES
from tests.test_dealing import add_grouped_items

pytestmark = pytest.mark.django_db(transaction=True)

RANKME = Path(settings.BASE_DIR).parent / "shared/data/rankme/batch_wide.csv"
# a crowd that takes longer than this hangs
MOST_SECONDS = 240
only_postgresql = pytest.mark.skipif(
    "connection.vendor != 'postgresql'", reason="SQLite has one writer at a time: no such race."
)


# --- a crowd through the real pages, in processes of its own ----------------------------


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
    """People in two processes, each person in a thread for each of their tabs."""

    def __init__(self, study: Study, database_url: str, folder: Path) -> None:
        self.study = study
        self.folder = folder
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "EVALSITE_DATABASE": database_url,
        }
        self.processes: list[list[dict]] = [[], []]

    def add(self, people: int, *, tabs: int = 1, leaves_after: int = 0) -> None:
        for _ in range(people):
            number = sum(map(len, self.processes))
            self.processes[number % 2].append(
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
        assert [process.returncode for process in running] == [0, 0], told
        # neither "database is locked" nor a deadlock, not even one that was survived
        assert [err for _, err in told] == ["", ""]
        self.processes = [json.loads(path.read_text(encoding="utf-8"))["people"] for path in paths]

    def come_back(self, moment: datetime) -> None:
        """Everybody comes back at this moment, and this time nobody leaves."""
        for person in self.processes[0] + self.processes[1]:
            person["leaves_after"] = 0
        self.work(moment)

    def _start(self, path: Path) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.annotators", str(path)],
            cwd=settings.BASE_DIR,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def make_crowd(database_url: str, tmp_path: Path) -> Callable[[Study], Crowd]:
    return lambda study: Crowd(study, database_url, tmp_path)


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


@pytest.mark.skipif(not RANKME.exists(), reason="../shared/data/rankme is not on this machine.")
def test_sixteen_people_at_once_rate_the_100_rankme_items_exactly_three_times(make_crowd):
    study = make_live_study(
        add_items=lambda study: import_file(study=study, path=RANKME, by=make_user())
    )
    crowd = make_crowd(study)
    crowd.add(16)

    crowd.work()

    check_exactly_k(study)
    assert Annotation.objects.counted().count() == 300
    assert Rating.objects.filter(annotation__status="counted").count() == 900
    assert not Annotation.objects.filter(status="surplus").exists()
    assert Participant.objects.filter(annotations__status="counted").distinct().count() == 16


def test_people_with_two_tabs_and_double_sends_rate_every_item_exactly_three_times(make_crowd):
    study = make_live_study(set_size=5)
    crowd = make_crowd(study)
    crowd.add(8, tabs=2)

    crowd.work()

    check_exactly_k(study)
    assert not Annotation.objects.filter(status="surplus").exists()
    # the tabs were really open on the same items, and minds were changed in them
    assert Revision.objects.exists()


def test_what_some_walk_away_from_is_done_by_others_and_their_late_answers_are_kept(make_crowd):
    study = make_live_study(set_size=5)
    crowd = make_crowd(study)
    crowd.add(3, leaves_after=3)
    crowd.add(5)

    crowd.work()
    left_open = Slot.objects.leased().count()
    crowd.come_back(now() + timedelta(minutes=study.lease_minutes + 1))
    crowd.come_back(now() + timedelta(days=1))

    assert left_open > 0
    check_exactly_k(study)
    late = Annotation.objects.filter(status__in=["counted", "surplus"])
    assert late.count() >= Slot.objects.count()


# --- a few threads and one moment -------------------------------------------------------


def at_once(functions: list[Callable[[], Any]]) -> list[Any]:
    """What these functions return, all begun at the same moment on connections of their own."""
    barrier = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        barrier.wait(timeout=30)
        try:
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=len(functions)) as threads:
        futures = [threads.submit(run, function) for function in functions]
    return [future.result() for future in futures]


def test_bad_54_one_answer_sent_by_ten_tabs_at_once_is_stored_once():
    study = launch(make_study(items=3, set_size=3))
    home = mint_link(make_annotator(study))
    site = get_wsgi_application()
    page = Browser(site).post(f"{home}start/", {})
    sent = {**page.fields, **dict(zip(BOXES, SCORES, strict=True)), "go": "next"}

    pages = at_once([lambda: Browser(site).post(page.address, sent)] * 10)

    words = sorted(page.address.partition("#")[0].partition("?was=")[2] for page in pages)
    assert words == ["already"] * 9 + ["saved"]
    assert (Annotation.objects.count(), Rating.objects.count()) == (1, 3)
    assert not Revision.objects.exists()
    check_invariants(study)


def test_ten_different_answers_of_one_person_at_once_are_one_answer_and_its_history():
    study = launch(make_study(items=1, set_size=1))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.main().get()

    answer = partial(answer_item, me, item, item_set=item_set)
    at_once([partial(answer, score=score) for score in range(1, 11)])

    assert Annotation.objects.count() == 1
    assert Revision.objects.count() == 9
    check_invariants(study)


def test_start_pressed_in_ten_tabs_at_once_deals_one_set():
    study = launch(make_study(items=9, set_size=3))
    me = make_annotator(study)

    sets = at_once([lambda: claim_set(me)] * 10)

    assert len({item_set.pk for item_set in sets}) == 1
    assert ItemSet.objects.count() == 1
    assert Slot.objects.leased().count() == 3


def test_the_last_place_goes_to_one_of_twelve_people_who_ask_at_once():
    study = launch(make_study(items=1, k=1, set_size=1))
    people = [make_annotator(study) for _ in range(12)]

    sets = at_once([partial(claim_set, me) for me in people])

    assert sum(item_set is not None for item_set in sets) == 1
    assert Slot.objects.leased().count() == 1


@pytest.mark.parametrize("attempt", range(5))
def test_ten_items_in_sets_of_twelve_go_to_three_of_eight_people_at_once(attempt):
    study = launch(make_study(items=10, k=3, set_size=12))
    people = [make_annotator(study) for _ in range(8)]

    sets = at_once([partial(claim_set, me) for me in people])

    assert not Slot.objects.free().exists()
    for item_set in filter(None, sets):
        assert len(set(item_set.item_ids)) == len(item_set.item_ids)
    check_invariants(study)


def split_groups(study: Study) -> list[int]:
    """The places of which several people have a part."""
    places = Slot.objects.filter(study=study).order_by().values("pos")
    return [
        place["pos"]
        for place in places.annotate(n=Count("participant", distinct=True), all=Count("pk"))
        if place["n"] > 1
    ]


def test_forty_people_at_once_get_sixty_groups_whole():
    study = make_study(items=0, k=3, set_size=10, groups="together")
    launch(add_grouped_items(study, groups=60, size=3))
    people = [make_annotator(study) for _ in range(40)]

    # in two waves, so that no more threads wait than a web server has
    sets = at_once([partial(claim_set, me) for me in people[:20]])
    sets += at_once([partial(claim_set, me) for me in people[20:]])

    assert {len(item_set.item_ids) for item_set in sets} == {9}
    assert Slot.objects.leased().count() == 40 * 9
    assert split_groups(study) == []
    check_invariants(study)


def test_lapsed_groups_return_whole_to_sixteen_people_who_ask_at_once():
    study = make_study(items=0, k=1, set_size=10, groups="together")
    launch(add_grouped_items(study, groups=24, size=3))
    with standing_at(now() - timedelta(hours=5)):
        while claim_set(make_annotator(study)):
            pass
    people = [make_annotator(study) for _ in range(16)]

    for _ in range(3):
        at_once([partial(claim_set, me) for me in people])
        assert split_groups(study) == []

    assert not Slot.objects.leased().filter(lease_until__lt=now()).exists()
    check_invariants(study)


def test_late_answers_and_new_claims_at_once_count_every_place_once():
    study = launch(make_study(items=12, k=1, set_size=4))
    late = [make_annotator(study) for _ in range(3)]
    with standing_at(now() - timedelta(hours=5)):
        sets = [claim_set(me) for me in late]
    people = [make_annotator(study) for _ in range(5)]

    def answer_all(me: Participant, item_set: ItemSet) -> None:
        for item in Item.objects.filter(pk__in=item_set.item_ids):
            answer_item(me, item, item_set=item_set)

    at_once(
        [
            *(partial(answer_all, item_set.participant, item_set) for item_set in sets),
            *(partial(claim_set, me) for me in people),
        ]
    )

    assert Annotation.objects.filter(participant__in=late).count() == 12
    check_invariants(study)
    taken = Slot.objects.exclude(state=Slot.State.FREE).count()
    assert taken == Slot.objects.count()


# --- races that need a moment exactly ------------------------------------------------------


class Held:
    """Two threads: the first stops before its commit until the second waits for it."""

    def __init__(self, first: Callable[[], Any], second: Callable[[], Any]) -> None:
        self.first, self.second = first, second
        self.is_done, self.ended = threading.Event(), threading.Event()
        self.pid = 0
        # whether the second had to wait for the first at any moment
        self.has_waited = False

    def run(self) -> tuple[Any, Any]:
        return tuple(at_once([self._run_first, self._run_second]))

    def _run_first(self) -> Any:
        with transaction.atomic():
            result = self.first()
            self.is_done.set()
            while not (self.ended.wait(0.02) or self._is_second_waiting()):
                pass
        return result

    def _run_second(self) -> Any:
        assert self.is_done.wait(30)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.pid = cursor.fetchone()[0]
        try:
            return self.second()
        finally:
            self.ended.set()

    def _is_second_waiting(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [self.pid])
            self.has_waited |= cursor.fetchone()[0]
        return self.has_waited


@only_postgresql
def test_saving_in_one_tab_and_starting_in_another_do_not_wait_for_one_another():
    study = launch(make_study(items=3, set_size=3))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.get(pk=item_set.item_ids[0])

    saved, again = Held(
        first=lambda: answer_item(me, item, item_set=item_set), second=lambda: claim_set(me)
    ).run()

    assert saved.name == "SAVED"
    assert again.pk == item_set.pk
    check_invariants(study)


@only_postgresql
def test_an_item_dealt_to_me_in_another_tab_at_this_moment_takes_my_late_answer():
    study = launch(make_study(items=1, k=2, set_size=1))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.main().get()
    Slot.objects.update(state=0, participant=None, lease_until=None)

    again, saved = Held(
        first=lambda: claim_set(me), second=lambda: answer_item(me, item, item_set=item_set)
    ).run()

    assert again.pk == item_set.pk
    assert saved.name == "SAVED"
    assert Annotation.objects.get().status == "counted"
    check_invariants(study)


@only_postgresql
def test_an_item_that_i_answer_late_at_this_moment_is_not_dealt_to_me_again():
    study = launch(make_study(items=2, k=2, set_size=2))
    me = make_annotator(study)
    item = Item.objects.main().first()

    saved, item_set = Held(first=lambda: answer_item(me, item), second=lambda: claim_set(me)).run()

    assert saved.name == "SAVED"
    assert item.pk not in item_set.item_ids
    check_invariants(study)

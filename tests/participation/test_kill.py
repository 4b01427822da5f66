"""Saved means saved: web processes are killed in mid-load, and no acknowledged answer is lost."""

from pathlib import Path

import pytest

from evalsite.handout.claims import claim_set
from evalsite.studies.models import Item
from tests.support.factories import answer_item, launch, make_annotator, make_study, mint_link
from tests.support.raters import Diary, Raters, find_losses
from tests.support.webserver import WebServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.mark.torture
def test_no_acknowledged_answer_is_lost_or_doubled_when_web_processes_are_killed(
    database_url: str, tmp_path: Path
) -> None:
    study = launch(make_study(items=20, k=2, set_size=5))
    people = {mint_link(me): me.pk for me in (make_annotator(study) for _ in range(4))}

    with WebServer(database_url, tmp_path) as server:
        raters = Raters(server.port, list(people))
        raters.diary.wait_for(8)
        server.kill_one_worker()
        raters.diary.wait_for(len(raters.diary.saves) + 6)
        server.kill()
        server.start()
        diary = raters.wait()

    assert find_losses(study, diary, people) == []
    assert diary.retries > 0


def test_a_lost_answer_and_a_doubled_one_would_be_seen() -> None:
    study = launch(make_study(items=2, k=1, set_size=2))
    me = make_annotator(study)
    item_set = claim_set(me)
    people = {mint_link(me): me.pk}
    (home,) = people
    diary = Diary()
    for place, item_id in enumerate(item_set.item_ids, start=1):
        item = Item.objects.get(pk=item_id)
        answer_item(me, item, item_set=item_set, place=place, score=place)
        diary.note_save(f"{home}sets/1/items/{place}/", (str(place),) * 3, is_news=True)
    assert find_losses(study, diary, people) == []

    diary.saves[f"{home}sets/1/items/2/"] = ("7", "8", "9")
    diary.saves[f"{home}sets/1/items/3/"] = ("1", "2", "3")

    assert find_losses(study, diary, people) == [
        "set 1/items/2/ holds ['2', '2', '2'], not ('7', '8', '9')",
        "0 rows hold the answer at set 1/items/3/",
        "2 answers are stored, 3 were acknowledged",
    ]

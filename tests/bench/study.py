"""A live study of any size, with people who are about to rate."""

import csv
from time import perf_counter

from django.core.management import call_command

from evalsite.handout.claims import claim_set
from evalsite.instruments.installed import find_folder
from evalsite.people.models import ParticipantLink
from evalsite.studies.items import item_keys
from evalsite.studies.models import Item, Output, Study, System
from tests.bench.load import Connection, Work, rate_set, rate_sets
from tests.support.factories import SYSTEMS, launch, make_annotator, make_study

SET_SIZE = 10
_CHUNK = 5_000


def make_live_study(items: int) -> Study:
    """A live study of so many items, with the texts of the protocol's example batch, k = 3."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    study = make_study(items=0, protocol="magnitude", k=3, set_size=SET_SIZE)
    batch = study.batches.create(file_name="bench.csv", sha256="0" * 64, rows=3 * items)
    systems = [System.objects.create(study=study, name=name) for name in SYSTEMS]
    texts = _example_texts()
    for start in range(0, items, _CHUNK):
        made = Item.objects.bulk_create(
            Item(
                study=study,
                batch=batch,
                inputs={"mr": texts[number % len(texts)][0]},
                **item_keys(study, key=f"item-{number}", group=f"item-{number}"),
            )
            for number in range(start, min(items, start + _CHUNK))
        )
        Output.objects.bulk_create(
            Output(study=study, item=item, system=system, position=position, text=text)
            for number, item in enumerate(made, start=start)
            for position, (system, text) in enumerate(
                zip(systems, texts[number % len(texts)][1], strict=True)
            )
        )
    return launch(study)


def _example_texts() -> list[tuple[str, list[str]]]:
    """The meaning representations of the example batch, each with its three utterances."""
    rows: dict[str, tuple[str, list[str]]] = {}
    with find_folder("magnitude").example_batch.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["item"], (row["mr"], []))[1].append(row["output"])
    return list(rows.values())


class People:
    """Newcomers who have pressed Start and look at their first item."""

    def __init__(self, study: Study, port: int) -> None:
        self.study = study
        self.port = port
        self.claim_ms: list[float] = []

    def open_page(self) -> tuple[str, str]:
        """The address and the text of the first rating page of somebody new."""
        me = make_annotator(self.study)
        token = ParticipantLink.objects.mint(me)
        began = perf_counter()
        item_set = claim_set(me)
        self.claim_ms.append(1000 * (perf_counter() - began))
        if item_set is None or len(item_set.item_ids) < SET_SIZE:
            raise SystemExit("The study has too few items for this many ratings: use --items.")
        address = f"/p/{token}/sets/1/items/1/"
        return address, Connection(self.port).ask("GET", address).text

    def work(self, saves: int) -> list[Work]:
        """Sets enough for so many saves, each opened at its first item."""
        pages = [self.open_page() for _ in range(-(-saves // SET_SIZE))]
        return [rate_set(address, html, SET_SIZE) for address, html in pages]

    def loops(self, saves: int, crowd: int) -> list[Work]:
        """As many whole sets for each of a crowd as come to so many saves, with their claims."""
        tokens = [ParticipantLink.objects.mint(make_annotator(self.study)) for _ in range(crowd)]
        sets = -(-saves // (SET_SIZE * crowd))
        return [rate_sets(f"/p/{token}/", sets, SET_SIZE) for token in tokens]

"""Servers die in mid-load, run after run; every acknowledged answer is in the database once."""

import os
import sys
import time
from pathlib import Path

import django

from tests.support.databases import Cluster, find_binaries

ITEMS, K, SET_SIZE, PEOPLE = 40, 3, 8, 8


def find_cluster() -> Cluster | None:
    """The PostgreSQL that `python -m tests.torture` has started for this process; None: SQLite."""
    folder = os.environ.get("EVALSITE_TEST_CLUSTER")
    binaries = find_binaries()
    if folder is None or binaries is None:
        return None
    return Cluster(binaries, is_durable=True, folder=Path(folder))


def run_once(number: int, cluster: Cluster | None) -> bool:
    """Whether this run lost nothing and the site came up again each time."""
    from django.db import connection  # noqa: PLC0415 (once Django is set up)

    from tests.support.factories import launch, make_annotator, make_study, mint_link  # noqa: PLC0415
    from tests.support.raters import Raters, find_losses  # noqa: PLC0415
    from tests.support.webserver import WebServer  # noqa: PLC0415

    study = launch(make_study(items=ITEMS, k=K, set_size=SET_SIZE, title=f"Run {number}"))
    people = {mint_link(me): me.pk for me in (make_annotator(study) for _ in range(PEOPLE))}
    connection.close()
    began = time.monotonic()
    quarter = ITEMS * K // 4
    url, folder = os.environ["EVALSITE_DATABASE"], Path(os.environ["EVALSITE_DATA_DIR"])
    with WebServer(url, folder) as server:
        raters = Raters(server.port, list(people))
        raters.diary.wait_for(quarter)
        server.kill_one_worker()
        raters.diary.wait_for(2 * quarter)
        if cluster:
            cluster.crash()
            cluster.serve()
        raters.diary.wait_for(3 * quarter)
        server.kill()
        server.start()
        diary = raters.wait()
    losses = find_losses(study, diary, people)
    sys.stdout.write(
        f"run {number}: {len(diary.saves)} saves acknowledged, {diary.retries} requests sent again"
        f" ({diary.unavailable} after 503), {diary.already} answered 'already saved',"
        f" {len(losses)} faults, {time.monotonic() - began:.0f} s\n"
    )
    sys.stdout.writelines(f"  {loss}\n" for loss in losses)
    sys.stdout.flush()
    return not losses


def main(runs: int) -> int:
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415 (once Django is set up)

    call_command("migrate", verbosity=0)
    cluster = find_cluster()
    sys.stdout.write(f"{'PostgreSQL' if cluster else 'SQLite'}: {PEOPLE} people, {runs} runs\n")
    is_good = [run_once(number, cluster) for number in range(1, runs + 1)]
    return 0 if all(is_good) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

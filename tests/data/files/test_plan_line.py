"""The line that commits a study to its plan: printed at launch, computed again from a bundle."""

import io
import json
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.bundle.verify import check_plan_hash
from evalsite.decisions import plan_commitment
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.plan_commitment import list_lines
from evalsite.fieldwork.launch import launch_study
from evalsite.lib.clock import standing_at
from evalsite.results.analysis_plan.stored import change_plan, mark_plan, read_plan
from evalsite.studies.models import Item, Output, Study
from tests.site.test_staff_pages import url
from tests.support.bundles import examine, pack, read_files, sum_up, zip_files
from tests.support.emptying import no_rows
from tests.support.factories import add_batch, answer_item, make_annotator, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checks_here")]
LAUNCH = datetime(2026, 11, 28, 7, 20, tzinfo=UTC)
LINE = re.compile(
    r"evalsite-plan 1 ([0-9a-f-]{36}) ([0-9a-f]{64}) version=(\d+) "
    r"at=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
)


def launch_planned(**plan: Any) -> Study:
    study = make_study(items=3, title="Bike repair")
    if plan:
        AnalysisPlan.objects.create(study=study, **plan)
    study.batches.update(uploaded_at=LAUNCH - timedelta(days=1))
    with standing_at(LAUNCH):
        job = launch_study(study=study, by=make_user())
    run_job(job)
    study.refresh_from_db()
    return study


def canonical(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def compute_hash(bundle: bytes) -> str:
    """The hash as docs/results.md describes it, from the files of a bundle alone."""
    files = read_files(bundle)
    version = json.loads(files["versions/1.json"])
    items = [json.loads(line) for line in files["records/items.jsonl"].splitlines()]
    lines = b"".join(
        canonical(
            [item["key"], item["inputs"], [[one["system"], one["text"]] for one in item["outputs"]]]
        )
        + b"\n"
        for item in sorted(items, key=lambda item: item["key"])
        if item["kind"] == "main"
    )
    plan = json.loads(files["analysis-plan.json"])["frozen"]["versions"][0]
    instrument = json.dumps(version["instrument"], sort_keys=True, ensure_ascii=False)
    return sha256(
        canonical(
            {
                "format": 1,
                "study": json.loads(files["study.json"])["study"]["id"],
                "plan": {"version": 1, "content": plan["content"]},
                "instrument": sha256(instrument.encode()).hexdigest(),
                "items": sha256(lines).hexdigest(),
                **{name: version["settings"][name] for name in ("k", "set_size", "seed")},
            }
        )
    ).hexdigest()


@pytest.mark.parametrize("plan", [{}, {"primary": "informativeness", "smallest": 0.5}])
def test_line_is_made_of_what_a_bundle_holds(plan):
    study = launch_planned(**plan)

    (line,) = list_lines(study)

    study_id, digest, number, at = LINE.fullmatch(line).groups()
    assert (study_id, number, at) == (str(study.pk), "1", "2026-11-28T07:20:00Z")
    bundle = pack(study)
    assert digest == compute_hash(bundle)
    assert read_files(bundle)["plan.txt"].decode() == f"{line}\n"


@pytest.mark.both_databases
def test_line_is_equal_on_databases_that_sort_keys_in_another_way(monkeypatch):
    """With the collation of most servers a is before B; the pages are of two items here."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                'ALTER TABLE studies_item ALTER COLUMN key TYPE varchar(128) COLLATE "und-x-icu"'
            )
    keys = ["_a", "a", "B", "ä", "10", "9", "-1"]
    study = make_study(items=len(keys))
    for item, key in zip(study.items.main().order_by("pk"), keys, strict=True):
        study.items.filter(pk=item.pk).update(key=key)
    study.batches.update(uploaded_at=LAUNCH - timedelta(days=1))
    monkeypatch.setattr(plan_commitment, "_PAGE", 2)
    with standing_at(LAUNCH):
        job = launch_study(study=study, by=make_user())
    run_job(job)

    (line,) = list_lines(study)
    match = LINE.fullmatch(line)
    assert match is not None
    assert match[2] == compute_hash(pack(study))


def test_overview_and_plan_show_the_line_to_copy(staff_client: Client):
    study = launch_planned()
    (line,) = list_lines(study)

    pages = [staff_client.get(url(name, study)).text
             for name in ("study-overview", "setup-plan")]  # fmt: skip

    for page in pages:
        assert f'value="{line}"' in page
        assert 'data-copy="line-1"' in page


def test_draft_has_no_line(staff_client: Client):
    study = make_study(items=2)

    page = staff_client.get(url("setup-plan", study)).text

    assert "evalsite-plan" not in page
    assert "plan.txt" not in read_files(pack(study))


@pytest.mark.parametrize(
    "alter",
    [
        lambda study: Output.objects.filter(item__study=study).update(text="x"),
        lambda study: Item.objects.main().filter(study=study).update(inputs={"mr": "other"}),
        lambda study: study.plan_versions.update(content={"primary": "informativeness"}),
        lambda study: study.versions.update(content=_with(study, "k", 9)),
        lambda study: study.versions.update(content=_with(study, "set_size", 9)),
        lambda study: study.versions.update(content=_with(study, "seed", 9)),
    ],
    ids=["output", "input", "plan", "k", "set size", "seed"],
)
def test_whatever_is_changed_afterwards_changes_the_hash(alter):
    study = launch_planned()
    before = compute_hash(pack(study))

    alter(study)

    assert compute_hash(pack(study)) != before
    # the line that was published stays what it was
    assert list_lines(study)[0].split()[3] == before


def _with(study: Study, name: str, value: int) -> dict[str, Any]:
    content = study.versions.get().content
    return content | {"settings": content["settings"] | {name: value}}


def test_items_that_came_later_are_not_in_the_line():
    study = launch_planned()
    (line,) = list_lines(study)
    add_batch(study, items=2, first=10)
    study.batches.filter(opened_at=None).update(uploaded_at=LAUNCH + timedelta(days=1))

    report = examine(pack(study))

    assert report.faults == []
    assert [one["sha256"] for one in report.plan_versions] == [line.split()[3]]


# --- a bundle, and a hash that was published -----------------------------------------------


def test_committed_plan_is_told_with_its_distance_from_the_first_answer():
    study = launch_planned(primary="informativeness")
    person = make_annotator(study)
    with standing_at(LAUNCH + timedelta(days=2, hours=1)):
        answer_item(person, Item.objects.main().filter(study=study).first())
    report = examine(pack(study))

    told = check_plan_hash(report, list_lines(study)[0].split()[3][:12])

    assert told == (
        True,
        ["Plan 1 is the committed one; it was frozen before the first answer (2 days)."],
    )


def test_later_versions_are_listed_with_what_they_changed():
    study = launch_planned(primary="informativeness")
    owner = make_user()
    stored = read_plan(study)
    with standing_at(LAUNCH + timedelta(days=1)):
        change_plan(
            study=study,
            values={"exclusion_rule": "Too fast"},
            seen=mark_plan(stored.plan, stored.rules),
            by=owner,
            reason="A referee",
        )
    first, second = (line.split()[3] for line in list_lines(study))
    report = examine(pack(study))

    assert report.faults == []
    assert check_plan_hash(report, first) == (
        True,
        [
            "Plan 1 is the committed one; it was frozen, and there is no answer yet.",
            "Plan 2 came later and changed: exclusion rule.",
        ],
    )
    assert check_plan_hash(report, second)[1] == [
        "Plan 2 is the committed one; it was frozen, and there is no answer yet."
    ]


def test_other_hash_is_no_version_of_the_plan():
    report = examine(pack(launch_planned()))

    assert check_plan_hash(report, "0" * 12) == (
        False,
        [f"No version of the plan has the hash {'0' * 12}."],
    )


def test_line_that_was_changed_in_a_bundle_is_a_fault():
    bundle = pack(launch_planned())
    files = read_files(bundle)
    files["plan.txt"] = files["plan.txt"].replace(b"version=1", b"version=2")

    assert examine(zip_files(sum_up(files))).codes == ["plan_line_differs"]


@pytest.mark.slow
@pytest.mark.parametrize("is_copy", [False, True])
def test_line_comes_back_with_the_study_and_not_with_a_copy(is_copy):
    study = launch_planned()
    bundle, lines = pack(study), list_lines(study)

    with no_rows():
        restored = restore_bundle(
            file=io.BytesIO(bundle), owner=make_user("new-owner"), by="a test", is_copy=is_copy
        )
        found = list_lines(restored.study)

    assert found == ([] if is_copy else lines)

"""A judge from its file to a re-audit, in a browser; and the page's boxes, wide and narrow."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.command_line.main import run_command
from evalsite.data.models import JudgeLabel
from evalsite.decisions.models import AnalysisPlan
from evalsite.results.report.computation import compute_report
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn, find_overflow
from tests.support.factories import launch, make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SYSTEMS = ("v1", "v2")
PEOPLE, INPUTS, FURTHER = 5, 60, 300


def make_pairs(user: object) -> Study:
    """A live study of 60 inputs with outputs of two systems, each for five people."""
    study = make_study(items=0, k=PEOPLE, by=user, title="Two versions")
    batch = Batch.objects.create(study=study, file_name="a.csv", sha256="0" * 64, rows=INPUTS)
    systems = [System.objects.create(study=study, name=name) for name in SYSTEMS]
    for number in range(INPUTS):
        item = Item.objects.create(
            study=study, batch=batch, inputs={"mr": f"name[Place {number}]"},
            **item_keys(study, key=f"i{number}", group=f"g{number}"),
        )  # fmt: skip
        for position, system in enumerate(systems):
            Output.objects.create(
                study=study, item=item, system=system, position=position,
                text=f"Place {number} as told by {system.name}. " * 30,
            )  # fmt: skip
    return launch(study)


def write(path: Path, rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def draw(
    folder: Path, names: list[str], further: Sequence[str] = (), *, noise: float, seed: int
) -> tuple[Path, Path]:
    """Scores of five people on these inputs, and labels of a judge on them and on others."""
    rng = np.random.default_rng(seed)
    ratings: list[tuple[object, ...]] = [
        ("participant", "item", "system", "criterion", "value", "standard")
    ]
    labels: list[tuple[object, ...]] = [("item", "system", "criterion", "judge", "value", "reason")]
    for name in [*names, *further]:
        for place, system in enumerate(SYSTEMS):
            true = 4.6 + 0.1 * place + rng.normal(0, 0.3)
            for person in range(PEOPLE if name in names else 0):
                score = round(float(np.exp(true + rng.normal(0, 0.15))))
                ratings.append((f"person {person}", name, system, "informativeness", score, 100))
            label = round(float(np.exp(true + rng.normal(0, noise))), 1)
            reason = "It names the place, and no more."
            labels.append((name, system, "informativeness", "judge-a", label, reason))
    return (
        write(folder / f"ratings-{seed}.csv", ratings),
        write(folder / f"labels-{seed}.csv", labels),
    )


def test_a_judge_from_its_file_to_a_certificate_that_lapses(
    page: Page, live_server, researcher, tmp_path, capsys
):
    study = make_pairs(researcher)
    known = [f"i{number}" for number in range(INPUTS)]
    fresh = [f"new-{number}" for number in range(FURTHER)]
    ratings, labels = draw(tmp_path, known, fresh, noise=0.2, seed=1)
    call_command("import_ratings", str(study.pk), str(ratings), "--persons", "yes")
    compute_report(study)
    sign_in(page, live_server, researcher)

    # the file, as a researcher adds it
    page.goto(live_server.url + reverse("admin:results-judges", args=[study.pk]))
    page.locator('input[name="file"]').set_input_files(labels)
    page.wait_for_url("**/uploads/**")
    page.get_by_role("button", name="Import 720 labels").click()
    page.wait_for_url("**/results/judges/")
    assert JudgeLabel.objects.count() == 2 * (INPUTS + FURTHER)
    compute_report(study)
    page.reload()
    main = page.locator("main").inner_text()
    assert "judge-a agrees" in page.locator("h1").inner_text()
    assert "300 more inputs" in main

    # what made the labels, then the certificate
    page.get_by_role("link", name="What made its labels (judge-a)").click()
    page.get_by_label("Version of the model").fill("2026-10")
    page.get_by_label("Prompt", exact=True).fill("Score how much of the meaning is there.")
    page.get_by_label("Date of the labels").fill("2026-11-20")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/results/judges/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Make the certificate of judge-a").click()
    certificate = tmp_path / "certificate.json"
    download.value.save_as(certificate)

    # the same judge holds on fresh items, another one doesn't
    items = [f"audit-{number}" for number in range(40)]
    ratings, labels = draw(tmp_path, items, noise=0.2, seed=3)
    assert run_command(["judge", "check", str(certificate), str(labels), str(ratings)]) == 0
    ratings, labels = draw(tmp_path, items, noise=4.0, seed=4)
    assert run_command(["judge", "check", str(certificate), str(labels), str(ratings)]) == 1
    assert "Lapsed." in capsys.readouterr().out


def test_the_page_is_accessible_and_fits(page: Page, live_server, researcher, tmp_path):
    study = make_pairs(researcher)
    known = [f"i{number}" for number in range(INPUTS)]
    ratings, labels = draw(tmp_path, known, ["new-1", "new-2"], noise=0.2, seed=1)
    call_command("import_ratings", str(study.pk), str(ratings), "--persons", "yes")
    call_command("import_judges", str(study.pk), str(labels))
    # a plan that names the judge: its long headline, two rows in the card
    row = {"criterion": "informativeness", "system": "v2", "relation": "better", "other": "v1"}
    AnalysisPlan.objects.create(study=study, hypotheses=[row | {"judge": "judge-a"}])
    compute_report(study)
    empty = make_study(items=2, by=researcher, title="Empty")
    sign_in(page, live_server, researcher)

    for name, some in (("judges", study), ("empty", empty)):
        address = live_server.url + reverse("admin:results-judges", args=[some.pk])
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{address}?width=0.2" if name == "judges" else address)
            assert find_overflow(page, width) == [], (name, width)
    about = reverse("admin:judge-about", args=[study.pk, study.judges.get().pk])
    summary = reverse("admin:study-results", args=[study.pk])
    for address in (reverse("admin:results-judges", args=[study.pk]), about, summary):
        page.goto(live_server.url + address)
        assert find_faults_in_turn(page) == [], address
    assert "with the labels of judge-a" in page.locator("h1").inner_text()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert find_overflow(page, width) == [], width
    page.set_viewport_size({"width": 1280, "height": 900})

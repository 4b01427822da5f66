"""Several files that belong together become one batch, on each of the ways in."""

import csv
import io
import json
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.data.tables.batch import convert
from evalsite.data.tables.files import find_files
from evalsite.exports.services import Choice, write_file
from evalsite.imports.models import MetricScore
from evalsite.imports.packs import name_files, pack_files
from evalsite.studies.models import Batch, Study
from tests.data.test_formats import ANSWERS, FILES, FOLDER
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, find_faults_in_turn, follow
from tests.support.factories import make_study, make_user


def make_pairwise(**fields: Any) -> Study:
    study: Study = make_study(protocol="pairwise", items=0, **fields)
    return study


def name_options(name: str) -> list[str]:
    answers = ANSWERS.get(name, {})
    return [f"--{key}={answer}" for key, answer in answers.items()]


def export_items(study: Study) -> list[dict[str, str]]:
    """The rows of items.csv, without the ids that differ from study to study."""
    target = io.BytesIO()
    write_file(study, Choice(file="items"), target)
    rows = csv.DictReader(io.StringIO(target.getvalue().decode(), newline=""))
    return [{**row, "study": "", "batch": ""} for row in rows]


@pytest.mark.django_db
def test_what_was_decided_is_kept_with_the_batch():
    study = make_pairwise()

    call_command(
        "import_batch", str(study.pk), str(FOLDER / "openai_batch"),
        "--system-prompts=leave-out", "--empty-outputs=leave-out", stdout=StringIO(),
    )  # fmt: skip

    batch = Batch.objects.get(study=study)
    notes = {note["code"]: note["text"] for note in batch.import_notes}
    assert notes["outputs_system-prompts"] == (
        "6 inputs begin with a system prompt. It isn't shown, but kept as metadata."
    )
    assert "left out for every system" in notes["empty_outputs_left_out"]
    assert study.items.main().count() == 5
    assert batch.file_name == "openai_batch (3 files)"


@pytest.mark.django_db
def test_the_command_asks_with_its_own_arguments():
    told = StringIO()

    with pytest.raises(CommandError, match="decided"):
        call_command("import_batch", str(make_pairwise().pk), str(FOLDER / "fastchat"), stdout=told)

    assert "--turns first: Only the first turn is taken" in told.getvalue()


@pytest.mark.django_db
def test_named_files_are_systems_in_the_command():
    study = make_pairwise()
    named = [f"{name}={FOLDER / 'lines' / file}" for name, file in [
        ("inputs", "source.txt"), ("A", "alpha-7b.txt"), ("B", "beta-large.txt"),
    ]]  # fmt: skip

    call_command("import_batch", str(study.pk), *named, stdout=StringIO())

    assert sorted(study.systems.values_list("name", flat=True)) == ["A", "B"]


@pytest.mark.django_db
def test_the_same_files_are_imported_once():
    study, told = make_pairwise(), StringIO()
    paths = [str(path) for path in sorted((FOLDER / "lines").glob("*.txt"))]

    call_command("import_batch", str(study.pk), *paths, stdout=StringIO())
    call_command("import_batch", str(study.pk), *paths[::-1], stdout=told)

    assert "Already uploaded as alpha-7b.txt and 3 more" in told.getvalue()
    assert study.batches.count() == 1


def test_a_pack_depends_on_names_and_contents_alone():
    def pack(names: str) -> bytes:
        with pack_files((one, lambda one=one: io.BytesIO(one.encode())) for one in names) as packed:
            return packed.read()

    assert pack("ab") == pack("ba") != pack("ac")
    with pytest.raises(ValidationError, match="called a"):
        pack("aa")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["b"], "b"),
        (["b", "a"], "a and b"),
        (["c", "b", "a"], "a and 2 more"),
        (["run/b", "run/x/a"], "run (2 files)"),
        (["run/b", "c"], "c and run/b"),
    ],
)
def test_several_files_are_named_in_a_few_words(names, told):
    assert name_files(names) == told


@pytest.mark.django_db
def test_two_hundred_files_of_a_folder_come_at_once_but_not_three_hundred_and_one():
    user = make_user()
    study = make_pairwise(by=user)
    client = Client()
    client.force_login(user)
    names = ["source.txt", *(f"system-{number}.txt" for number in range(300))]
    files = [SimpleUploadedFile(name, b"one\n") for name in names]
    address = reverse("admin:upload-new", args=[study.pk])
    paths = json.dumps([f"../run/{name}" for name in names[:200]])

    page = client.post(address, {"file": files[:200], "paths": paths}, follow=True)
    refused = client.post(address, {"file": files})

    assert page.context["upload"].file_name == "run (200 files)"
    assert len(page.context["report"].files) == 200
    assert refused.status_code == 413
    assert "At most 300 files" in refused.content.decode()


@pytest.mark.django_db
def test_samples_are_drawn_with_the_seed_of_the_study(tmp_path):
    asked = [{"question_id": number, "turns": ["Why?"]} for number in range(20)]
    answers = [
        {"question_id": number, "model_id": model, "choices": [{"turns": [f"{model} {sample}"]}]}
        for number in range(20) for model in "AB" for sample in range(9)
    ]  # fmt: skip
    for name, rows in (("question", asked), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    study = make_pairwise()

    drawn = convert(find_files(tmp_path), answers={"samples": "random"}, seed=study.seed)
    call_command(
        "import_batch", str(study.pk), str(tmp_path), "--samples=random", stdout=StringIO()
    )

    expected = {(row[0], row[2]): row[3] for row in drawn.rows}
    found = {
        (row["item"], row["system"]): row["output"] for row in export_items(study) if row["system"]
    }
    assert found == expected
    assert len(set(expected.values())) > 10


@pytest.mark.django_db
def test_only_items_take_several_files():
    user = make_user()
    study = make_pairwise(by=user)
    client = Client()
    client.force_login(user)
    files = [SimpleUploadedFile(f"{name}.txt", b"one\n") for name in "ab"]

    response = client.post(
        reverse("admin:upload-new", args=[study.pk]), {"file": files, "purpose": "ratings"}
    )

    assert response.status_code == 422
    assert "Choose one file." in response.content.decode()


# --- in a browser -----------------------------------------------------------------------------


def open_page(page: Page, base: str) -> tuple[Study, Watch]:
    watch = Watch(page)
    user = make_user()
    sign_in(page, base, user)
    study = make_pairwise(by=user)
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    return study, watch


def look_and_import(page: Page, files: list[Path]) -> None:
    choose_files(page, files)
    page.wait_for_selector("text=Cancel")
    expect(page.get_by_text("What people will see")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    follow(page, "button:has-text('Import')")
    page.wait_for_selector("text=Undo")


@pytest.mark.django_db(transaction=True)
def test_a_zipped_folder_is_read_as_the_folder(page, live_server, tmp_path):
    study, watch = open_page(page, live_server.url)
    packed = tmp_path / "lm_eval.zip"
    with ZipFile(packed, "w") as archive:
        for path in (FOLDER / "lm_eval").rglob("*.json*"):
            archive.write(path, path.relative_to(FOLDER))

    look_and_import(page, [packed])

    names = sorted(study.systems.values_list("name", flat=True))
    assert names == ["stub/alpha-7b", "stub/beta-large"]
    assert watch.found == []


@pytest.mark.torture
@pytest.mark.django_db(transaction=True)
def test_what_each_file_is_for_can_be_changed(page, live_server, tmp_path):
    study, watch = open_page(page, live_server.url)
    texts = {
        "source.txt": "Q1\nQ2\n",
        "run-7.txt": "A1\nA2\n",
        "best.txt": "R1\nR2\n",
        "x.txt": "X\n",
        "beta.txt": "B1\nB2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    choose_files(page, [tmp_path / name for name in texts])
    expect(page.get_by_role("heading", name="x.txt has 1 line")).to_be_visible()
    for name, role in (("x.txt", "Leave out"), ("best.txt", "Reference")):
        with page.expect_navigation():
            page.get_by_label(f"{name} holds").select_option(role)
    with page.expect_navigation():
        page.get_by_role("textbox", name="System").last.fill("alpha")
        page.keyboard.press("Enter")

    expect(
        page.get_by_text(
            "Text files: 2 systems, 2 inputs. Joined by line number: 2 lines in each of 4 files."
        )
    ).to_be_visible()
    expect(page.get_by_role("textbox", name="System").last).to_have_value("alpha")
    assert find_faults_in_turn(page) == []
    follow(page, "button:has-text('Import')")
    page.wait_for_selector("text=Undo")
    assert sorted(study.systems.values_list("name", flat=True)) == ["alpha", "beta"]
    rows = {row["item"]: row for row in export_items(study)}
    assert json.loads(rows["2"]["extra"]) == {"reference": "R2"}
    assert watch.found == []


# --- what tools say of outputs -----------------------------------------------------------------


def read_scores_of_the_tool(name: str) -> dict[tuple[str, str, str], float]:
    """The scores as the tool's own files have them, by item, system and metric."""
    found: dict[tuple[str, str, str], float] = {}
    if name == "promptfoo":
        for row in json.loads((FOLDER / "promptfoo/results.json").read_bytes())["results"][
            "results"
        ]:
            key = str(row["testIdx"]), row["provider"]["label"]
            found |= {(*key, "score"): row["score"], (*key, "success"): float(row["success"])}
    elif name == "lm_eval":
        for path in (FOLDER / "lm_eval").rglob("*.jsonl"):
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                key = str(row["doc_id"]), path.parent.name.replace("__", "/")
                found[*key, "exact_match"] = row["exact_match"]
    else:
        for log in (json.loads((FOLDER / path).read_bytes()) for path in FILES[name]):
            for sample in log["samples"]:
                key = sample["id"], log["eval"]["model"]
                # as Inspect counts correct and incorrect answers
                found[*key, "includes"] = {"C": 1, "I": 0}[sample["scores"]["includes"]["value"]]
    return found


@pytest.mark.one_case
@pytest.mark.django_db
@pytest.mark.parametrize("name", ["inspect, JSON", "lm_eval", "promptfoo"])
def test_scores_of_the_tool_become_metrics_in_one_click(name):
    user = make_user()
    study = make_pairwise(by=user)
    paths = [str(FOLDER / file) for file in FILES[name]]
    call_command("import_batch", str(study.pk), *paths, *name_options(name), stdout=StringIO())
    client = Client()
    client.force_login(user)
    address = reverse("admin:metrics-list", args=[study.pk])
    offered = client.get(address).context["kept"]

    told = client.post(
        reverse("admin:metrics-take", args=[study.pk]), {"score": offered}, follow=True
    )

    found = {
        (score.output.item.key, score.output.system.name, score.metric): score.value
        for score in MetricScore.objects.filter(file__study=study)
    }
    assert found == read_scores_of_the_tool(name)
    assert "scores of 12 outputs" in told.content.decode()
    assert told.context["kept"] == []

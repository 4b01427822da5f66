"""Outputs for several prompts: whether the prompts are the systems, or the models."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.data.models import Upload
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, find_faults_in_turn
from tests.support.factories import make_user
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"
START = reverse("admin:study-new")
KEY = "outputs_variant"
PROMPTS = ("prompts/v1.json", "prompts/v2.json")


def write_promptfoo(*models: str, prompts: tuple[str, ...] = PROMPTS) -> str:
    """Return results of three tests with each model and prompt, as promptfoo 0.121 writes them."""
    rows = [
        {
            "testIdx": test, "promptIdx": number,
            "provider": {"id": f"stub:{model}", "label": model},
            "prompt": {"raw": f"{prompt}: where is parcel {test}?", "label": prompt},
            "vars": {"question": f"Where is parcel {test}?"},
            "response": {"output": f"{model} by {prompt[-7:-5]} says {test}."},
        }
        for test in range(3)
        for number, (model, prompt) in enumerate(
            (model, prompt) for model in models for prompt in prompts
        )
    ]  # fmt: skip
    return json.dumps({"results": {"version": 3, "results": rows}})


def drop(client: Client, text: str, name: str = "results.json") -> Any:
    file = SimpleUploadedFile(name, text.encode())
    return client.post(START, {"file": file}, follow=True)


def post(client: Client, **data: str) -> Any:
    return client.post(reverse("admin:new-upload", args=[Upload.objects.get().pk]), data)


def list_systems() -> list[tuple[str, int]]:
    return [(name, number) for name, _, number in Upload.objects.get().report["summary"]["names"]]


def test_page_begins_with_the_prompts_of_one_model_as_its_systems(staff_client: Client) -> None:
    page = drop(staff_client, write_promptfoo("gpt"))

    assert list_systems() == [("prompts/v1.json", 3), ("prompts/v2.json", 3)]
    assert Upload.objects.get().report["is_importable"]
    assert page.text.count('type="radio"') == 3
    assert page.text.count('value="each" checked') == 1


def test_another_answer_leaves_the_other_prompt_out(staff_client: Client) -> None:
    drop(staff_client, write_promptfoo("gpt", "llama"))
    assert len(list_systems()) == 4

    post(staff_client, **{f"decision-{KEY}": "prompts/v2.json"})

    assert list_systems() == [("gpt", 3), ("llama", 3)]
    assert (
        f'value="{PROMPTS[1]}" checked'
        in staff_client.get(reverse("admin:new-upload", args=[Upload.objects.get().pk])).text
    )
    post(staff_client, **{f"decision-{KEY}": "each"})
    assert len(list_systems()) == 4


def test_answer_that_is_not_listed_changes_nothing(staff_client: Client) -> None:
    drop(staff_client, write_promptfoo("gpt"))

    post(staff_client, **{f"decision-{KEY}": "prompts/v3.json"})

    assert len(list_systems()) == 2


def test_prompts_are_called_by_what_stands_before_their_text(staff_client: Client) -> None:
    labels = ("v1: v1.txt: You are kind. {{question}}", "v2: v2.txt: Be brief. {{question}}")
    drop(staff_client, write_promptfoo("gpt", prompts=labels))
    assert list_systems() == [("v1", 3), ("v2", 3)]

    post(staff_client, **{f"decision-{KEY}": "v2"})

    assert list_systems() == [("gpt", 3)]


def test_prompts_that_begin_alike_keep_their_whole_label(staff_client: Client) -> None:
    labels = ("Answer: {{question}}", "Answer: briefly {{question}}")

    drop(staff_client, write_promptfoo("gpt", prompts=labels))

    assert sorted(name for name, _ in list_systems()) == sorted(labels)


def test_one_prompt_for_each_model_asks_nothing(staff_client: Client) -> None:
    page = drop(staff_client, write_promptfoo("gpt", "llama", prompts=PROMPTS[:1]))

    assert list_systems() == [("gpt", 3), ("llama", 3)]
    assert 'type="radio"' not in page.text


def test_filters_of_lm_eval_are_asked_about_since_they_may_find_the_same(
    staff_client: Client,
) -> None:
    rows = [
        {
            "doc_id": number, "doc": {"question": f"Q{number}"}, "target": "1",
            "arguments": [[f"Q{number}", {}]], "resps": [["The answer is 1"]],
            "filtered_resps": ["1"], "filter": name, "doc_hash": "x",
        }
        for number in range(2)
        for name in ("strict-match", "flexible-extract")
    ]  # fmt: skip
    text = "".join(f"{json.dumps(row)}\n" for row in rows)

    drop(staff_client, text, "samples_task_2026-11-22.jsonl")

    report = Upload.objects.get().report
    assert [(row["key"], row["is_made"]) for row in report["decisions"]] == [(KEY, False)]
    assert len(report["decisions"][0]["choices"]) == 3


def test_command_asks_and_takes_the_answer(tmp_path: Path, capsys: Any) -> None:
    study = make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))
    (tmp_path / "results.json").write_text(write_promptfoo("gpt"))
    command = ["import_batch", str(study.pk), str(tmp_path / "results.json")]

    with pytest.raises(CommandError):
        call_command(*command)
    assert "--variant each" in capsys.readouterr().out
    call_command(*command, "--variant", "each", "--map", "question=prompt")

    assert sorted(study.systems.values_list("name", flat=True)) == [*PROMPTS]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [1280, 360])
def test_systems_are_chosen_beside_the_item_or_above_it(
    page: Page, live_server: Any, tmp_path: Any, width: int
) -> None:
    watch = Watch(page)
    sign_in(page, live_server.url, make_user())
    page.set_viewport_size({"width": width, "height": 900})
    (tmp_path / "results.json").write_text(write_promptfoo("gpt", "llama"))
    page.goto(f"{live_server.url}{START}")

    choose_files(page, tmp_path / "results.json")

    radio = page.locator("#id_variant_1").bounding_box()
    name = page.locator("#id_name-0").bounding_box()
    item = page.locator("#item").bounding_box()
    assert radio
    assert name
    assert item
    assert radio["y"] < name["y"]
    assert (item["x"] > radio["x"] + 300) == (width == 1280)
    assert (item["y"] > name["y"]) == (width == 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert find_faults_in_turn(page) == []
    with page.expect_navigation():
        page.get_by_label("the models, with “prompts/v2.json” only").check()
    expect(page.locator("h1")).to_contain_text("3 items, 2 systems")
    assert watch.found == []

"""The page of judges and metrics: what it shows, to whom, and what hidden results keep back."""

import csv
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.command_line.main import run_command
from evalsite.data.models import Judge, JudgeFile, JudgeLabel, Upload
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Rating
from evalsite.instruments.scales import COMMENT
from evalsite.operations.retention import erase_person
from evalsite.people.models import ParticipantIdentity
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Membership, Study
from tests.command_line.test_judge import write_files
from tests.results.test_report_pages import sign_in
from tests.support.factories import launch, make_study

pytestmark = pytest.mark.django_db


def address(name: str, study: Study, *parts: object) -> str:
    return reverse(f"admin:{name}", args=[study.pk, *parts])


def add_judge(study: Study, folder: Path, *, further: int = 20, without: str = "") -> None:
    keys = [f"item-{number:03}" for number in range(1, 25)]
    ratings, _ = write_files(folder, keys, seed=1, noise=12)
    if without:
        lines = ratings.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(f"{without},")]
        ratings.write_text("".join(kept), encoding="utf-8", newline="")
    fresh = [f"fresh-{number}" for number in range(further)]
    _, labels = write_files(folder, [*keys, *fresh], seed=2, noise=12)
    call_command("import_ratings", str(study.pk), str(ratings), "--persons", "yes")
    call_command("import_judges", str(study.pk), str(labels))


@pytest.fixture
def judged(db: None, tmp_path: Path) -> Study:
    study = launch(make_study(items=24, k=4))
    add_judge(study, tmp_path)
    compute_report(study)
    return study


def test_without_judges_the_page_offers_to_take_a_file(db: None) -> None:
    study = launch(make_study(items=2))
    page = sign_in(Membership.Role.EDITOR, study).get(address("results-judges", study)).text
    assert "No judge or metric yet" in page
    assert 'value="judges"' in page


def test_the_page_shows_agreement_the_corrected_result_and_what_is_missing(judged: Study) -> None:
    client = sign_in(Membership.Role.EDITOR, judged)
    response = client.get(address("results-judges", judged))
    assert response.status_code == 200
    assert "judge-a agrees" in response.context["headline"]
    [shown] = response.context["shown"]
    assert "With the judge" in shown["body"]
    assert len(shown["differences"]) == 3
    [row] = response.context["judges"]
    assert row["missing"] == ["version", "prompt", "date"]


def test_a_design_is_cheaper_or_equal_beside_a_judge(judged: Study) -> None:
    client = sign_in(Membership.Role.VIEWER, judged)
    response = client.get(address("results-judges", judged), {"width": "0.2"})
    [design] = response.context["shown"][0]["designs"]
    assert design["beside"]
    best = {name: min(row["total"] for row in design[name]) for name in ("without", "beside")}
    assert best["beside"] <= best["without"]
    for text in ("-1", "x", "1e999"):
        page = client.get(address("results-judges", judged), {"width": text})
        assert page.status_code == 200
        assert page.context["width"].errors


def test_designs_beside_two_judges_are_told_apart(judged: Study) -> None:
    second = Judge.objects.create(study=judged, name="judge-b")
    for label in JudgeLabel.objects.filter(file__study=judged):
        label.pk, label.judge = None, second
        label.save(force_insert=True)
    compute_report(judged)
    client = sign_in(Membership.Role.VIEWER, judged)
    page = client.get(address("results-judges", judged), {"width": "0.2"}).text
    regions = re.findall(r'aria-label="(Designs for [^"]+)"', page)
    assert len(regions) == len(set(regions)) == 2


def test_what_is_known_of_a_judge_is_kept_and_its_certificate_is_sent(judged: Study) -> None:
    client = sign_in(Membership.Role.EDITOR, judged)
    judge = judged.judges.get()
    about = address("judge-about", judged, judge.pk)
    refused = client.post(about, {"prompt_sha256": "12", "judged_on": "2999-01-01"})
    assert refused.status_code == 422
    assert set(refused.context["form"].errors) == {"prompt_sha256", "judged_on"}

    fields = {"version": "2026-10", "prompt": "Score it.", "settings": "t 0",
              "judged_on": "2026-01-05"}  # fmt: skip
    assert client.post(about, fields).status_code == 302
    judge.refresh_from_db()
    assert len(judge.prompt_sha256) == 64

    sent = client.get(address("judge-certificate", judged, judge.pk))
    content = json.loads(sent.content)
    assert content["identity"]["version"] == "2026-10"
    assert content["expires_on"] == "2026-07-04"


def test_a_certificate_without_a_version_says_what_is_missing(judged: Study) -> None:
    client = sign_in(Membership.Role.VIEWER, judged)
    judge = judged.judges.get()
    response = client.get(address("judge-certificate", judged, judge.pk), follow=True)
    assert "version, prompt, date" in response.text


def test_differences_come_as_csv_that_no_spreadsheet_runs(judged: Study) -> None:
    JudgeLabel.objects.update(reason="=1+1")
    report = compute_report(judged)
    report.delete()
    compute_report(judged)
    client = sign_in(Membership.Role.VIEWER, judged)
    lines = client.get(address("judge-differences", judged, 1)).text.splitlines()
    assert lines[0].startswith("criterion,item,system")
    assert len(lines) > 10
    assert all(line.endswith("'=1+1") for line in lines[1:])
    assert client.get(address("judge-differences", judged, 2)).status_code == 404


def test_a_difference_has_what_people_wrote_beside_the_reason_of_the_judge(judged: Study) -> None:
    client = sign_in(Membership.Role.VIEWER, judged)
    page = client.get(address("results-judges", judged))
    [shown] = page.context["shown"]
    item, (system,) = shown["differences"][0]["name"], shown["differences"][0]["systems"]
    answers = Rating.objects.filter(
        study=judged, criterion="informativeness", annotation__item__group=item,
        part="", start__isnull=True,
    )  # fmt: skip
    here = answers.filter(output__system__name=system.strip("\u2068\u2069")).first()
    other = answers.exclude(output__system=here.output.system).first()
    for answer, text in ((here, "Not <b>one</b> fact is right."), (other, "About another output.")):
        Rating.objects.create(
            study=judged, annotation=answer.annotation, output=answer.output,
            criterion="informativeness", part=COMMENT, text=text,
        )  # fmt: skip
    page = client.get(address("results-judges", judged))
    [shown] = page.context["shown"]
    assert shown["differences"][0]["comments"] == ["Not <b>one</b> fact is right."]
    assert "Not &lt;b&gt;one&lt;/b&gt; fact is right." in page.text
    rows = list(csv.DictReader(
        client.get(address("judge-differences", judged, 1)).text.lstrip("\ufeff").splitlines()
    ))  # fmt: skip
    assert rows[0]["comments"] == "Not <b>one</b> fact is right."
    Exclusion.objects.create(study=judged, annotation=here.annotation, reason="Slips")
    page = client.get(address("results-judges", judged))
    assert page.context["shown"][0]["differences"][0]["comments"] == []


def test_hidden_results_stay_hidden_beside_a_judge(db: None, tmp_path: Path) -> None:
    study = launch(make_study(items=24, k=4, hides_results=True))
    add_judge(study, tmp_path)
    compute_report(study)
    client = sign_in(Membership.Role.OWNER, study)
    response = client.get(address("results-judges", study))
    main = response.text.partition("<main")[2]

    assert response.context["judges"]
    assert "shown" not in response.context
    # the third is called as the file to fill in
    assert not [name for name in ("baseline", "neural") if name in main]
    for name, *parts in (("judge-differences", 1), ("judge-certificate", Judge.objects.get().pk)):
        sent = client.get(address(name, study, *parts))
        assert sent.status_code == 302
        assert "#reveal" in sent.url or address("study-results", study) in sent.url


def test_no_certificate_leaves_while_results_are_hidden(
    db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = launch(make_study(items=24, k=4, hides_results=True))
    add_judge(study, tmp_path)
    judge = study.judges.get()
    judge.version, judge.prompt_sha256, judge.judged_on = "1", "a" * 64, date(2026, 11, 1)
    judge.save()
    out = tmp_path / "certificate.json"
    words = ["judge", "certify", str(study.pk), "--judge", "judge-a", "--out", str(out)]
    assert run_command(words) == 3
    assert not out.exists()

    Study.objects.update(hides_results=False)
    assert run_command(words) == 0
    assert out.exists()


def test_erasing_a_person_leaves_labels_and_takes_them_out_of_every_figure(
    judged: Study, tmp_path: Path
) -> None:
    def read(study: Study) -> dict[str, Any]:
        [part] = compute_report(study).content["kept"]["criteria"][0]["judges"]
        return dict(part)

    def say_corrected(part: dict[str, Any]) -> list[Any]:
        return [(pair["value"], pair["low"], pair["high"]) for pair in part["corrected"]["pairs"]]

    # no row of a judge names or belongs to a person
    models = {field.related_model for model in (Judge, JudgeLabel, JudgeFile)
              for field in model._meta.get_fields() if field.related_model}  # fmt: skip
    assert models <= {Study, Judge, JudgeLabel, JudgeFile, User, Upload}
    labels = list(JudgeLabel.objects.order_by("pk").values())
    before = read(judged)
    people = {
        identity.outside_id: identity.participant
        for identity in ParticipantIdentity.objects.filter(study=judged)
    }
    erase_person(people["person 1"], by=None)
    after = read(judged)

    assert list(JudgeLabel.objects.order_by("pk").values()) == labels
    assert (before["people"], after["people"]) == (4, 3)
    assert say_corrected(after) != say_corrected(before)
    # as if that person had never come
    other = launch(make_study(items=24, k=4, title="Another"))
    add_judge(other, tmp_path, without="person 1")
    assert say_corrected(after) == [
        tuple(map(pytest.approx, pair)) for pair in say_corrected(read(other))
    ]
    erase_person(people["person 2"], by=None)
    assert read(judged)["corrected"]["reason"] == "few_people"


def test_viewers_and_strangers_change_nothing(judged: Study) -> None:
    judge = judged.judges.get()
    viewer = sign_in(Membership.Role.VIEWER, judged)
    assert viewer.post(address("judge-about", judged, judge.pk), {}).status_code == 403
    assert 'name="file"' not in viewer.get(address("results-judges", judged)).text
    assert Client().get(address("results-judges", judged)).status_code == 302


def test_who_is_no_member_finds_nothing(judged: Study) -> None:
    assert sign_in(None, judged).get(address("results-judges", judged)).status_code == 404


def test_files_are_taken_back_after_a_question(judged: Study) -> None:
    client = sign_in(Membership.Role.EDITOR, judged)
    file = judged.judge_files.get()
    assert "132 labels" in client.get(address("results-file-undo-confirm", judged, file.pk)).text
    client.post(address("results-file-undo", judged, file.pk))
    assert not JudgeLabel.objects.exists()
    assert client.get(address("results-judges", judged)).status_code == 200

"""Anonymous bundles: none of the names planted in a study is in any byte, and they are bundles."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.anonymous import Anonymised, write_anonymous
from evalsite.data.bundle.anonymous_views import WordsForm
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.neutral_words import Replacer, find_words
from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.models import Judge, JudgeFile, JudgeLabel
from evalsite.decisions.frozen_plans import list_cluster_answers
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.studies.models import Change, Invitation, Item, Membership, Study, System
from tests.data.bundle.test_bundle_pages import url
from tests.support.bundles import close, examine, make_full_study, move_data, read_files
from tests.support.emptying import no_rows
from tests.support.factories import launch, make_annotator, make_study, make_user
from tests.support.instruments import make_built_study, read_instrument
from tests.support.lasting import lasting_rows

pytestmark = pytest.mark.django_db

PLANTED = (
    "Mori", "Tomás", "Ruiz", "Uni Hill", "hill-lab", "hill.example", "jane@", "t.ruiz", "lab-host",
)  # fmt: skip

CLUSTERS = {
    "code": "clusters_used", "text": "5 talks (column hill-lab talk) are used as clusters.",
    "rows": [], "facts": {"items": 10, "clusters": 5, "noun": "talks", "column": "hill-lab talk"},
}  # fmt: skip


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest) -> Iterator[Study]:
    """A full study with names wherever researchers write: made once, for all tests."""
    with lasting_rows(request):
        yield make_named()


@pytest.fixture
def study(made: Study, db: None, settings: Any, tmp_path: Path) -> Study:
    move_data(settings, tmp_path)
    settings.ALLOWED_HOSTS = ["lab-host.uni.example", "testserver"]
    return Study.objects.get(pk=made.pk)


def make_named() -> Study:
    study = make_full_study(
        "rrgen",
        title="Hill-Lab pilot: Mori & Ruiz",
        organisation="Uni Hill",
        contact_email="jane@mori.hill.example",
        by=make_user("mori", first_name="Jane", last_name="Mori", email="jane@mori.hill.example"),
        summary="Help HILL-LAB. See https://hill.example/~mori/study, or lab-host.uni.example.",
        consent="Ask Dr Mori (jane@mori.hill.example) or t.ruiz@other.example at Uni Hill.",
        asks_to_share=True,
    )
    colleague = make_user("truiz", first_name="Tomás", last_name="Ruiz")
    Membership.objects.create(study=study, user=colleague, role="viewer")
    system = System.objects.filter(study=study).order_by("id")[0]
    AnalysisPlan.objects.filter(study=study).update(exclusion_rule="Ask Tomás first")
    System.objects.filter(pk=system.pk).update(name="Mori_v2")
    Change.objects.create(
        study=study, kind="renamed", system=system, before="Jane Mori's model", after="Mori_v2"
    )
    study.batches.update(file_name="ruiz-outputs.csv", import_notes=[CLUSTERS])
    item = Item.objects.filter(study=study).order_by("id")[0]
    Item.objects.filter(pk=item.pk).update(
        extra={"who": "Jane Mori", "url": "https://hill.example"}
    )
    Exclusion.objects.filter(study=study).update(reason="Jane Mori decided")
    add_judge(study, item)
    idle = make_annotator(study)
    study.participants.filter(pk=idle.pk).update(may_share=False)
    return close(study)


def add_judge(study: Study, item: Item) -> None:
    """Labels of a judge with names wherever researchers write them."""
    file = JudgeFile.objects.create(study=study, file_name="mori-labels.csv", sha256="1" * 64)
    judge = Judge.objects.create(
        study=study, name="Hill-Lab judge", version="Ruiz 2", prompt="Be Dr Mori.", settings="Mori"
    )
    JudgeLabel.objects.create(
        file=file, judge=judge, criterion=study.config.criteria[0].key, item_key=item.key,
        system="Mori_v2", value=3, reason="As Tomás would.",
    )  # fmt: skip


def anonymise(study: Study, **more: str) -> tuple[bytes, Anonymised]:
    target = io.BytesIO()
    words = find_words(study) | {"Hill-Lab": "The lab"} | more
    contents = Contents(has_entry_answers=False, is_public=True, is_anonymous=True)
    made = write_anonymous(study.pk, contents, words, target)
    return target.getvalue(), made


def find_any(texts: Iterable[str], data: bytes) -> list[str]:
    lower = data.decode().casefold()
    return [text for text in texts if text.casefold() in lower]


@pytest.mark.torture
@pytest.mark.slow
def test_no_byte_of_an_anonymous_bundle_names_who_made_it_and_it_is_a_bundle(study):
    bundle, made = anonymise(study)

    files = read_files(bundle)
    planted = [*PLANTED, str(study.pk)]
    assert {name: find_any(planted, data) for name, data in files.items()} == {
        name: [] for name in files
    }
    assert find_any(planted, "\n".join(files).encode()) == []
    assert made.left == {}
    assert made.replaced["Jane Mori"] > 1
    report = examine(bundle)
    assert report.is_sound, report.faults
    assert b"Researcher_v2" in files["data/items.csv"]
    assert report.about["study"]["contact_email"] == "removed@example.org"
    assert report.about["left_out"]["participants"] > 0
    eva = make_user("eva")
    with pytest.raises(ValidationError) as refused:
        restore_bundle(file=io.BytesIO(bundle), owner=eva, by=eva)
    assert refused.value.code == "study_exists"
    with no_rows():
        zoe = make_user("zoe")
        imported = restore_bundle(file=io.BytesIO(bundle), owner=zoe, by=zoe)
        assert imported.study.title == "The lab pilot: Researcher & Researcher"
        (clusters,) = list_cluster_answers(imported.study)
        assert clusters["facts"] == CLUSTERS["facts"] | {"column": "The lab talk"}
        assert imported.study.annotations.count() == sum(
            report.about["counts"]["annotations"].values()
        )


@pytest.mark.slow
def test_names_of_people_institutions_and_sites_are_found_in_the_texts(study):
    Invitation.objects.create(
        study=study, role="viewer", label="Ann Lee", token_hash="1" * 64, expires_at=study.closed_at
    )

    words = find_words(study)

    assert {term: word for term, word in words.items() if term in {"Uni Hill", "truiz"}} == {
        "Uni Hill": "Institution"
    }
    assert words["Tomás"] == "Researcher"
    assert words["https://hill.example/~mori/study"] == "https://example.org/removed"
    assert words["t.ruiz@other.example"] == "removed@example.org"
    assert words["lab-host.uni.example"] == words["hill.example"] == "example.org"
    # a colleague whom no text names
    assert "Ann Lee" not in words


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Eva de la Cruz", {"Eva", "Cruz"}),
        ("The Hill Lab", {"Hill", "Lab"}),
        # a team about itself: its words are words of any text
        ("the people who run this site", set()),
    ],
)
def test_parts_of_a_name_are_replaced_unless_they_are_words_of_any_text(name, parts):
    lead = make_user("lead", first_name=name, email="lead@example.org")
    study = launch(make_study(by=lead, contact_email=lead.email))

    words = find_words(study)

    assert words[name] == "Researcher"
    assert {word for word in name.split() if word in words} == parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The hill on Hill_1, uphill", "The X on X_1, uphill"),
        ("Hill Lab’s hills", "Y’s hills"),
        ("由山田研究室提供", "由Z提供"),
        ({"Hill": ["HILL", 1, None]}, {"Hill": ["X", 1, None]}),
    ],
)
def test_whole_words_are_replaced_in_any_case_the_longest_first(text, expected):
    replacer = Replacer({"Hill": "X", "Hill Lab": "Y", "山田研究室": "Z"})

    assert replacer.replace(text) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("checks_here")
def test_page_offers_what_was_found_and_lists_what_was_replaced_before_the_download(
    staff_client, study
):
    Membership.objects.create(study=study, user=User.objects.get(username="jane"), role="viewer")
    page = staff_client.get(url("export-anonymous", study))
    offered = page.context["form"]["words"].value()
    staff_client.post(url("export-anonymous", study), {"words": f"{offered}\nNobody Known"})
    job = run_job(Job.objects.get(kind="bundle"))
    listed = staff_client.get(url("export-bundle", study)).content.decode()
    response = staff_client.post(url("export-bundle-file", study, job.pk))

    assert "Uni Hill = Institution" in offered.splitlines()
    assert "<bdi>Jane Mori</bdi>: <bdi>Researcher</bdi>" in listed
    assert "<bdi>Nobody Known</bdi>: not found" in listed
    assert "None of them is left in any file." in listed
    assert "study_simulated_bundle_anonymous.zip" in response["Content-Disposition"]
    assert "README.md" in read_files(b"".join(response.streaming_content))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("", "no_words"),
        ("M = Someone", "length"),
        ("Mori = Someone\nUni = The Mori group", "not_neutral"),
        ("\n".join(f"name {n}" for n in range(501)), "too_many"),
    ],
)
def test_words_that_cannot_be_replaced_are_refused_with_a_reason(words, code):
    form = WordsForm({"words": words})

    assert [one.code for one in form.errors.as_data()["words"]] == [code]


def test_words_are_read_line_by_line_and_may_hold_an_equals_sign():
    form = WordsForm({"words": "https://x.example/?a=b = a link\n\n  Mori  \nUni = the = place"})

    assert form.is_valid()
    assert form.cleaned_data["words"] == {
        "https://x.example/?a=b": "a link", "Mori": "Withheld", "Uni = the": "place",
    }  # fmt: skip


@pytest.mark.usefixtures("checks_here")
def test_instrument_that_was_built_here_is_made_anonymous_too():
    content = read_instrument("adequacy_fluency") | {"title": "Adequacy as Jane Mori asks"}
    built = make_built_study(content, by=make_user("mori", first_name="Jane", last_name="Mori"))

    bundle, made = anonymise(built)

    assert find_any(["Mori"], b"".join(read_files(bundle).values())) == []
    assert made.replaced["Jane Mori"] > 0
    assert examine(bundle).is_sound
    assert built.instrument.title == "Adequacy as Jane Mori asks"


@pytest.mark.slow
@pytest.mark.usefixtures("checks_here")
def test_command_lists_words_left_in_outputs_and_says_why_words_cannot_be_replaced(
    study, tmp_path, capsys
):
    output = study.items.main().order_by("id")[0].outputs.order_by("position")[0]
    output.text = f"{output.text} by Mori"
    output.save()
    System.objects.create(study=study, name="Gull")
    whole, none = tmp_path / "anonymous.zip", tmp_path / "none.zip"
    said = ["export_bundle", str(study.pk), "--anonymous"]

    call_command(*said, "--replace=hill-lab=Lab", output=whole)
    with pytest.raises(CommandError) as refused:
        call_command(*said, "--replace=Mori_v2=one", "--replace=Gull=one", output=none)

    told = capsys.readouterr().out
    assert "Replaced: hill-lab = Lab" in told
    assert "“Mori” is still in data/items.csv, records/items.jsonl." in told
    assert whole.exists()
    assert "one name" in str(refused.value)
    assert not none.exists()

"""What will people be asked: three instruments with the file's own first item, then the study."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.builder.gallery import choose, list_shipped, read_gallery
from evalsite.data.models import Upload
from evalsite.data.uploads import begin_check, keep_upload
from evalsite.results.report.files import find_departures
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Instrument, InstrumentVersion, Item, Study
from tests.support.answering import Entered
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs
from tests.support.races import at_once

pytestmark = pytest.mark.django_db

TRANSLATIONS = """\
id,source,reference,system,translation
s1,Der Hund schläft.,The dog is sleeping.,alpha,The dog sleeps.
s1,Der Hund schläft.,The dog is sleeping.,beta,A dog is asleep.
s2,Es regnet heute.,It is raining today.,alpha,It rains today.
s2,Es regnet heute.,It is raining today.,beta,Today it rains.
"""
TURNS = [{"role": "user", "content": "Is it open?"}]
CHATS = "".join(
    json.dumps({"id": chat, "messages": TURNS, "model": model, "response": f"**Yes** {model}"})
    + "\n"
    for chat in ("c1", "c2")
    for model in ("alpha", "beta")
)
ODD = """\
nr,die_frage,model,answer
1,Wie hoch ist der Turm?,alpha,90 Meter hoch.
2,Wer hat ihn gebaut?,alpha,Das weiß niemand.
"""


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path


def keep(text: str, by: Any, file_name: str = "station news.csv") -> Upload:
    kept = keep_upload(study=None, file_name=file_name, chunks=[text.encode()], by=by)
    begin_check(kept, by=by)
    kept.refresh_from_db()
    return kept


def page_of(kept: Upload) -> str:
    return reverse("admin:new-instrument", args=[kept.pk])


def fill(page: Any, **changes: Any) -> dict[str, Any]:
    """Return the form of this page as it stands, with the boxes of every instrument that are on."""
    fields = {"title": page.context["form"]["title"].value(), "instrument": page.context["chosen"]}
    for pick in page.context["picks"]:
        if not pick["has_box"] and not pick["entry"].is_as_published:
            fields[pick["form"].add_prefix("comments")] = "on"
        fields[pick["form"].add_prefix("added")] = pick["form"]["added"].value() or []
    return fields | changes


def create(staff: Client, upload: Upload, **changes: Any) -> Any:
    return staff.post(page_of(upload), fill(staff.get(page_of(upload)), **changes))


def list_keys(page: Any) -> list[str]:
    return [pick["entry"].config.key for pick in page.context["picks"]]


def read_first_item(study: Study) -> Mapping[str, str]:
    item = Item.objects.filter(study=study).main().order_by("id").first()
    assert item is not None
    return item.inputs


def test_three_instruments_show_the_first_item_and_how_much_there_is_to_rate(staff, jane):
    page = staff.get(page_of(keep(TRANSLATIONS, jane)))

    assert list_keys(page) == ["adequacy_fluency", "da_sqm", "arena_preference"]
    works = [pick["work"] for pick in page.context["picks"]]
    assert works == ["4 outputs", "4 outputs", "2 pairs"]
    htmls = [pick["html"] for pick in page.context["picks"]]
    assert all("The dog sleeps." in html for html in htmls)
    assert ["Der Hund schläft." in html for html in htmls] == [False, True, True]
    assert "A dog is asleep." in htmls[2]
    # who made what is nowhere in what people will see
    assert not any("alpha" in html for html in htmls)
    assert page.context["chosen"] == "gallery:adequacy_fluency"
    assert page.context["form"]["title"].value() == "Station news"
    assert page.text.count(" inert>") == 3
    assert not Study.objects.exists()


def test_messages_are_drawn_as_a_conversation_and_markdown_as_markdown(staff, jane):
    page = staff.get(page_of(keep(CHATS, jane, "chats.jsonl")))

    assert list_keys(page) == ["arena_preference", "helpsteer2_preference", "helpsteer2"]
    for pick in page.context["picks"]:
        assert '<ol class="dialogue">' in pick["html"]
        assert "<strong>Yes</strong>" in pick["html"]


def test_study_has_the_items_as_they_were_drawn_and_leads_to_what_people_read(staff, jane):
    made = create(staff, keep(CHATS, jane, "chats.jsonl"))

    study = Study.objects.get()
    assert made.url == reverse("admin:setup-read", args=[study.pk])
    assert study.config.item.inputs[0].kind == "conversation"
    assert json.loads(read_first_item(study)["prompt"]) == TURNS
    assert study.memberships.get().user == jane
    outputs = [len(item.outputs.all()) for item in Item.objects.filter(study=study).main()]
    assert outputs == [2, 2]


def test_comment_box_and_added_input_make_a_version_based_on_what_was_chosen(staff, jane):
    added = {"gallery-adequacy_fluency-added": ["source"]}

    create(staff, keep(TRANSLATIONS, jane), **added)

    study = Study.objects.get()
    assert read_first_item(study) == {
        "reference": "The dog is sleeping.", "source": "Der Hund schläft.",
    }  # fmt: skip
    assert study.config.has_note
    departures = find_departures(study.config)
    assert departures is not None
    assert (departures.key, departures.inputs, departures.note) == (
        "adequacy_fluency", ["source"], True,
    )  # fmt: skip


def test_adapted_instrument_is_a_version_of_the_adopted_one_and_no_entry_of_its_own(staff, jane):
    for number in (1, 2):
        create(staff, keep(TRANSLATIONS + f"s{number}9,a,b,alpha,c\ns{number}9,a,b,beta,d\n", jane))
    page = staff.get(reverse("admin:new-all"))

    assert Instrument.objects.count() == 1
    assert [version.number for version in InstrumentVersion.objects.all()] == [1, 2]
    assert {study.instrument.number for study in Study.objects.all()} == {2}
    assert "Your own" not in [section["title"] for section in page.context["sections"]]


def test_without_either_the_instrument_itself_is_used(staff, jane):
    create(staff, keep(TRANSLATIONS, jane), **{"gallery-adequacy_fluency-comments": ""})

    version = InstrumentVersion.objects.get()
    assert find_departures(Study.objects.get().config) is None
    assert version.content == read_gallery()["adequacy_fluency"]
    assert read_first_item(Study.objects.get()) == {"reference": "The dog is sleeping."}


def test_plain_instrument_shows_what_the_systems_were_given_but_no_reference(staff, jane):
    kept = keep(TRANSLATIONS, jane)
    page = staff.get(page_of(kept), {"instrument": "gallery:quality"})

    staff.post(page_of(kept), fill(page))

    assert "Der Hund schläft." in page.context["picks"][0]["html"]
    assert read_first_item(Study.objects.get()) == {"source": "Der Hund schläft."}


def test_text_with_an_odd_name_is_shown_as_the_prompt(staff, jane):
    page = staff.get(page_of(keep(ODD, jane)))
    assert list_keys(page) == ["helpsteer2", "quality"]

    create(staff, keep(ODD, jane))

    assert read_first_item(Study.objects.get()) == {"prompt": "Wie hoch ist der Turm?"}


def test_one_system_and_an_instrument_for_pairs_is_said_before_it_is_chosen(staff, jane):
    kept = keep(ODD, jane)

    shown = staff.get(page_of(kept), {"instrument": "gallery:which_is_better"})
    listed = staff.get(reverse("admin:new-all"), {"q": "A/B", "upload": kept.pk})
    refused = create(staff, kept, instrument="gallery:which_is_better")

    assert "have 1 output" in shown.context["problem"]
    assert "gallery:which_is_better" not in [p["entry"].value for p in shown.context["picks"]]
    assert "have 1 output" in listed.text
    assert refused.status_code == 422
    assert "have 1 output" in str(refused.context["form"].errors["instrument"])
    assert not Study.objects.exists()


def test_instrument_that_was_searched_for_is_the_first_and_chosen(staff, jane):
    kept = keep(TRANSLATIONS, jane)

    listed = staff.get(reverse("admin:new-all"), {"q": "better", "upload": kept.pk})
    page = staff.get(page_of(kept), {"instrument": "gallery:which_is_better"})

    assert f"{page_of(kept)}?instrument=gallery%3Awhich_is_better" in listed.text
    assert list_keys(page)[0] == "which_is_better"
    assert page.context["chosen"] == "gallery:which_is_better"
    create(staff, kept, instrument="gallery:which_is_better")
    assert Study.objects.get().protocol == "which_is_better"


def test_both_pages_count_the_instruments_of_this_person_too(staff, jane):
    content = read_gallery()["quality"] | {"title": "Our own", "key": "our_own"}
    import_instrument(data=content, by=jane)
    kept = keep(TRANSLATIONS, jane)

    pages = (page_of(kept), reverse("admin:new-all"))
    counts = [staff.get(page).context["count"] for page in pages]

    assert counts == [len(list_shipped()) + 1] * 2


def test_way_from_a_dropped_file_to_the_study_has_three_pages(staff):
    file = SimpleUploadedFile("station news.csv", TRANSLATIONS.encode())

    dropped = staff.post(reverse("admin:study-new"), {"file": file}, follow=True)
    address = dropped.redirect_chain[-1][0]
    gone_on = staff.post(f"{address}continue/", Entered(dropped.text).values, follow=True)
    made = staff.post(gone_on.redirect_chain[-1][0], fill(gone_on))

    study = Study.objects.get()
    assert made.url == reverse("admin:setup-read", args=[study.pk])
    assert (study.title, study.protocol) == ("Station news", "adequacy_fluency")


def test_title_that_names_a_system_is_warned_of_once(staff, jane):
    kept = keep(TRANSLATIONS, jane)

    warned = create(staff, kept, title="Alpha in stations")
    other = create(staff, kept, title="Beta in stations", kept="Alpha in stations")
    studies = Study.objects.count()
    made = create(staff, kept, title="Alpha in stations", kept="Alpha in stations")

    assert (warned.status_code, other.status_code, studies) == (422, 422, 0)
    assert 'name="kept" value="Alpha in stations"' in warned.text
    assert made.status_code == 302


@pytest.mark.parametrize("title", ["", "x" * 121])
def test_title_has_1_to_120_characters(staff, jane, title):
    refused = create(staff, keep(TRANSLATIONS, jane), title=title)

    assert refused.status_code == 422
    assert not Study.objects.exists()


def test_title_is_what_the_tool_calls_its_run(staff, jane):
    row = {
        "testIdx": 0, "vars": {"q": "?"}, "prompt": {"raw": "Where is it?", "label": "short"},
        "provider": {"id": "alpha"}, "response": {"output": "There."}, "success": True,
    }  # fmt: skip
    results = {
        "results": {"results": [row, row | {"provider": {"id": "beta"}}]},
        "config": {"description": "Refund assistant, two prompts"},
    }

    page = staff.get(page_of(keep(json.dumps(results), jane, "results.json")))

    assert page.context["form"]["title"].value() == "Refund assistant, two prompts"


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_study_of_a_tools_results_shows_the_texts_that_its_page_showed(staff, jane, name):
    results = Path("fixtures/tool_outputs/promptfoo") / name
    kept = keep(results.read_text(encoding="utf-8"), jane, name)

    create(staff, kept)

    assert {*read_first_item(Study.objects.get()).values()} == {
        "The library on Mill Street opens at 9, except on Mondays, when it opens at noon.\n"
        "When does the library open on Mondays?"
    }


def test_study_of_a_tools_log_has_the_output_that_its_page_showed(staff, jane):
    # a sample of Inspect has a key “output”, in which the text is further down
    (log,) = Path("fixtures/tool_outputs/inspect").glob("*_reading_6HA4*.json")
    kept = keep(log.read_text(encoding="utf-8"), jane, log.name)
    shown = dict(kept.report["summary"]["examples"][0]["outputs"])

    create(staff, kept)

    first = Item.objects.main().order_by("id").first()
    assert [*shown.values()] == [output.text for output in first.outputs.all()]


def test_large_file_becomes_a_study_by_a_job_that_the_page_before_shows(staff, jane, settings):
    settings.UPLOAD_JOB_BYTES = 1
    kept = keep(TRANSLATIONS, jane)
    run_waiting_jobs()

    made = create(staff, kept)
    before = Study.objects.count()
    run_waiting_jobs()

    assert made.url == reverse("admin:new-upload", args=[kept.pk])
    assert (before, Study.objects.get().title) == (0, "Station news")


def test_second_click_and_back_lead_to_the_study_that_was_made(staff, jane):
    kept = keep(TRANSLATIONS, jane)
    fields = fill(staff.get(page_of(kept)))

    staff.post(page_of(kept), fields)
    again = staff.post(page_of(kept), fields)
    back = staff.get(page_of(kept))

    address = reverse("admin:study-setup", args=[Study.objects.get().pk])
    assert (again.url, back.url) == (address, address)


def test_two_tabs_with_two_files_make_two_studies(staff, jane):
    one, two = keep(TRANSLATIONS, jane), keep(ODD, jane, "towers.csv")
    fields = [fill(staff.get(page_of(kept))) for kept in (one, two)]

    staff.post(page_of(one), fields[0])
    staff.post(page_of(two), fields[1])

    assert {study.title: study.protocol for study in Study.objects.all()} == {
        "Station news": "adequacy_fluency", "Towers": "helpsteer2",
    }  # fmt: skip


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_files_at_one_moment_share_the_adapted_instrument():
    jane = make_user()
    staff = Client()
    staff.force_login(jane)
    files = [keep(TRANSLATIONS, jane), keep(TRANSLATIONS.replace("s1", "s3"), jane)]
    fields = [fill(staff.get(page_of(kept))) for kept in files]
    choose("gallery:adequacy_fluency", jane)

    def click(number: int) -> int:
        client = Client()
        client.force_login(jane)
        return client.post(page_of(files[number]), fields[number]).status_code

    assert at_once([partial(click, 0), partial(click, 1)]) == [302, 302]
    assert Study.objects.count() == 2
    assert InstrumentVersion.objects.count() == 2


def test_expired_upload_and_that_of_somebody_else_lead_to_the_beginning(staff, jane):
    kept = keep(TRANSLATIONS, make_user("una"))

    foreign = staff.get(page_of(kept), follow=True)

    assert foreign.redirect_chain[0][0] == reverse("admin:study-new")
    assert "Drop the files once more." in foreign.text
    Upload.objects.filter(pk=kept.pk).delete()
    assert staff.post(page_of(kept), {"title": "x"}).url == reverse("admin:study-new")
    assert not Study.objects.exists()


def test_file_that_changed_since_it_was_shown_is_never_imported(staff, jane):
    kept = keep(TRANSLATIONS, jane)
    fields = fill(staff.get(page_of(kept)))
    kept.path.write_text(TRANSLATIONS.replace("A dog is asleep.", "Nobody saw this."))

    refused = staff.post(page_of(kept), fields)

    [error] = refused.context["form"].non_field_errors().as_data()
    assert (refused.status_code, error.code) == (422, "file_changed")
    assert not Study.objects.exists()


def test_file_with_faults_goes_back_to_its_outputs(staff, jane):
    kept = keep(TRANSLATIONS.replace("A dog is asleep.", ""), jane)

    assert staff.get(page_of(kept)).url == reverse("admin:new-upload", args=[kept.pk])


def test_system_called_tie_is_renamed_first(staff, jane):
    kept = keep(TRANSLATIONS.replace("beta", "tie"), jane)

    assert staff.get(page_of(kept)).url == reverse("admin:new-upload", args=[kept.pk])


def test_instrument_of_somebody_else_is_no_choice(staff, jane):
    kept = keep(TRANSLATIONS, jane)

    refused = create(staff, kept, instrument="version:" + "0" * 32)

    assert refused.status_code == 422


def test_page_takes_few_queries(staff, jane, django_assert_max_num_queries):
    kept = keep(TRANSLATIONS, jane)
    staff.get(page_of(kept))

    with django_assert_max_num_queries(8):
        staff.get(page_of(kept))

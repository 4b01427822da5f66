"""A new study: what it can ask is chosen from pictures, tried before, copied or imported."""

from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from evalsite.builder.gallery import list_gallery, list_protocols, list_shipped
from evalsite.builder.trying import Sample, list_samples
from evalsite.handout.models import Annotation
from evalsite.instruments import schema
from evalsite.instruments.questions import list_questions, number_texts
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Instrument, Item, Membership, Study
from tests.support.answering import Entered
from tests.support.factories import launch, make_study, make_user
from tests.support.instruments import GALLERY, make_built_study, read_gallery, read_instrument

pytestmark = pytest.mark.django_db


def answer(config: schema.Instrument, sample: Sample) -> dict[str, str]:
    """An answer to every question, as a bot gives it."""
    felt = [0.1 * number for number in range(len(sample.outputs))]
    given = {}
    for question in list_questions(config, sample.inputs, number_texts(sample.outputs)):
        given[question.name] = question.scale.answer_as_bot(felt, question.place)
        if question.criterion.comment:
            given[question.comment_name] = "Because of its last sentence."
    return given


def test_refused_title_is_named_at_the_top_with_a_link_to_it(staff):
    page = staff.post(reverse("admin:new-from"), {"title": "", "instrument": "gallery:quality"})

    assert page.status_code == 422
    top = page.text.split("<h2>No study was created</h2>")[1].split("</div>")[0]
    assert '<a href="#id_title">Title</a>: ' in top


def test_list_has_all_that_is_shipped_and_own_instruments_but_nobody_elses(staff, jane):
    content = read_gallery()[0] | {"title": "My own pair of scales"}
    import_instrument(data=content, by=jane)
    import_instrument(data=content | {"title": "Hers"}, by=make_user("other"))

    page = staff.get(reverse("admin:new-all"))

    entries = [entry for section in page.context["sections"] for entry in section["entries"]]
    titles = [entry.config.title for entry in entries]
    shipped = [entry.config.title for entry in list_shipped()]
    assert sorted(titles) == sorted([*shipped, "My own pair of scales"])
    assert page.text.count("as published</span>") == len(list_protocols())
    assert all(f"instrument={quote(entry.value, safe='')}" in page.text for entry in entries)


def test_page_of_an_instrument_names_its_columns_and_source(staff):
    page = staff.get(reverse("admin:new-from"), {"instrument": "gallery:adequacy_fluency"})

    assert "system, output, reference" in page.text
    assert "LDC 2005" in page.text


def test_search_shows_what_it_finds_above_the_list_of_all(staff):
    page = staff.get(reverse("admin:new-all"), {"q": "adequacy ldc"})
    pairs = staff.get(reverse("admin:new-all"), {"q": "A/B"})
    nothing = staff.get(reverse("admin:new-all"), {"q": "<b>zebra"})

    assert [row["entry"].config.key for row in page.context["rows"]] == ["adequacy_fluency"]
    assert pairs.context["meanings"] == ["two outputs side by side"]
    assert "No instrument for “&lt;b&gt;zebra”" in nothing.text
    assert reverse("admin:instrument-new") in nothing.text
    assert "Translation: adequacy and fluency" in nothing.text


@pytest.mark.parametrize("value", ["gallery:adequacy_fluency", "version"])
def test_study_is_made_of_the_gallery_or_of_a_version(staff, jane, value):
    if value == "version":
        version, _ = import_instrument(
            data=read_instrument("adequacy_fluency") | {"title": "Mine"}, by=jane
        )
        value = f"version:{version.pk.hex}"

    given = {"title": "Spring", "instrument": value}
    chosen = staff.get(reverse("admin:new-from"), {"instrument": value}).text
    staff.post(reverse("admin:new-from"), given)
    staff.post(reverse("admin:new-from"), given)

    studies = Study.objects.all()
    # all that is left is a title
    assert Entered(chosen).values["instrument"] == value
    assert 'type="radio"' not in chosen
    assert "Choose another instrument" in chosen
    assert [study.instrument.content["key"] for study in studies] == ["adequacy_fluency"] * 2
    assert len({study.instrument for study in studies}) == 1
    assert Instrument.objects.count() == 1


def test_version_of_somebody_else_is_no_choice(staff):
    theirs, _ = import_instrument(data=read_gallery()[0], by=make_user("other"))
    value = f"version:{theirs.pk.hex}"

    refused = staff.post(reverse("admin:new-from"), {"title": "x", "instrument": value})

    assert refused.status_code == 422
    assert "Choose one of these instruments." in refused.text
    tried = reverse("admin:instrument-try", args=["version", theirs.pk.hex, 1])
    assert staff.get(tried).status_code == 404
    assert staff.get(reverse("admin:instrument", args=[theirs.instrument.pk])).status_code == 404


@pytest.mark.one_case
@pytest.mark.parametrize("entry", [*list_protocols(), *list_gallery()], ids=lambda one: one.value)
def test_each_entry_is_tried_with_every_item_and_stores_nothing(staff, entry):
    for number, sample in enumerate(list_samples(entry.config), start=1):
        kind, _, name = entry.value.partition(":")
        address = reverse("admin:instrument-try", args=[kind, name, number])
        asked = staff.get(address)
        missed = staff.post(address, {})
        tried = staff.post(address, answer(entry.config, sample))

        assert asked.status_code == 200
        assert "nothing is stored" in asked.text
        assert missed.status_code == 422
        assert tried.status_code == 200, tried.text
        assert "Try again" in tried.text
    instructions = staff.get(reverse("admin:instrument-instructions", args=[kind, name]))
    assert instructions.status_code == 200
    assert not Study.objects.exists()
    assert not Annotation.objects.exists()


def test_item_that_is_tried_is_checked_only_with_the_token_of_its_page(jane):
    client = Client(enforce_csrf_checks=True)
    client.force_login(jane)
    entry = list_gallery()[0]
    kind, _, name = entry.value.partition(":")
    address = reverse("admin:instrument-try", args=[kind, name, 1])
    given = answer(entry.config, list_samples(entry.config)[0])

    token = Entered(client.get(address).text).values["csrfmiddlewaretoken"]

    assert client.post(address, given).status_code == 403
    assert client.post(address, given | {"csrfmiddlewaretoken": token}).status_code == 200


def test_sources_name_whose_words_are_used_and_under_which_licence(staff):
    page = staff.get(reverse("admin:instrument-sources")).text

    assert "Linguistic Data Annotation Specification" in page
    assert "To the letter" in page


def test_copy_of_a_study_has_its_settings_and_items_and_no_answers(staff, jane):
    study = launch(make_study(items=3, k=2, by=jane, summary="Score these"))
    given = {"study": study.pk, "title": "Again", "with_items": "on"}

    staff.post(reverse("admin:study-copy"), given)
    staff.post(reverse("admin:study-copy"), given | {"title": "Without", "with_items": ""})

    again, without = Study.objects.get(title="Again"), Study.objects.get(title="Without")
    assert (again.k, again.summary, again.state) == (2, "Score these", "draft")
    assert again.seed != study.seed
    mains = Item.objects.main()
    assert mains.filter(study=without).count() == 0
    for copied, item in zip(mains.filter(study=again), mains.filter(study=study), strict=True):
        assert (copied.key, copied.inputs) == (item.key, item.inputs)
        texts = [(one.system.name, one.text) for one in item.outputs.all()]
        assert [(one.system.name, one.text) for one in copied.outputs.all()] == texts
    assert Membership.objects.get(study=again).user == jane
    launch(again)


def test_a_repeat_asks_for_the_answers_that_decide(staff, jane):
    study = launch(make_study(items=3, k=2, by=jane))
    address = f"{reverse('admin:study-copy')}?study={study.pk}&answers=15"

    form = staff.get(address).context["form"]
    given = {"study": study.pk, "title": "Repeat", "with_items": "on", "answers": "15"}
    staff.post(address, given)
    refused = staff.post(address, given | {"answers": "0"})

    assert (form["answers"].value(), form["with_items"].value()) == ("15", True)
    assert Study.objects.get(title="Repeat").k == 15
    assert refused.status_code == 422


def test_study_of_somebody_else_can_not_be_copied(staff):
    study = make_study(by=make_user("other"))

    refused = staff.post(reverse("admin:study-copy"), {"study": study.pk, "title": "x"})

    assert refused.status_code == 422
    assert Study.objects.count() == 1


def test_copy_of_a_study_of_a_built_instrument_asks_the_same(staff, jane):
    study = make_built_study(read_gallery()[0], by=jane)

    staff.post(reverse("admin:study-copy"), {"study": study.pk, "title": "Again"})

    assert Study.objects.get(title="Again").config == study.config


def test_file_is_imported_or_every_fault_is_listed(staff):
    right = (GALLERY / "adequacy_fluency.json").read_bytes()
    wrong = (GALLERY / "faulty" / "10_not_allowed.json").read_bytes()

    refused = staff.post(
        reverse("admin:instrument-import"), {"file": SimpleUploadedFile("a.json", wrong)}
    )
    staff.post(reverse("admin:instrument-import"), {"file": SimpleUploadedFile("b.json", right)})

    assert refused.status_code == 422
    assert "layout.questions must be one of" in refused.text
    assert [one.key for one in Instrument.objects.all()] == ["adequacy_fluency"]


def test_page_takes_as_many_queries_for_two_instruments_as_for_twenty(
    staff, jane, django_assert_max_num_queries
):
    content = read_gallery()[0]
    for number in range(20):
        key = f"own_{number}"
        import_instrument(data=content | {"title": f"Own {number}", "key": key}, by=jane)
    staff.get(reverse("admin:new-all"))

    with django_assert_max_num_queries(14):
        staff.get(reverse("admin:new-all"))
    with django_assert_max_num_queries(14):
        staff.get(reverse("admin:instruments"))

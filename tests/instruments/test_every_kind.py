"""Every installed kind of question as the builder starts it: its parts fit together."""

import io
from typing import Any

import pytest

from evalsite.data.fsck import find_breaches
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.checks import read_instrument
from evalsite.instruments.scales import NA, Scale, installed_scales
from evalsite.instruments.scales.points import NumberScale
from evalsite.studies.models import Study
from tests.support.answering import RatingPage
from tests.support.batches import import_rows, make_rows
from tests.support.checking import check_labels
from tests.support.factories import launch
from tests.support.instruments import make_built_study
from tests.support.kinds import make_instrument

KINDS = list(installed_scales())
NUMBERS = [kind for kind, scale in installed_scales().items() if issubclass(scale, NumberScale)]

# a checklist can have it for each statement
WITH_NA = [
    kind
    for kind, scale in installed_scales().items()
    if "not_applicable" in scale.model_fields and not scale.has_parts
]


def read_scales(kind: str) -> list[Scale]:
    return [criterion.scale for criterion in read_instrument(make_instrument(kind)).criteria]


@pytest.fixture
def study(request: pytest.FixtureRequest, db: None) -> Study:
    """A live study that asks this kind of question."""
    draft = make_built_study(make_instrument(request.param), set_size=20, k=1)
    import_rows(draft, make_rows(draft.config, 2))
    return launch(draft)


@pytest.mark.parametrize("kind", KINDS)
def test_listed_answers_are_one_apart_and_labelled_at_their_ends(kind):
    for scale in read_scales(kind):
        answers = scale.list_answers()
        values = [value for value, _label in answers]

        assert not values or values == list(range(values[0], values[0] + len(values)))
        assert all(label for _value, label in (*answers[:1], *answers[-1:]))


@pytest.mark.parametrize("study", KINDS, indirect=True)
def test_a_page_asks_it_with_the_control_that_errors_lead_to_and_saves_answers(study):
    page = RatingPage(study)

    saved = page.post(page.answers)

    for question in page.questions:
        control = question.scale.first_control(question.name)
        assert f'id="{control}"' in page.html, f"The template has no id {control!r}."
    assert saved.status_code == 302
    assert Annotation.objects.get(study=study, outcome="rated").ratings.exists()
    assert find_breaches(study) == []


def list_choosable(scale: Scale) -> list[Any]:
    """List answers of a scale: those listed, or both ends and those beside them."""
    step = getattr(scale, "steps", 1)
    beside = [scale.minimum, scale.minimum + step, scale.maximum - step, scale.maximum]
    return [value for value, _label in scale.list_answers()] or beside


@pytest.mark.parametrize("kind", NUMBERS)
def test_gold_with_a_range_takes_every_answer_in_it(kind):
    for scale in read_scales(kind):
        right = scale.parse_gold(f"{scale.minimum}..{scale.maximum}", ["system"])
        judged = {
            value: scale.judge(right, [value], None, ["1"])[0][0] for value in list_choosable(scale)
        }

        assert all(judged.values()), judged


@pytest.mark.parametrize("study", NUMBERS, indirect=True)
def test_judges_can_answer_it_with_its_numbers(study):
    scale = study.config.criterion_by_key["quality"].scale
    item = study.items.main().first()
    output = item.outputs.get()
    row = f"{item.key},{output.system.name},quality,a judge,{scale.maximum}"

    checked = check_labels(
        io.BytesIO(f"item,system,criterion,judge,value\n{row}\n".encode()), study=study
    )

    assert [str(fault) for fault in checked.faults] == []


@pytest.mark.parametrize("study", WITH_NA, indirect=True)
def test_not_applicable_is_offered_stored_and_may_be_right(study):
    page = RatingPage(study)
    scale = study.config.criterion_by_key["style"].scale
    name = next(name for name in page.answers if name.startswith("style"))
    control = f"{name}.na" if f'name="{name}.na"' in page.html else name
    answers = {key: text for key, text in page.answers.items() if key != name}

    saved = page.post(answers | {control: NA})

    assert f'name="{control}" value="na"' in page.html
    assert saved.status_code == 302
    (row,) = Rating.objects.filter(study=study, criterion="style")
    assert (row.value, row.detail) == (None, {NA: True})
    assert scale.parse_gold(NA, ["system"]) == [(NA,)]

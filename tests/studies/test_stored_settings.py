"""Settings share two columns: all are checked however they are saved, and none is lost."""

from copy import copy
from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import BooleanField

from evalsite.lib.clock import now
from evalsite.studies.copying import copy_study
from evalsite.studies.models import COLUMNS, FIELDS, Study
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.settings import SETTINGS
from tests.support.factories import make_study, make_user
from tests.support.races import at_once

# of each column one value that its declaration doesn't allow
BAD = {"set_size": 0, "summary": None}
# other than the defaults, of every type
OTHERS = {
    "pay_per_set": Decimal("7.5"),
    "withdrawable_until": date(2027, 1, 31),
    "item_order": "blocked",
    "lease_minutes": 30,
    "contact_email": "sam@example.org",
    "is_aided": True,
    "max_sets": None,
}


def read(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def save_bulk(study: Study, name: str) -> None:
    Study.objects.bulk_update([study], [COLUMNS[name]])


def create_bulk(study: Study, name: str) -> None:
    Study.objects.bulk_create([Study(title="Another", **{name: getattr(study, name)})])


WAYS = {
    "save": lambda study, name: study.save(),
    "save of a field": lambda study, name: study.save(update_fields=[name]),
    "save of a column": lambda study, name: study.save(update_fields=[COLUMNS[name]]),
    "create": lambda study, name: Study.objects.create(title="Another", **{name: BAD[name]}),
    "update": lambda study, name: Study.objects.update(**{name: BAD[name]}),
    "update of a column": lambda study, name: Study.objects.update(
        **{COLUMNS[name]: {name: BAD[name]}}
    ),
    "bulk update": save_bulk,
    "bulk create": create_bulk,
    "service": lambda study, name: change_settings(
        study=study, values={name: BAD[name]}, by=make_user()
    ),
    "copy": lambda study, name: copy_study(
        study=study, title="Another", with_items=False, by=make_user()
    ),
}


@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_is_not_allowed_is_saved_in_no_way(way, name):
    study = make_study(items=0)
    before = getattr(study, name)
    setattr(study, name, BAD[name])

    with pytest.raises(ValidationError) as refused, transaction.atomic():
        WAYS[way](study, name)

    assert refused.value.error_dict.keys() == {name}
    assert [getattr(saved, name) for saved in Study.objects.all()] == [before]


@pytest.mark.django_db
def test_a_setting_that_is_not_declared_is_not_saved():
    study = make_study(items=0)
    study.settings = {**study.settings, "colour": "red"}

    with pytest.raises(ValidationError) as refused:
        study.save()

    assert refused.value.error_dict.keys() == {"colour"}


@pytest.mark.parametrize("name", [name for name in FIELDS if FIELDS[name].empty_strings_allowed])
def test_a_text_is_no_longer_than_declared(name):
    longest = SETTINGS[name].longest

    if longest is not None and not SETTINGS[name].choices:
        with pytest.raises(ValidationError):
            FIELDS[name].clean("x" * (longest + 1), None)


@pytest.mark.parametrize(("name", "setting"), SETTINGS.items())
def test_bounds_of_a_setting_hold_in_storage(name, setting):
    for value in (
        *(() if setting.least is None else (setting.least - 1,)),
        *(() if setting.most is None else (setting.most + 1,)),
    ):
        if name in FIELDS:
            with pytest.raises(ValidationError):
                FIELDS[name].clean(value, None)


@pytest.mark.both_databases
@pytest.mark.django_db
def test_values_come_back_as_they_were_saved():
    study = make_study(items=0, **OTHERS)

    saved = read(study)

    assert {name: getattr(saved, name) for name in OTHERS} == OTHERS
    # as the column of an amount would give it
    assert str(saved.pay_per_set) == str(study.pay_per_set) == "7.50"


def test_a_study_that_is_not_saved_has_the_defaults():
    assert {name: getattr(Study(), name) for name in FIELDS} == {
        name: setting.default for name, setting in SETTINGS.items() if setting.kind
    }


def test_the_model_names_every_setting_in_the_column_that_pages_read_or_leave():
    columns = {field.name for field in Study._meta.concrete_fields}

    assert FIELDS.keys() == Study.__annotations__.keys()
    assert SETTINGS.keys() - FIELDS.keys() <= columns
    assert not FIELDS.keys() & columns
    # those that pages with an item look at
    assert {name for name, field in FIELDS.items() if isinstance(field, BooleanField)} <= {
        name for name, column in COLUMNS.items() if column == "settings"
    }


@pytest.mark.django_db
def test_two_who_read_a_study_and_save_two_settings_keep_both():
    mine = read(make_study(items=0))
    yours = read(mine)

    mine.set_size = 7
    mine.save(update_fields=["set_size"])
    yours.lease_minutes = 30
    yours.title = "Yours"
    yours.save()

    saved = read(mine)
    assert (saved.set_size, saved.lease_minutes, saved.title) == (7, 30, "Yours")
    assert (yours.set_size, yours.lease_minutes) == (7, 30)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_service", [True, False])
def test_many_who_change_a_setting_each_at_once_lose_none(is_service):
    study, by = make_study(items=0), make_user()
    values = {"set_size": 7, "lease_minutes": 30, "pass_mark": 60, "currency": "EUR"}

    def change(name: str) -> None:
        if is_service:
            change_settings(study=study, values={name: values[name]}, by=by)
        else:
            stale = copy(study)
            setattr(stale, name, values[name])
            stale.save(update_fields=[name])

    at_once([lambda name=name: change(name) for name in values])

    saved = read(study)
    assert {name: getattr(saved, name) for name in values} == values


@pytest.mark.django_db
def test_a_study_changed_in_memory_leaves_the_one_it_was_copied_from():
    study = make_study(items=0, minutes_per_set=12)
    estimate = copy(study)

    estimate.minutes_per_set = None

    assert (study.minutes_per_set, estimate.minutes_per_set) == (12, None)


@pytest.mark.django_db
def test_update_of_settings_and_columns_changes_the_rows_chosen():
    first, second = make_study(items=0, title="First"), make_study(items=0, title="Second")
    moment = now()

    count = Study.objects.filter(title="First").update(set_size=7, closes_at=moment)

    assert count == 1
    assert (read(first).set_size, read(first).closes_at) == (7, moment)
    assert (read(second).set_size, read(second).closes_at) == (second.set_size, None)

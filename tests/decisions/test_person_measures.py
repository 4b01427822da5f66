"""What people did, measured for rules and flags."""

import pytest
from django.db import connection

from evalsite.decisions.person_measures import measure_people
from evalsite.handout.models import Rating
from tests.site.test_staff_pages import answer
from tests.support.planned import add_people, make_planned_study

pytestmark = pytest.mark.django_db


def test_an_answer_that_comes_in_meanwhile_is_left_out_of_the_measures():
    study = make_planned_study(items=3)
    [me] = add_people(study, 1, items=3)
    late = []

    def send_one_more(execute, sql, *rest):
        if not late and 'FROM "annotation_rating"' in sql:
            item = study.items.main()[0]
            late.append(answer(study, item, order_shown=[0, 1, 2]))
            output = item.outputs.all()[0]
            Rating.objects.create(
                study=study, annotation=late[0], criterion="informativeness", output=output, value=1
            )
        return execute(sql, *rest)

    with connection.execute_wrapper(send_one_more):
        people = measure_people(study)

    assert late
    assert set(people) == {me.pk}
    assert people[me.pk].uses[0][0] == 9


def test_a_person_and_an_item_that_come_in_between_any_two_looks_are_left_out():
    study = make_planned_study(items=9)
    [me] = add_people(study, 1, items=1)
    items = iter(study.items.main().order_by("-pk")[:7])
    place = selects = 0

    def send_one_more(execute, sql, *rest):
        nonlocal selects
        selects += sql.startswith("SELECT")
        if selects == place:
            selects += 1
            answer(study, next(items), order_shown=[0, 1, 2])
        return execute(sql, *rest)

    known = {me.pk}
    for number in range(1, 8):
        place, selects = number, 0
        with connection.execute_wrapper(send_one_more):
            people = measure_people(study, with_texts=True)
        assert known <= set(people)
        known = {*measure_people(study)}

    assert len(known) == 8

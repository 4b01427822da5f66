"""Several counts in one query are those that a query each gives."""

import pytest

from evalsite.lib.counts import count_together
from evalsite.studies.models import Item, Output, Study
from tests.support.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_counts_of_several_tables_come_in_one_query(django_assert_num_queries):
    study = make_study(items=3)

    with django_assert_num_queries(1):
        counts = count_together(
            main=Item.objects.main().filter(study=study),
            systems=(Output.objects.filter(study=study), "system"),
            outputs=Output.objects.filter(study=study),
            others=Study.objects.exclude(pk=study.pk),
            nothing=Item.objects.none(),
        )

    practice = Output.objects.filter(study=study).exclude(item__kind="main").count()
    assert counts == {
        "main": 3, "systems": 3, "outputs": 9 + practice, "others": 0, "nothing": 0,
    }  # fmt: skip

"""All files of a bundle are of one moment, whatever people do while it is packed."""

from collections.abc import Iterator
from typing import Any

import pytest

from evalsite.exports.bundle.serialize import Serializer
from tests.exports.test_export_cut import answer_two, change_all, meanwhile
from tests.support.bundles import examine, pack
from tests.support.factories import launch, make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.mark.slow
def test_what_people_do_while_a_study_is_packed_is_in_none_of_its_files(monkeypatch):
    study = launch(make_study(items=3, k=2, set_size=3))
    me, item_set = answer_two(study)
    answer_two(study)
    before = pack(study)
    read_people = Serializer.read_people

    def read_and_wait(gathering: Serializer) -> Iterator[dict[str, Any]]:
        yield from read_people(gathering)
        # participants are read; annotations and the exported files are not
        meanwhile(lambda: change_all(me, item_set))

    with monkeypatch.context() as slow:
        slow.setattr(Serializer, "read_people", read_and_wait)
        bundle = pack(study)

    assert bundle == before
    assert examine(pack(study)).about["counts"]["annotations"] == {"counted": 3, "withdrawn": 2}

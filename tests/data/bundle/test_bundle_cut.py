"""All files of a bundle are of one moment, whatever people do while it is packed."""

from collections.abc import Iterator
from typing import Any

import pytest

from evalsite.data.bundle.codec import Writer
from evalsite.data.bundle.tables import Rows
from evalsite.people.models import Participant
from tests.data.files.test_export_cut import answer_two, change_all, meanwhile
from tests.support.bundles import examine, pack
from tests.support.factories import launch, make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.mark.slow
def test_what_people_do_while_a_study_is_packed_is_in_none_of_its_files(monkeypatch):
    study = launch(make_study(items=3, k=2, set_size=3))
    me, item_set = answer_two(study)
    answer_two(study)
    before = pack(study)
    write = Writer.write

    def write_and_wait(writer: Writer, rows: Rows) -> Iterator[dict[str, Any]]:
        yield from write(writer, rows)
        # participants are read; annotations and the exported files are not
        if rows.model is Participant:
            meanwhile(lambda: change_all(me, item_set))

    with monkeypatch.context() as slow:
        slow.setattr(Writer, "write", write_and_wait)
        bundle = pack(study)

    assert bundle == before
    assert examine(pack(study)).about["counts"]["annotations"] == {"counted": 3, "withdrawn": 2}

"""What is exported is what the database holds: every cell of every file, for hostile texts."""

import io
from datetime import timedelta

import pandas
import pytest

from evalsite.data.files import rows
from evalsite.data.files.columns import list_files
from evalsite.data.files.selection import Selection
from evalsite.data.files.services import count_rows
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Revision
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Study
from tests.support.exports import export
from tests.support.factories import make_user
from tests.support.hostile import TEXTS, Walker, make_hostile
from tests.support.protocols import each_protocol
from tests.support.slow_rows import expect

pytestmark = pytest.mark.django_db


@pytest.fixture(params=each_protocol("pairwise", "rrgen"))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


def make_answered(config: Instrument) -> Study:
    """A study full of hostile texts that three people have answered, one of them as a pilot."""
    study = make_hostile(config, is_short=True, is_practice_on=False, k=2)
    for is_pilot in (True, False, False):
        Walker(study).take_part(is_pilot=is_pilot)
    given = Annotation.objects.filter(study=study).order_by("id")
    for number, (one, text) in enumerate(zip(given, TEXTS.values(), strict=False)):
        moment = one.submitted_at + timedelta(microseconds=number % 3)
        given.filter(pk=one.pk).update(note=text, device=text[:20], submitted_at=moment)
    first, last = given.first(), given.last()
    assert first
    assert last
    for _ in range(2):
        Revision.objects.create(
            study=study, annotation=last, state={}, submitted_at=last.submitted_at
        )
    given.filter(pk=first.pk).update(
        origin="imported", time_given='5/6/2017 "00:14", late', started_at=first.submitted_at
    )
    by = {"study": study, "decided_by": make_user()}
    Exclusion.objects.create(participant=last.participant, reason='=1, "two"\r\n', **by)
    Exclusion.objects.create(annotation=last, reason="late", **by)
    return study


def read_as_documented(data: bytes) -> list[dict[str, str]]:
    table = pandas.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
    return [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.slow
def test_every_file_read_as_documented_equals_the_database(
    config: Instrument, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "PAGE", 3)
    study = make_answered(config)

    for file in list_files(config):
        found = read_as_documented(export(study, file, with_pilot=True))
        wanted = expect(study, file)
        columns = [column.name for column in list_files(config)[file]]
        assert found == [{name: row[name] for name in columns} for row in wanted], file
        assert found or file in {"highlights", "metrics"}
        assert count_rows(study, Selection(with_pilot=True))[file] == len(found)

"""What a study shows that was never launched is in its bundle, though no version is frozen."""

import io
from functools import cache
from typing import Any

import pytest
from django.db import transaction

from evalsite.data.bundle.format import dump
from evalsite.data.bundle.restore import restore_bundle
from evalsite.studies.models import Study
from evalsite.studies.versions import build_content
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import examine, pack, read_files
from tests.support.factories import launch, make_study, make_user
from tests.support.imported import load, rows_for
from tests.support.protocols import each_protocol

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("checks_here"),
]
CONTENT = "versions/draft/content.json"


@cache
def pack_draft() -> bytes:
    """The bundle of a small draft, which stands nowhere any more."""
    with transaction.atomic():
        bundle = pack(make_study(items=2))
        transaction.set_rollback(True)
    return bundle


def make_rated_draft(protocol: str = "rrgen") -> Study:
    """A study that was never launched, with ratings collected elsewhere."""
    study = make_study(items=0, protocol=protocol, k=2)
    import_rows(study, make_rows(study.config, items=3))
    load(study, rows_for(study, ["w1", "w2"]))
    return study


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("has_data", [True, False])
def test_study_without_a_version_comes_with_what_would_be_shown(has_data):
    study = make_rated_draft()

    bundle = pack(study, has_data=has_data)

    files = read_files(bundle)
    assert files[CONTENT].decode() == dump(build_content(study))
    assert study.config.instructions.strip() in files["versions/draft/instructions.md"].decode()
    labels = [one["label"] for one in study.config.to_data()["criteria"]]
    assert all(label in files["versions/draft/scales.md"].decode() for label in labels)
    assert "`versions/draft/`" in files["README.md"].decode()
    assert examine(bundle).faults == []


@pytest.mark.parametrize("protocol", each_protocol("pairwise", "rrgen"))
def test_draft_of_every_protocol_is_sound(protocol):
    bundle = pack(make_study(items=2, protocol=protocol, pay_per_set="1.50"), has_data=False)

    assert examine(bundle).faults == []


def test_study_with_a_version_has_no_draft_in_its_bundle():
    names = read_files(pack(launch(make_study(items=2))))

    assert not [name for name in names if name.startswith("versions/draft/")]


@pytest.mark.slow
def test_draft_comes_back_without_a_version_and_gives_the_same_bytes():
    study = make_rated_draft()
    bundle = pack(study)
    assert pack(study) == bundle
    Study.objects.filter(pk=study.pk).update(title="Another")
    assert pack(study) != bundle

    given: dict[str, Any] = {"owner": make_user("new-owner"), "by": "a test", "is_copy": True}
    copy = restore_bundle(file=io.BytesIO(bundle), **given).study

    assert (copy.version, copy.versions.count()) == (None, 0)
    shown = [read_files(one)[CONTENT] for one in (bundle, pack(copy))]
    assert shown[0] == shown[1]

"""A file is parsed once: what its check found waits beside it, until something else changes."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.data import importing as core
from evalsite.data import uploads
from evalsite.data.items.importer import ITEMS, import_batch, undo_batch
from evalsite.data.models import Upload
from evalsite.data.tables.reader import FileMapping
from evalsite.data.uploads import (
    check_upload,
    find_basis,
    find_kept_check,
    import_upload,
    keep_check,
    keep_upload,
)
from evalsite.studies.models import Batch, Change, Study
from tests.data.items.test_upload_pages import address, press_import
from tests.support.checking import check_file
from tests.support.factories import make_study
from tests.support.uploads import GOOD

pytestmark = pytest.mark.django_db
BATCHES = Path(__file__).resolve().parents[3] / "fixtures" / "batches"
OTHER = GOOD.replace("m1,", "other,").replace("name[A]", "name[B]")


@pytest.fixture
def study() -> Study:
    return make_study(items=0)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed, each time."""
    names: list[str] = []
    open_table = core.open_table

    def note(source: Any, **options: Any) -> Any:
        names.append(options["file_name"])
        return open_table(source, **options)

    monkeypatch.setattr(core, "open_table", note)
    return names


def upload(study: Study, content: str = GOOD) -> Upload:
    return keep_upload(study=study, file_name="a.csv", chunks=[content.encode()], by=None)


def load(study: Study, content: str = OTHER) -> Batch:
    checked = check_file(io.BytesIO(content.encode()), study=study)
    return import_batch(study=study, checked=checked, file_name="o.csv", sha256=content, by=None)


def test_file_is_parsed_once_from_upload_to_import(
    staff_client: Client, study: Study, parsed: list[str]
) -> None:
    file = SimpleUploadedFile("a.csv", GOOD.encode())
    staff_client.post(address("upload-new", study), {"file": file, "pasted": ""}, follow=True)
    waiting = Upload.objects.get()
    staff_client.get(address("upload-preview", study, waiting.pk))
    is_kept = waiting.checked_path.exists()

    press_import(staff_client, study, waiting)

    assert is_kept
    assert parsed == ["a.csv"]
    assert study.items.filter(batch__isnull=False).count() == 1
    assert [*waiting.path.parent.glob(f"{waiting.pk}*")] == []


def test_file_is_parsed_again_for_another_mapping(study: Study, parsed: list[str]) -> None:
    waiting = upload(study)
    check_upload(waiting)
    waiting.mapping = FileMapping(
        fields={"item": "item", "mr": "mr", "system": "system", "output": "output"}
    )
    assert find_kept_check(waiting, ITEMS) is None

    check_upload(waiting)
    import_upload(waiting, by=None)

    assert parsed == ["a.csv"] * 2


def change_nothing(study: Study) -> None:
    pass


def import_another(study: Study) -> None:
    load(study)


def undo_earlier(study: Study) -> None:
    undo_batch(batch=study.batches.get(), by=None)


def rename_system(study: Study) -> None:
    Change.objects.create(
        study=study, kind="renamed", system=study.systems.first(), before="a", after="b"
    )


CHANGES: dict[str, tuple[Callable[[Study], None], int]] = {
    "nothing": (change_nothing, 1),
    "another file is imported": (import_another, 2),
    "an earlier file is undone": (undo_earlier, 2),
    "a system is renamed": (rename_system, 2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_file_is_parsed_again_for_a_study_that_has_changed(
    study: Study, parsed: list[str], change: str
) -> None:
    act, times = CHANGES[change]
    load(study, OTHER.replace("other,", "first,").replace("name[B]", "name[C]"))
    waiting = upload(study)
    check_upload(waiting)
    act(study)

    import_upload(Upload.objects.get(pk=waiting.pk), by=None)

    assert parsed.count("a.csv") == times


def test_check_depends_on_the_instrument_and_on_settings(study: Study, monkeypatch: Any) -> None:
    waiting = upload(study)
    before = find_basis(waiting)

    Study.objects.filter(pk=study.pk).update(groups="together", item_order="uploaded")
    with_groups = find_basis(waiting)
    config = study.config.model_copy(update={"title": "Another"})
    monkeypatch.setattr(Study, "config", config)

    assert len({before, with_groups, find_basis(waiting)}) == 3


@pytest.mark.parametrize("path", sorted(BATCHES.glob("*.*")), ids=lambda path: path.name)
def test_kept_values_are_those_of_the_check(path: Path, study: Study) -> None:
    waiting = upload(study)
    checked = check_file(io.BytesIO(path.read_bytes()), study=study)
    if not checked.is_importable:
        pytest.skip("It is of another instrument.")

    keep_check(waiting, ITEMS, checked, find_basis(waiting))
    kept = find_kept_check(waiting, ITEMS)

    assert [*kept.items] == [*checked.items]
    assert [item.list_values() for item in kept.items] == [
        item.list_values() for item in checked.items
    ]
    for name in ("is_importable", "rows_taken", "systems", "outputs", "import_notes"):
        assert getattr(kept, name) == getattr(checked, name)
    assert len(kept.items) == len(checked.items)


def test_check_that_breaks_off_keeps_nothing(study: Study, monkeypatch: Any) -> None:
    waiting = upload(study)
    monkeypatch.setattr(ITEMS, "write_rows", lambda checked: iter([1 / 0]))

    with pytest.raises(ZeroDivisionError):
        check_upload(waiting)

    assert find_kept_check(waiting, ITEMS) is None


def test_faults_leave_no_values_of_an_earlier_check(study: Study) -> None:
    waiting = upload(study)
    check_upload(waiting)
    is_kept = waiting.checked_path.exists()
    waiting.mapping = FileMapping(fields={"item": "", "mr": "", "system": "", "output": ""})

    check_upload(waiting)

    assert is_kept
    assert not waiting.checked_path.exists()


def test_values_of_another_version_of_the_site_are_not_used(study: Study, monkeypatch: Any) -> None:
    waiting = upload(study)
    check_upload(waiting)
    monkeypatch.setattr(uploads, "__version__", "another")

    assert find_kept_check(waiting, ITEMS) is None


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "no head": lambda data: data[:65],
    "head cut off": lambda data: data[:100],
    "last item missing": lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
    "last item cut off": lambda data: data[:-9],
    "other output": lambda data: data.replace(b"[B]", b"[Z]"),
    "other number": lambda data: data.replace(b'"items": 2', b'"items": 1'),
    "not text": lambda data: b"\xff\n{\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_values_that_were_damaged_on_the_disk_are_not_used(
    study: Study, parsed: list[str], damage: str
) -> None:
    content = f"{GOOD}{OTHER.partition(chr(10))[2]}"
    waiting = upload(study, content)
    rows = check_upload(waiting).rows_taken
    whole = waiting.checked_path.read_bytes()
    damaged = DAMAGES[damage](whole)
    waiting.checked_path.write_bytes(damaged)

    batch = import_upload(Upload.objects.get(pk=waiting.pk), by=None)

    assert damaged != whole
    assert parsed == ["a.csv"] * 2
    assert (batch.rows, batch.items.count()) == (rows, 2)
    assert not any(
        "[Z]" in output.text for item in batch.items.all() for output in item.outputs.all()
    )


def test_checked_values_of_another_upload_are_not_used(study: Study, parsed: list[str]) -> None:
    waiting, other = upload(study), upload(study, OTHER)
    check_upload(waiting)
    check_upload(other)
    waiting.checked_path.write_bytes(other.checked_path.read_bytes())

    assert find_kept_check(waiting, ITEMS) is None
    assert find_kept_check(other, ITEMS) is not None

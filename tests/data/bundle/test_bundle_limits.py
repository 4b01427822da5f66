"""How much a bundle from anywhere may cost this site: bytes, time and room."""

import io
import signal
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.uploaded import keep_bundle
from evalsite.data.bundle.verify import verify_bundle
from tests.support.bundles import move_data, pack, read_files, sum_up, zip_files
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings, tmp_path: Path) -> None:
    move_data(settings, tmp_path)


def make_bomb(bundle: bytes) -> bytes:
    """A bundle with lines that unpack to 140 times their size, none of them over 200 times."""
    lines = [
        f'{{"note": "{sha256(str(line).encode()).hexdigest()}{"a" * 9_900}"}}\n'
        for line in range(4_900)
    ]
    files = read_files(bundle)
    files["records/annotations.jsonl"] += "".join(lines).encode()
    return zip_files(sum_up(files))


def test_bad_99_bundle_that_unpacks_to_49_mb_is_refused_and_leaves_less_than_1_mb(tmp_path):
    bomb = make_bomb(pack(launch(make_study(items=2))))
    with zipfile.ZipFile(io.BytesIO(bomb)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())

    before = measure(tmp_path)
    file = SimpleUploadedFile("study.zip", bomb)
    checked = run_job(keep_bundle(file, by=make_user()))

    assert len(bomb) < 400_000 < 48_000_000 < unpacked
    assert verify_bundle(io.BytesIO(bomb)).codes == ["archive_bomb"]
    assert len(checked.result["faults"]) == 1
    assert measure(tmp_path) - before < 1024**2


def measure(folder: Path) -> int:
    """How many bytes the files in a folder have."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_check_ends_itself_when_it_takes_too_much():
    """Not with a real bundle: one that takes 300 s would take the suite as long."""
    code = (
        "import resource as r\n"
        "from evalsite.data.bundle.scratch import limit_resources\n"
        "limit_resources()\n"
        "print(r.getrlimit(r.RLIMIT_CPU)[0], r.getrlimit(r.RLIMIT_FSIZE)[0])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert shown.stdout.split() == ["300", str(2 * 1024**3)]


def test_check_that_the_system_ended_says_that_the_bundle_is_too_large(monkeypatch):
    bundle = pack(launch(make_study(items=2)))
    ended = subprocess.CompletedProcess([], -signal.SIGXCPU, stderr=b"")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: ended)

    report = verify_bundle(io.BytesIO(bundle))

    assert report.codes == ["check_failed"]
    assert "too large" in report.faults[0].message

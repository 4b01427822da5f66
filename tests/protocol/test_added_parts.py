"""A protocol, a scale and kinds of questions are added, all of them in one process.

Most of the time of each would go into its start. `make torture` runs each alone, and more of it.
"""

from pathlib import Path

import pytest
from django.db import connection

from tests.protocol import test_fifth_scale as scale
from tests.protocol import test_kinds as kinds
from tests.protocol import test_sixth_protocol as protocol
from tests.support.kinds import install, read_kinds
from tests.support.plugins import run_tests

pytestmark = pytest.mark.slow

SETTINGS = ("fifth_settings", "sixth_settings", "kinds_settings")
SUBJECTS = (*scale.CONTRACT, *scale.BAD_INPUT, *kinds.SUBJECTS)
# files and imports are the same for any protocol
FILES = "instruments or round_trip or ratings_import or export_exact"
ONLY = f"""
    (thermometers and not ({scale.LONG}))
    or (sixth and not ({protocol.LONG} or {FILES}))
    or {protocol.OTHERS}
    or ({kinds.ONLY} and not ({kinds.LONG} or bad_answers or bad_batches))
"""


@pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite")
def test_what_is_added_in_a_folder_passes_the_contract_unless_it_is_at_fault(tmp_path: Path):
    scale.write_scale(tmp_path)
    protocol.write_protocols(tmp_path)
    install(tmp_path, "kinds_settings", read_kinds())
    # each of them adds its lines to those of the one before
    for name, base in zip(SETTINGS[1:], SETTINGS, strict=False):
        path = tmp_path / f"{name}.py"
        lines = path.read_text(encoding="utf-8").replace("tests.settings", base)
        path.write_text(lines, encoding="utf-8")

    done = run_tests(tmp_path, SETTINGS[-1], " ".join(ONLY.split()), sorted({*SUBJECTS}))

    protocol.check_that_faults_fail(done, passed=150)

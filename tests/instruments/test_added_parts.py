"""A protocol, a scale and kinds of questions are added, all of them in one process.

Most of the time of each would go into its start. `make torture` runs each alone, and all of it.
"""

from pathlib import Path

import pytest
from django.db import connection

from tests.instruments import test_fifth_scale as scale
from tests.instruments import test_sixth_protocol as protocol
from tests.support.kinds import install, read_kinds
from tests.support.plugins import run_tests

pytestmark = pytest.mark.slow

SETTINGS = ("fifth_settings", "sixth_settings", "kinds_settings")
SUBJECTS = ("contract", "contract_answers", "bundle_round_trip")
# Of the contract what depends most on a scale, a page or a kind of question.
MOST = "shows_every_output or says_what_is_missing or crowd_rates or comes_back_to_be_reviewed"
ONLY = f"""
    (thermometers and ({MOST} or report_is_computed or same_study_on_a_fresh))
    or (sixth and ({MOST}))
    or (faulty and shows_every_output)
    or (summaries and ({MOST}))
    or (kinds_of and ({MOST}))
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

    protocol.check_that_faults_fail(done, passed=25)

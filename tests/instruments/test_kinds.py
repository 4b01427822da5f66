"""Every kind of question, as data, passes the whole contract."""

import pytest
from django.db import connection

from tests.support.kinds import install, read_kinds
from tests.support.plugins import count_results, run_tests

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="its own process runs on SQLite"),
]

SUBJECTS = ("contract", "contract_answers", "instruments", "bundle_round_trip", "ratings_import",
            "export_exact", "hostile_text", "kinds_browser")  # fmt: skip
# values of a wide file are told by each scale in its own way
# Markdown isn’t shown literally: tests of rich text have a hostile corpus of their own
ONLY = "kinds_of and not come_out_as and not shown_literally"
# what the suite leaves out: with all instruments what one shows, and with their data what it does
# with those of the five protocols
LONG = (
    "no_value_in_any_place or draft_from_a_bundle"
    " or ((bundle_ or same_batch or report_is_computed or every_file or accessible)"
    " and not kinds_of_one)"
)


@pytest.mark.torture
def test_instruments_with_every_kind_of_question_pass_the_contract(tmp_path):
    """In one process, as most of its time would go into its start."""
    install(tmp_path, "kinds_settings", read_kinds())

    counts = count_results(run_tests(tmp_path, "kinds_settings", ONLY, SUBJECTS))

    assert counts["passed"] >= 75
    assert set(counts) == {"passed", "deselected"}

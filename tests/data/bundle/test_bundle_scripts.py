"""Whether the scripts of a bundle are those of the software that it names."""

import pytest
from django.core.management import call_command

from evalsite.data.bundle import compare
from tests.support.bundles import bundle_of, change, examine, pack
from tests.support.factories import make_study

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("checks_here"),
]
SCRIPTS = ["analysis.R", "analysis.py"]


def test_scripts_of_this_software_are_said_to_be_so():
    report = examine(bundle_of("magnitude"))

    assert report.remarks == []
    assert report.checks[-1].startswith("analysis.R and analysis.py: as in Evalsite ")


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_that_was_changed_is_noted_and_no_fault(name, tmp_path, capsys):
    bundle = change(bundle_of("magnitude"), name, lambda text: text + "# more\n")
    file = tmp_path / "study.zip"
    file.write_bytes(bundle)

    report = examine(bundle)
    call_command("verify_bundle", str(file))

    assert (report.faults, len(report.remarks)) == ([], 1)
    assert report.remarks[0].startswith(f"{name} isn't the script of Evalsite ")
    told = capsys.readouterr().out
    assert f"Note: {name} isn't the script" in told
    assert "nothing else is wrong" in told


def test_scripts_of_another_version_are_not_judged(monkeypatch):
    bundle = change(bundle_of("magnitude"), "analysis.R", lambda text: text + "# more\n")

    with monkeypatch.context() as later:
        later.setattr(compare.evalsite, "__version__", "99.0")
        report = examine(bundle)

    assert (report.faults, report.remarks) == ([], [])
    assert "analysis" not in report.checks[-1]


def test_bundle_without_scripts_says_nothing_of_them():
    report = examine(pack(make_study(items=2), has_data=False))

    assert (report.faults, report.remarks) == ([], [])
    assert "analysis.py" not in " ".join(report.checks)

"""Two batches of one study are compared by files, as docs/results.md says."""

import json
import re
from pathlib import Path

import pytest

from evalsite.analysis.__main__ import main
from evalsite.handout.models import Rating
from evalsite.studies.models import Study
from tests.support.exports import annotate, export, main_items
from tests.support.factories import add_batch, make_study

pytestmark = pytest.mark.django_db

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs/results.md").read_text(encoding="utf-8")
(DIVIDE,) = re.findall(r"^```python\n(import pandas\n.*?)^```$", DOCUMENT, flags=re.M | re.S)


@pytest.fixture
def study() -> Study:
    """Three people have rated two batches: in the second all systems get 40 more."""
    study = make_study(items=5)
    add_batch(study, items=4, first=6)
    for person in range(3):
        participant = study.participants.create()  # type: ignore[attr-defined]
        for number, item in enumerate(main_items(study)):
            answer = annotate(study, participant, item, minute=number)
            for rating in answer.ratings.select_related("output"):  # type: ignore[attr-defined]
                value = 100 + 20 * rating.output.position + (person + number) % 3
                Rating.objects.filter(pk=rating.pk).update(value=value + 40 * (number >= 5))
    return study


@pytest.mark.torture
@pytest.mark.slow
def test_the_documented_lines_compare_two_batches(
    study: Study,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_bytes(export(study))

    exec(DIVIDE, {})  # noqa: S102 (it is what the document tells to run)
    assert main(["compare", "batch-1.csv", "batch-2.csv", "--json"]) == 0

    assert "python -m evalsite.analysis compare batch-1.csv batch-2.csv" in DOCUMENT
    found = json.loads(capsys.readouterr().out)
    (criterion,) = found["criteria"]
    assert (found["first"]["ratings"], found["second"]["ratings"]) == (5 * 9, 4 * 9)
    assert {one["reason"] for one in criterion["agreement"]} == {"nothing_in_common"}
    # magnitudes: the second over the first, 140 to 100 and so on
    moved = sorted((one["moved"]["value"] for one in criterion["systems"]), reverse=True)
    assert moved == pytest.approx([141 / 101, 161 / 121, 181 / 141], abs=0.005)
    assert not any("cannot be drawn" in str(one["moved"]) for one in criterion["systems"])

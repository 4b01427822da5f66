"""report, gate and verify: what they decide, with which exit code, of files and of bundles."""

import csv
import json
import random
import re
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from evalsite.analysis.__main__ import main as analyse
from evalsite.command_line import gate
from evalsite.command_line.main import run_command
from evalsite.command_line.output import Refused
from evalsite.core.jobs.services import run_job
from evalsite.data.bundle.format import Contents
from evalsite.data.bundle.write import write_bundle
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.plan_commitment import list_lines
from evalsite.fieldwork.launch import launch_study
from evalsite.studies.models import Item, Study
from tests.support.factories import answer_item, make_annotator, make_study, make_user

MARGIN = {"criterion": "informativeness", "system": "neural", "relation": "not_worse",
          "other": "baseline", "margin": 1.5}  # fmt: skip


def write_ratings(path: Path, shift: float, *, raters: int = 6, inputs: int = 12) -> Path:
    """Points from 1 to 7 of two systems, B higher than A by `shift`."""
    chance = random.Random(1)
    rows = [["participant", "item", "system", "criterion", "value"]]
    for rater in range(raters):
        for item in range(inputs):
            for system, more in (("A", 0.0), ("B", shift)):
                value = min(7, max(1, round(4 + more + chance.gauss(0, 1))))
                rows.append([f"p{rater}", f"i{item}", system, "fit", str(value)])
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def run_json(capsys: Any, *words: object) -> tuple[int, dict[str, Any]]:
    code = run_command([*map(str, words), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == code
    return code, document


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    return write_ratings(tmp_path / "ratings.csv", 0)


# --- report -------------------------------------------------------------------------------


def test_report_is_that_of_the_analysis(ratings: Path, capsys):
    analyse(["report", str(ratings)])
    text = capsys.readouterr().out

    assert run_command(["report", str(ratings)]) == 0
    assert capsys.readouterr().out == text


def test_report_as_json_has_every_figure(ratings: Path, capsys):
    analyse(["report", str(ratings), "--json"])
    report = json.loads(capsys.readouterr().out)

    code, document = run_json(capsys, "report", ratings)

    assert (code, document["report"]) == (0, report)


def test_report_of_a_file_without_ratings_is_an_error_with_3(tmp_path: Path, capsys):
    (tmp_path / "odd.csv").write_text("name,colour\nx,red\n", encoding="utf-8")

    for path in (tmp_path / "odd.csv", tmp_path / "none.csv"):
        assert run_command(["report", str(path)]) == 3
        assert "Traceback" not in capsys.readouterr().err


# --- gate ---------------------------------------------------------------------------------


def test_worked_example_of_the_docs_is_what_its_command_prints(settings, capsys, monkeypatch):
    monkeypatch.chdir(settings.BASE_DIR)
    docs = Path("docs/judges.md").read_text(encoding="utf-8").partition("### A worked example")[2]
    [command] = re.findall(r"^evalsite (report .+)$", docs, re.M)

    code = run_command(command.split())
    printed = capsys.readouterr().out

    assert code == 0
    rows = re.findall(r"^\| (. minus .) \| (.+ \| .+) \|$", docs, re.M)
    assert len(rows) == 3
    for pair, cells in rows:
        assert f"| {pair} (rating) | {cells} |" in printed
    for words in re.findall(r"“([^”]+)”", docs.partition("## ")[0]):
        assert words in printed


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("item,system\ni1,A\n", "item, and value or preferred"),
        ("item,system,value\ni1,A,3\n", "add a column criterion. There are: depth, style."),
    ],
)
def test_labels_that_lack_something_are_refused(tmp_path: Path, capsys, labels, told):
    ratings, path = tmp_path / "ratings.csv", tmp_path / "labels.csv"
    ratings.write_text(
        "participant,item,system,criterion,value\n"
        + "".join(f"p{n},i1,A,{key},{n}\n" for n in (1, 2) for key in ("depth", "style")),
        encoding="utf-8",
    )
    path.write_text(labels, encoding="utf-8")
    assert run_command(["report", str(ratings), "--judge-labels", str(path)]) == 3
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("shift", "margin", "code", "outcome"),
    [(0, "1.5", 0, "pass"), (-3, "0.5", 1, "fail"), (0, "0.05", 2, "undecided")],
)
def test_gate_ends_with_the_code_of_its_outcome(
    tmp_path: Path, capsys, shift: float, margin: str, code: int, outcome: str
):
    path = write_ratings(tmp_path / "ratings.csv", shift)

    found, document = run_json(
        capsys, "gate", path, "--system", "B", "--against", "A", "--margin", margin
    )

    assert (found, document["outcome"]) == (code, outcome)
    assert document["sentence"].startswith(f"Gate, fit, {outcome}: ")
    assert len(document["sha256"]) == 64


def test_gate_reads_ratings_in_the_forms_that_report_reads(ratings: Path, capsys):
    with ratings.open(encoding="utf-8", newline="") as file:
        values = {
            (row["participant"], row["item"], row["system"]): row["value"]
            for row in csv.DictReader(file)
        }
    wide = ratings.with_name("wide.csv")
    pairs = dict.fromkeys(key[:2] for key in values)
    with wide.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([
            ("participant", "item", "fit_A", "fit_B"),
            *((*pair, values[*pair, "A"], values[*pair, "B"]) for pair in pairs),
        ])  # fmt: skip
    packed = ratings.with_name("ratings.zip")
    with ZipFile(packed, "w") as archive:
        archive.write(ratings, "ratings.csv")
    options = ["--system", "B", "--against", "A", "--margin", "1.5"]
    mapping = ["--map", "fit_A=value:fit:A", "--map", "fit_B=value:fit:B"]

    decisions = [
        run_json(capsys, "gate", path, *options, *more)[1]["gate"]["test"]
        for path, more in ((ratings, []), (packed, []), (wide, mapping))
    ]

    assert decisions[1:] == decisions[:1] * 2


def test_undecided_gate_ends_as_it_is_told(ratings: Path):
    words = ["gate", str(ratings), "--system", "B", "--against", "A", "--margin", "0.05"]

    codes = [run_command([*words, "--undecided", outcome]) for outcome in ("pass", "fail")]

    assert codes == [0, 1]


@pytest.mark.parametrize(
    "words",
    [
        ["--system", "C", "--against", "A", "--margin", "1"],
        ["--system", "A", "--against", "A", "--margin", "1"],
        ["--system", "B", "--against", "A", "--margin", "9"],
        ["--system", "B", "--against", "A", "--margin", "0"],
        ["--system", "B", "--against", "A", "--margin", "1", "--criterion", "tone"],
        ["--system", "B", "--against", "A", "--margin", "1", "--slices", "language"],
        ["--system", "B", "--against", "A", "--margin", "1", "--plan-hash", "0" * 12],
        ["--system", "B", "--against", "A"],
    ],
)
def test_gate_that_lacks_something_ends_with_3_and_says_what(ratings: Path, capsys, words):
    assert run_command(["gate", str(ratings), *words]) == 3

    written = capsys.readouterr()
    assert written.err.strip()
    assert "Traceback" not in written.err


def test_summary_is_added_to_a_file_as_markdown(ratings: Path, tmp_path: Path, capsys):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")

    _, document = run_json(
        capsys, "gate", ratings, "--system", "B", "--against", "A", "--margin", "1.5",
        "--summary", summary,
    )  # fmt: skip

    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n### Human evaluation: B against A\n")
    assert document["sentence"] in text
    assert document["sha256"] in text


@pytest.mark.parametrize("margin", ["0", "-1", "nan", "inf", "text", ""])
def test_margin_that_is_no_number_above_0_is_refused_first(capsys, margin):
    words = ["gate", "none.csv", "--system", "B", "--against", "A", f"--margin={margin}"]

    assert run_command(words) == 3

    assert "number above 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--system", "", "--against", "A", "--margin", "1"],
        ["--system", "B", "--against", "A", "--margin", "1", "--criterion", "tone"],
    ],
)
def test_gate_names_no_option_of_another_command(ratings: Path, capsys, words):
    run_command(["gate", str(ratings), *words])

    message = capsys.readouterr().err.splitlines()[-1]
    assert "--gate" not in message
    assert "--primary" not in message


@pytest.mark.parametrize("summary", ["/dev/full", "/proc/version", "/"])
def test_summary_that_cannot_be_written_is_a_sentence(ratings: Path, capsys, summary: str):
    words = ["gate", ratings, "--system", "B", "--against", "A", "--margin", "1.5"]

    code, document = run_json(capsys, *words, "--summary", summary)

    assert code == 3
    assert document["error"].startswith(f"{summary} can't be written: ")


def test_summary_shows_names_as_text(tmp_path: Path, capsys):
    name = "<b>B</b>_[x](y) # z"
    path = write_ratings(tmp_path / "ratings.csv", 0)
    rows = path.read_text(encoding="utf-8").replace(",B,", f",{name},")
    path.write_text(rows, encoding="utf-8")
    summary = tmp_path / "summary.md"
    words = ["--against", "A", "--margin", "1.5", "--summary", str(summary)]

    assert run_command(["gate", str(path), "--system", name, *words]) == 0

    shown = re.sub(r"\\[\[\]<>_]", "", summary.read_text(encoding="utf-8"))
    assert not re.search(r"[\[\]_]|<\S", shown)
    assert "b>B/b>x(y) # z against A" in shown


# --- bundles ------------------------------------------------------------------------------


@pytest.fixture
def study(db, checks_here) -> Study:
    """A study with a planned margin, answered by three people."""
    study = make_study(items=20)
    AnalysisPlan.objects.create(study=study, primary="informativeness", margins=[MARGIN])
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    for score in (90, 100, 110):
        person = make_annotator(study)
        for number, item in enumerate(Item.objects.main().filter(study=study)):
            answer_item(person, item, score=score + number)
    return study


def export(study: Study, path: Path) -> Path:
    with path.open("wb+") as file:
        write_bundle(study.pk, Contents(), file)
    return path


GATE = ["--system", "neural", "--against", "baseline", "--margin", "1.5"]


def test_gate_of_a_bundle_takes_the_criterion_of_the_plan(study: Study, tmp_path: Path, capsys):
    bundle = export(study, tmp_path / "bundle.zip")

    code, document = run_json(capsys, "gate", bundle, *GATE)

    assert (code, document["outcome"]) == (0, "pass")
    assert (tmp_path / "evalsite-gates.json").exists()


def test_gate_follows_the_committed_plan(study: Study, tmp_path: Path, capsys):
    bundle = export(study, tmp_path / "bundle.zip")
    digest = list_lines(study)[0].split()[3][:12]

    codes = {
        words: run_command(["gate", str(bundle), *GATE[:-1], *words])
        for words in (
            ("1.5", "--plan-hash", digest),
            ("1.4", "--plan-hash", digest),
            ("1.5", "--plan-hash", digest, "--level", "0.01"),
            ("1.5", "--plan-hash", "0" * 12),
        )
    }

    assert list(codes.values()) == [0, 3, 3, 3]
    assert "The committed plan has --margin 1.5, not 1.4." in capsys.readouterr().err


def test_gate_of_a_plan_with_margins_on_several_criteria_asks_for_one():
    margins = [MARGIN, {**MARGIN, "criterion": "quality", "margin": 1.2}]
    options = Namespace(
        plan_hash="0" * 12, criterion=None, gate="neural", against="baseline", margin=1.5,
        level=None, slices=None,
    )  # fmt: skip
    plan = {"frozen": {"versions": [{"number": 1, "content": {"margins": margins}}]}}
    versions = [{"number": 1, "sha256": "0" * 64}]

    with pytest.raises(Refused, match=r"informativeness, quality.*--criterion"):
        gate._follow_plan(options, plan, versions)


def test_only_the_plan_names_the_judge_of_a_gate():
    judge = {"judge": "judge-a", "prompt_version": "v2"}
    margins = [MARGIN | judge, MARGIN | {"criterion": "quality"} | judge]

    def find(**asked: str) -> dict[str, str]:
        options = Namespace(
            **({"gate": "neural", "against": "baseline", "criterion": None, "primary": ""} | asked)
        )
        gate._follow_newest(options, {"margins": margins})
        return options.planned_judge

    assert find(primary="informativeness") == find(criterion="quality") == judge
    # another pair, another question, or nobody knows which
    assert find(gate="template") == find(primary="other") == find() == {}


def test_gate_of_an_old_bundle_without_a_plan_decides_about_its_only_criterion(
    capsys, settings, tmp_path: Path
):
    # beside a file, a gate keeps how often it ran
    bundle = tmp_path / "bundle.zip"
    shutil.copyfile(settings.BASE_DIR / "fixtures" / "bundle" / "format-2.zip", bundle)
    words = ["--system", "neural", "--against", "template", "--margin", "1.5"]

    code, document = run_json(capsys, "gate", bundle, *words)

    assert code == document["gate"]["status"]
    assert document["gate"]["test"]["margin"] == 1.5


def test_gate_of_a_pair_that_was_not_planned_is_refused(study: Study, tmp_path: Path, capsys):
    bundle = export(study, tmp_path / "bundle.zip")
    digest = list_lines(study)[0].split()[3]

    code = run_command(
        ["gate", str(bundle), "--system", "baseline", "--against", "neural", "--margin", "1.5",
         "--plan-hash", digest]
    )  # fmt: skip

    assert code == 3
    assert "no margin for baseline against neural" in capsys.readouterr().err


def test_changed_bundle_isnt_decided_about(study: Study, tmp_path: Path, capsys):
    bundle = export(study, tmp_path / "bundle.zip")
    bundle.write_bytes(bundle.read_bytes().replace(b"PK", b"PX", 1))

    assert run_command(["gate", str(bundle), *GATE]) == 3
    assert run_command(["verify", str(bundle)]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_verify_says_what_was_checked(study: Study, tmp_path: Path, capsys):
    bundle = export(study, tmp_path / "bundle.zip")
    digest = list_lines(study)[0].split()[3]

    code, document = run_json(capsys, "verify", bundle, "--plan-hash", digest)
    other, refused = run_json(capsys, "verify", bundle, "--plan-hash", "0" * 12)

    assert (code, document["is_sound"], document["faults"]) == (0, True, [])
    assert document["plan"]["is_committed"] is True
    assert (other, refused["is_sound"], refused["plan"]["is_committed"]) == (1, True, False)


@pytest.mark.parametrize("words", [["none.zip"], ["none.zip", "--plan-hash", "abc"]])
def test_verify_of_what_isnt_there_ends_with_3(tmp_path: Path, capsys, words):
    assert run_command(["verify", str(tmp_path / words[0]), *words[1:]]) == 3
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("text", ["abc", "g" * 12, "0" * 65])
def test_what_can_be_no_hash_is_refused(tmp_path: Path, capsys, text: str):
    (tmp_path / "bundle.zip").write_bytes(b"")

    assert run_command(["verify", str(tmp_path / "bundle.zip"), "--plan-hash", text]) == 3
    assert "12 to 64 of the characters" in capsys.readouterr().err

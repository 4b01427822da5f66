"""The house of parts: who may import whom, proven by planting a breach of each contract."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]

# contract -> a file, and the line that must not stand in it
BREACHES = {
    "layers": ("evalsite/studies/versions.py", "import evalsite.results"),
    "site-names-no-protocol": ("evalsite/studies/versions.py", "import protocols.magnitude"),
    "inside-instruments": (
        "evalsite/instruments/scales/base.py",
        "import evalsite.instruments.schema",
    ),
    "inside-platforms": (
        "evalsite/people/platforms/contract.py",
        "import evalsite.people.platforms.table",
    ),
    "protocols-import-the-contract": ("protocols/magnitude/forms.py", "import evalsite.lib.seeds"),
    "protocols-stand-alone": ("protocols/sixth/__init__.py", "import protocols.magnitude"),
    "analysis-knows-numbers-only": ("evalsite/analysis/planted.py", "import django"),
    "analysis-is-for-results": ("evalsite/decisions/planted.py", "import evalsite.analysis"),
    "inside-analysis": ("evalsite/analysis/families/points.py", "import evalsite.analysis.report"),
    "methods-know-no-family": ("evalsite/analysis/compare.py", "import evalsite.analysis.families"),
    "inside-families": (
        "evalsite/analysis/families/numbers.py",
        "import evalsite.analysis.families.points",
    ),
    "inside-an-app": ("evalsite/studies/models.py", "import evalsite.studies.services"),
    "inside-core": ("evalsite/core/audit/models.py", "import evalsite.core.jobs.models"),
    "inside-people": ("evalsite/people/platforms/table.py", "import evalsite.people.models"),
    "inside-operations": (
        "evalsite/operations/archive.py",
        "import evalsite.operations.backup",
    ),
    "inside-data": ("evalsite/data/files/columns.py", "import evalsite.data.bundle"),
    "tables-know-files-only": ("evalsite/data/tables/reader.py", "import evalsite.studies.models"),
}

HEAVY = ("pandas", "numpy", "scipy", "matplotlib", "pyarrow")

# Runs in a process of its own, as a web worker does: load the site, then import every view.
WALK = f"""
import sys
import evalsite.wsgi
from django.urls import get_resolver

def walk(patterns):
    return sum(walk(one.url_patterns) if hasattr(one, "url_patterns") else bool(one.callback)
               for one in patterns)

assert walk(get_resolver().url_patterns) > 10
print(",".join(name for name in {HEAVY} if name in sys.modules))
"""


def run_linter(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(program), "--no-logo", "--no-cache", *arguments],
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied_tree(tmp_path):
    """The code alone, to be broken at will."""
    leave_out = shutil.ignore_patterns("__pycache__", "templates", "static", "*.csv")
    for name in ("evalsite", "protocols"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=leave_out)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_import_contract_holds():
    done = run_linter(ROOT)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_has_its_planted_breach():
    assert set(BREACHES) == {contract["id"] for contract in CONTRACTS}


@pytest.mark.torture
@pytest.mark.slow
def test_each_planted_breach_is_refused_by_its_contract(copied_tree):
    """All are planted at once: to read the code takes longer than to check a contract."""
    for file, line in BREACHES.values():
        (copied_tree / file).parent.mkdir(exist_ok=True)
        with (copied_tree / file).open("a", encoding="utf-8") as planted:
            planted.write(f"\n{line}\n")

    done = run_linter(copied_tree)

    assert done.returncode == 1, done.stdout + done.stderr
    told = done.stdout.partition("Broken contracts")[2]
    for contract, (file, line) in BREACHES.items():
        [name] = [one["name"] for one in CONTRACTS if one["id"] == contract]
        assert f"{name} BROKEN" in done.stdout
        # its own part of what is told names the very import
        part = re.split(r"\n-{3,}\n", told.partition(f"\n{name}\n")[2])[0]
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert f"{module} -> {line.removeprefix('import ')} " in part, contract


@pytest.mark.torture
def test_a_part_without_a_place_in_the_layers_is_refused(copied_tree):
    folders = {
        "layers": "evalsite",
        "inside-core": "evalsite/core",
        "inside-data": "evalsite/data",
    }
    for folder in folders.values():
        (copied_tree / folder / "extra.py").write_text("", encoding="utf-8")

    done = run_linter(copied_tree, *(f"--contract={contract}" for contract in folders))

    assert done.returncode == 1
    for folder in folders.values():
        assert f"{folder.replace('/', '.')}.extra" in done.stdout


@pytest.mark.parametrize(
    ("contract", "allowed"),
    [
        (
            "protocols-import-the-contract",
            {"evalsite.instruments"},
        ),
        ("analysis-knows-numbers-only", {"evalsite.analysis"}),
    ],
)
def test_the_list_of_a_contract_names_every_part(contract, allowed):
    """Import-linter knows no "everything but", so a new part must be added to the list."""
    parts = {
        f"evalsite.{path.stem}"
        for path in (ROOT / "evalsite").iterdir()
        if path.stem.isidentifier() and not path.stem.startswith("__")
    }
    listed = next(one["forbidden_modules"] for one in CONTRACTS if one["id"] == contract)

    assert {name for name in listed if name.startswith("evalsite.")} == parts - allowed


@pytest.mark.slow
def test_a_web_process_never_imports_the_heavy_libraries():
    done = subprocess.run(
        [sys.executable, "-c", WALK],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""

"""Reads the reference vectors: inputs, expected figures, and how near a figure must come."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "reference"


def read_vector(name: str) -> tuple[pd.DataFrame, Any, float]:
    """The input, the expected figures and the tolerance of a vector."""
    found = json.loads((FOLDER / "expected" / f"{name}.json").read_text(encoding="utf-8"))
    return (
        read_data(found["input"].removeprefix("data/")),
        found["expected"],
        found["tolerance_abs"],
    )


def read_data(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / "data" / name)


def find_vectors(family: str) -> list[str]:
    """All vectors of a family, such as alpha."""
    return sorted(one.stem for one in (FOLDER / "expected").glob(f"{family}__*.json"))


def compare(got: Any, expected: Any, tolerance: float, path: str = "") -> None:
    """Every figure is within the tolerance; `got` may hold more than is expected."""
    if isinstance(expected, dict):
        for key, wanted in expected.items():
            assert key in got, f"{path}/{key} is missing"
            compare(got[key], wanted, tolerance, f"{path}/{key}")
    elif isinstance(expected, int | float):
        assert got == pytest.approx(expected, abs=tolerance, rel=0), path
    else:
        assert got == expected, path

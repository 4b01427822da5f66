"""Data frames as pandas writes them: JSON in each orient, and Parquet."""

import io
from pathlib import Path

import pandas
import pytest

from evalsite.batches import parquet
from evalsite.batches.__main__ import main as write_batch
from evalsite.batches.faults import Unusable
from tests.batches.test_formats import FOLDER

FRAME = pandas.DataFrame(
    {
        "prompt": ["Why?", "How?", "When?", "Who?"],
        "alpha": ["So.", "So, too.", "Then.", "€ß"],
        "score": [1, None, 2.5, 3],
    }
)
LINES = ["prompt,alpha,score", "Why?,So.,1.0", 'How?,"So, too.",', "When?,Then.,2.5", "Who?,€ß,3.0"]
NAMED = [f"{index},{line}" for index, line in zip(["index", *"kmnp"], LINES, strict=True)]


def convert(path: Path, *arguments: str) -> list[str]:
    target = path.with_name("batch.csv")
    assert write_batch([str(path), "-o", str(target), *arguments]) == 0
    return target.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_every_orient_holds_the_same_rows(tmp_path: Path, orient: str) -> None:
    path = tmp_path / "frame.json"

    FRAME.to_json(path, orient=orient)
    whole = convert(path)
    FRAME[1:].to_json(path, orient=orient)
    filtered = convert(path)

    assert whole == LINES
    assert filtered == [LINES[0], *LINES[2:]]


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_an_index_of_names_is_a_column(tmp_path: Path, orient: str) -> None:
    path = tmp_path / "frame.json"
    FRAME.set_axis([*"kmnp"]).to_json(path, orient=orient)

    assert convert(path) == NAMED


def test_values_without_names_of_columns_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "frame.json"
    FRAME.to_json(path, orient="values")

    assert convert(path) == ["column 1,column 2,column 3", *LINES[1:]]
    assert convert(path, "--map=column 1=prompt")[0] == "prompt,column 2,column 3"


@pytest.mark.slow
def test_parquet_holds_the_same_rows_and_no_index(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    FRAME.set_axis([*"kmnp"]).to_parquet(path)

    assert convert(path) == LINES


@pytest.mark.slow
def test_parquet_files_of_several_systems_are_joined(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": [1, 2], "prompt": ["Q1", "Q2"], "output": ["A1", "A2"]})
    frame.to_parquet(tmp_path / "alpha.parquet")
    frame.assign(output=["B1", "B2"]).to_parquet(tmp_path / "beta.parquet")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("alpha", "beta")]
    target = tmp_path / "batch.csv"

    assert write_batch([*paths, "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").splitlines()[1:] == [
        "1,Q1,alpha,A1", "1,Q1,beta,B1", "2,Q2,alpha,A2", "2,Q2,beta,B2",
    ]  # fmt: skip


def read_parquet(content: bytes, most_bytes: int = 10_000_000) -> bytes:
    with io.BytesIO(content) as source:
        return parquet.open_as_lines(source, most_bytes)().read()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: content[:-9], "file_damaged"),
        (lambda content: content[:40] + b"\xff" * 40 + content[80:], "file_damaged"),
        (lambda content: b"PAR1", "file_damaged"),
    ],
)
def test_damaged_parquet_is_refused(change, code) -> None:
    content = (FOLDER / "pandas" / "frame.parquet").read_bytes()

    with pytest.raises(Unusable) as fault:
        read_parquet(change(content))

    assert fault.value.code == code


def test_pictures_in_parquet_are_named_as_not_supported() -> None:
    target = io.BytesIO()
    pandas.DataFrame({"image": [{"bytes": b"\x89PNG", "path": "a"}]}).to_parquet(target)

    with pytest.raises(Unusable, match="“image” holds bytes") as fault:
        read_parquet(target.getvalue())

    assert fault.value.code == "media"


@pytest.mark.slow
def test_a_bomb_of_parquet_is_refused_before_it_unfolds() -> None:
    target = io.BytesIO()
    pandas.DataFrame({"output": ["x" * 100_000] * 10_000}).to_parquet(target)

    with pytest.raises(Unusable) as fault:
        read_parquet(target.getvalue())

    assert len(target.getvalue()) < 100_000  # and a gigabyte inside
    assert fault.value.code == "too_large"


def test_parquet_without_pyarrow_is_refused_with_what_to_do(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(Unusable, match="to_json") as fault:
        read_parquet(b"PAR1")

    assert fault.value.code == "file_kind"


def test_a_column_that_is_not_there_is_named(tmp_path: Path, capsys) -> None:
    path = tmp_path / "frame.csv"
    path.write_text("\n".join(LINES), encoding="utf-8")

    assert write_batch([str(path), "-o", str(tmp_path / "b.csv"), "--map", "text=output"]) == 1
    assert "no column “text”. It has: “prompt”, “alpha”, “score”" in capsys.readouterr().err
    assert write_batch([str(path), "-o", str(tmp_path / "b.csv"), "--map", "alpha=prompt"]) == 1
    assert "Two columns would be called “prompt”" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["frame.csv"]

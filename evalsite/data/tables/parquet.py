"""Parquet as JSON lines. pyarrow is large, so a process of its own reads the file.

As a command it takes Parquet on standard input, which must be a file, and writes its rows.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO, Any

from evalsite.data.tables.table import Refused, quote
from evalsite.lib.limited import UNPACKED_BYTES, VALUES_IN_FILE, TooMuch

MAGIC = b"PAR1"
_SECONDS = 120
# of addresses: what pyarrow reserves when it starts is a part of them
_MEMORY = 2 * 1024**3
_ROWS = 1_000
# of the texts in rows that are made at once
_MOST_AT_ONCE = 8 * 1024**2
# what pandas calls an index without a name
_INDEX = "__index_level_"
# exit codes
_UNREADABLE, _TOO_LARGE, _NOT_INSTALLED, _NO_TEXT = 3, 4, 5, 6
_FAULTS = {
    _UNREADABLE: ("file_damaged", "The Parquet file can't be read. Write it again, or as CSV."),
    _TOO_LARGE: ("too_large", "The Parquet file holds more text than can be read here. Split it."),
    _NOT_INSTALLED: (
        "file_kind",
        "This is a Parquet file, and pyarrow isn't installed here. Write it as JSON lines: "
        'frame.to_json("batch.jsonl", orient="records", lines=True).',
    ),
    _NO_TEXT: (
        "media",
        "The column {} holds bytes, such as pictures or sounds, which can't be rated here. Leave "
        "it out of the file. Nothing was taken.",
    ),
}


def write_lines(source: IO[bytes], target: IO[bytes], most_bytes: int) -> None:
    """Write the rows of a Parquet file as JSON lines; Refused says what is wrong."""
    command = [sys.executable, "-m", __name__, str(most_bytes)]
    with TemporaryFile() as copy:
        copyfileobj(source, copy)
        copy.seek(0)
        try:
            done = subprocess.run(  # noqa: S603 (our own module)
                command, stdin=copy, stdout=target, stderr=subprocess.PIPE, timeout=_SECONDS,
                cwd=Path(__file__).parents[3], check=False,
                env=os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Refused(*_FAULTS[_TOO_LARGE]) from None
    if done.returncode:
        code, message = _FAULTS.get(done.returncode, _FAULTS[_UNREADABLE])
        column = done.stderr.decode(errors="replace").strip() if "{}" in message else ""
        raise Refused(code, message.format(quote(column)))


def open_as_lines(source: IO[bytes], most_bytes: int) -> Callable[[], IO[bytes]]:
    """Return what opens the rows of a Parquet file, as JSON lines, as often as needed."""
    kept = NamedTemporaryFile()  # noqa: SIM115 (it is deleted with the function)
    write_lines(source, kept, most_bytes)
    return lambda: Path(kept.name).open("rb")


# --- in a process of its own ----------------------------------------------------------


def main() -> int:
    with suppress(ImportError):  # only Unix has it
        import resource  # noqa: PLC0415

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        return _NOT_INSTALLED
    most_bytes, size = int(sys.argv[1]), 0
    try:
        metadata = pyarrow.parquet.read_metadata(sys.stdin.buffer)
        if _is_too_large(metadata, most_bytes):
            return _TOO_LARGE
        texts = _list_texts(metadata.schema)
        sys.stdin.buffer.seek(0)
        with pyarrow.parquet.ParquetFile(sys.stdin.buffer, read_dictionary=texts) as file:
            names = [name for name in file.schema_arrow.names if not name.startswith(_INDEX)]
            for row in _read_rows(file, names, most_bytes):
                line = json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n"
                size += len(line)
                if size > most_bytes:
                    return _TOO_LARGE
                sys.stdout.buffer.write(line)
    except TooMuch:
        return _TOO_LARGE
    except _BytesFound as error:
        sys.stderr.write(str(error))
        return _NO_TEXT
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError, RecursionError):
        return _UNREADABLE
    return 0


class _BytesFound(Exception):
    """A column holds bytes, which are no text."""


def _is_too_large(metadata: Any, most_bytes: int) -> bool:
    """Return whether the file says that it holds too many bytes, or too many values for them."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    most_values = VALUES_IN_FILE * max(1, most_bytes // UNPACKED_BYTES)
    return (
        metadata.num_rows * metadata.num_columns > most_values
        or sum(chunk.num_values for chunk in chunks) > most_values
        or sum(chunk.total_uncompressed_size for chunk in chunks) > most_bytes
    )


def _list_texts(schema: Any) -> list[str]:
    """Return the columns of texts. Read as they are stored, equal ones take no memory again."""
    columns = [schema.column(number) for number in range(len(schema))]
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _read_rows(file: Any, names: list[str], most_bytes: int) -> Iterator[dict[str, Any]]:
    size = 0
    for batch in file.iter_batches(batch_size=_ROWS, columns=names, use_threads=False):
        added = sum(map(_measure, batch.columns))
        size += added
        if size > most_bytes:
            raise TooMuch("The texts of these rows are larger.")
        step = batch.num_rows if added < _MOST_AT_ONCE else 1
        for start in range(0, batch.num_rows, step):
            for row in batch.slice(start, step).to_pylist():
                yield {name: _clean(value, name) for name, value in row.items()}


def _measure(array: Any) -> int:
    """Return how many bytes the texts of a column have, each as often as it occurs."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.take(pc.binary_length(array.dictionary), array.indices)
        return pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0
    if pa.types.is_struct(kind):
        return sum(map(_measure, array.flatten()))
    if pa.types.is_map(kind):
        return _measure(array.keys) + _measure(array.items)
    if pa.types.is_nested(kind):
        return _measure(array.flatten())
    return int(array.nbytes)


def _clean(value: Any, name: str) -> Any:
    """Return a value as JSON has it: none for NaN, and no bytes."""
    if isinstance(value, bytes):
        raise _BytesFound(name)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_clean(part, name) for part in value]
    if isinstance(value, dict):
        return {key: _clean(part, name) for key, part in value.items()}
    return value


if __name__ == "__main__":
    raise SystemExit(main())

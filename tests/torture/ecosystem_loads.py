"""Load files of a study with the libraries they are for, all settings left as they are.

Run by the Python of an environment with the extra `ecosystem-tests`:
`python -P ecosystem_loads.py dataset|package|inspect|arguments PATHS`. It prints what was read, as
JSON.
"""

import csv
import inspect
import json
import sys
import warnings
from pathlib import Path


def load_dataset(folder):
    """Each table as `datasets` and `pandas` read it: types and rows; any warning is an error."""
    import datasets
    import pandas

    datasets.disable_progress_bars()
    warnings.simplefilter("error")
    tables = {}
    for name in datasets.get_dataset_config_names(folder):
        loaded = datasets.load_dataset(folder, name)["train"]
        (path,) = Path(folder, "data").glob(f"{name}.*")
        if path.suffix == ".parquet":
            frame = pandas.read_parquet(path)
        else:
            frame = pandas.read_json(path, lines=True)
        tables[name] = {
            "types": {column: str(kind) for column, kind in loaded.features.items()},
            "rows": [{name: _write(cell) for name, cell in row.items()} for row in loaded],
            "pandas_rows": len(frame),
            "pandas_columns": [*frame.columns],
            "pandas_ids": [str(text) for text in frame.iloc[:, 0]],
        }
    default = datasets.load_dataset(folder)["train"].num_rows
    return {"tables": tables, "default": default}


def _write(cell):
    return cell if isinstance(cell, (str, int, float, bool, list, type(None))) else cell.isoformat()


def validate_package(path):
    from frictionless import validate

    report = validate(path)
    return {
        "valid": report.valid,
        "tables": {
            task.name: task.stats.get("rows") for task in report.tasks if task.type == "table"
        },
        "files": [task.name for task in report.tasks],
        "errors": report.flatten(["message"]),
    }


def read_inspect(*logs):
    from inspect_ai.log import read_eval_log

    return [
        {
            "samples": [
                {
                    "id": sample.id,
                    "scores": {
                        name: {
                            "value": score.value,
                            "history": [
                                [edit.provenance.author, edit.provenance.reason]
                                for edit in score.history
                                if edit.provenance
                            ],
                        }
                        for name, score in (sample.scores or {}).items()
                    },
                }
                for sample in log.samples
            ],
            "metrics": {
                score.name: {name: metric.value for name, metric in score.metrics.items()}
                for score in log.results.scores
            },
        }
        for log in map(read_eval_log, logs)
    ]


def bind_arguments(langfuse_scores, langsmith_feedback):
    """Which columns the clients' functions wouldn't take."""
    from langfuse import Langfuse
    from langsmith import Client

    strange = []
    calls = ((Langfuse.create_score, langfuse_scores), (Client.create_feedback, langsmith_feedback))
    for function, path in calls:
        with open(path, newline="", encoding="utf-8") as file:
            columns = next(csv.reader(file))
        known = inspect.signature(function).parameters
        strange += [column for column in columns if column not in known]
    return strange


CHECKS = {
    "dataset": load_dataset,
    "package": validate_package,
    "inspect": read_inspect,
    "arguments": bind_arguments,
}

if __name__ == "__main__":
    print(json.dumps(CHECKS[sys.argv[1]](*sys.argv[2:])))

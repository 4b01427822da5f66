"""Put human scores into the tool's own record of a run.

    python scores_back.py inspect inspect_scores.jsonl LOG...
        writes LOG.human.eval beside each LOG
    python scores_back.py promptfoo promptfoo_scores.csv results.json
        writes results.human.json: `promptfoo import results.human.json`
    python scores_back.py langfuse langfuse_scores.csv
        sends them; needs the variables LANGFUSE_*
    python scores_back.py langsmith langsmith_feedback.csv
        sends them; needs the variables LANGSMITH_*

Run it where the tool is installed. The run's own scores stay as they are.
"""

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any


def score_inspect(scores: str, *logs: str) -> None:
    from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, write_eval_log
    from inspect_ai.scorer import ScoreEdit

    lines = Path(scores).read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    for name in logs:
        log = read_eval_log(name)
        of_log = [row for row in rows if row["eval_id"] == log.eval.eval_id]
        for row in of_log:
            edit = dict(row["edit"])
            edit["provenance"] = ProvenanceData(**edit["provenance"])
            # without new metrics: a mean of 4.0 would be called its accuracy
            edit_score(
                log, row["sample_id"], row["score_name"], ScoreEdit(**edit),
                recompute_metrics=False, epoch=row["epoch"],
            )  # fmt: skip
        write_eval_log(log, str(Path(name).with_suffix(".human.eval")))
        print(f"{name}: {len(of_log)} scores")


def score_promptfoo(scores: str, results: str) -> None:
    data = json.loads(Path(results).read_text(encoding="utf-8"))
    rows = defaultdict(list)
    for row in read_table(scores):
        rows[int(row["testIdx"]), int(row["promptIdx"])].append(row)
    count = 0
    for result in data["results"]["results"]:
        of_result = rows[result["testIdx"], result["promptIdx"]]
        if not of_result:
            continue
        parts: list[dict[str, Any]] = [
            {
                "pass": row["pass"] == "true", "score": float(row["score"]),
                "reason": row["comment"], "assertion": {"type": "human"},
            }
            for row in of_result
        ]  # fmt: skip
        words = "; ".join(row["comment"] for row in of_result)
        old = result.get("gradingResult") or {}
        result["gradingResult"] = {
            **old,
            "pass": all(part["pass"] for part in parts),
            "score": sum(part["score"] for part in parts) / len(parts),
            "reason": words,
            "comment": words,
            "componentResults": [*(old.get("componentResults") or []), *parts],
        }
        named = {f"human_{row['criterion']}": float(row["score"]) for row in of_result}
        result["namedScores"] = {**(result.get("namedScores") or {}), **named}
        count += len(of_result)
    path = Path(results).with_suffix(".human.json")
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"{path}: {count} scores")


def score_langfuse(scores: str) -> None:
    from langfuse import get_client

    client = get_client()
    for row in read_table(scores):
        filled = {name: cell for name, cell in row.items() if cell}
        about = json.loads(row["metadata"])
        client.create_score(**{**filled, "value": float(row["value"]), "metadata": about})
    client.flush()


def score_langsmith(scores: str) -> None:
    from langsmith import Client

    client = Client()
    for row in read_table(scores):
        filled = {name: cell for name, cell in row.items() if cell}
        client.create_feedback(**{**filled, "score": float(row["score"])})


def read_table(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


TOOLS: dict[str, Callable[..., None]] = {
    "inspect": score_inspect,
    "promptfoo": score_promptfoo,
    "langfuse": score_langfuse,
    "langsmith": score_langsmith,
}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in TOOLS:
        sys.exit(__doc__)
    TOOLS[sys.argv[1]](*sys.argv[2:])

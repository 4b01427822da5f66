"""Every tool's files hold the same six questions and answers, so every format must give them."""

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from evalsite.data.tables.batch import convert
from evalsite.data.tables.files import SourceFile, find_files, find_named
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Refused, peek
from evalsite.data.tables.texts import write_last_answer
from evalsite.data.tables.tools import find_ratings, load_formats, read_run, recognise

FOLDER = Path(__file__).parents[3] / "fixtures" / "tool_outputs"
NAMES = ("source", "alpha-7b", "beta-large")
# the texts without line breaks, which a line of a text file can't have
SOURCE, ALPHA, BETA = (
    (FOLDER / "lines" / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in NAMES
)
FILES = {
    "lines": ["lines"],
    "promptfoo": ["promptfoo/results.json"],
    "promptfoo, JSON lines": ["promptfoo/results.jsonl"],
    "promptfoo, CSV": ["promptfoo/results.csv"],
    "lm_eval": ["lm_eval"],
    "inspect": [f"inspect/{path.name}" for path in sorted(FOLDER.glob("inspect/*.eval"))],
    "inspect, JSON": [f"inspect/{path.name}" for path in sorted(FOLDER.glob("inspect/*.json"))],
    "openai_batch": ["openai_batch"],
    "alpaca_eval": ["alpaca_eval"],
    "fastchat": ["fastchat"],
}
ANSWERS = {
    "fastchat": {"turns": "first"},
}


def read_batch(
    paths: Sequence[Path], answers: dict[str, str] | None = None, **options: str
) -> list[dict[str, str]]:
    files, names = find_named([("", path) for path in paths])
    batch = convert(files, names=names, answers=answers, **options)
    return [dict(zip(batch.header, row, strict=True)) for row in batch.rows]


def flat(text: str) -> str:
    return " ".join(text.split())


def question_of(row: dict[str, str]) -> str:
    """What was asked, with its passage, however the tool keeps the two."""
    prompt = row.get("prompt") or row.get("source") or f"{row['passage']}\n{row['question']}"
    if prompt.startswith("["):
        prompt = json.loads(prompt)[-1]["content"]
    return flat(prompt).removesuffix(" Answer:")


def system_of(row: dict[str, str]) -> str:
    return row["system"].rpartition("/")[2]


@pytest.mark.parametrize("name", FILES)
def test_each_format_holds_the_same_questions_and_answers(name):
    rows = read_batch([FOLDER / file for file in FILES[name]], ANSWERS.get(name))

    found = {(question_of(row), system_of(row)): flat(row["output"]) for row in rows}
    expected = {
        (flat(text), "alpha-7b"): flat(one) for text, one in zip(SOURCE, ALPHA, strict=True)
    }
    expected |= {
        (flat(text), "beta-large"): flat(one) for text, one in zip(SOURCE, BETA, strict=True)
    }
    if name == "openai_batch":  # one request failed
        failed = next(key for key, text in found.items() if not text)
        assert failed == (flat(SOURCE[2]), "beta-large")
        expected[failed] = ""
    assert found == expected
    assert len({row["item"] for row in rows}) == 6


@pytest.mark.parametrize("name", FILES)
def test_files_are_joined_in_any_order(name):
    paths = [FOLDER / file for file in FILES[name]]

    assert read_batch(paths, ANSWERS.get(name)) == read_batch(paths[::-1], ANSWERS.get(name))


def test_two_runs_of_one_model_are_two_systems():
    files = sorted(find_files(FOLDER / "inspect"), key=lambda file: file.name)

    batch = convert(files, answers={"samples": "first"}, names={files[1].name: "renamed"})

    # two runs of each model, of which one was given a name
    stems = [PurePosixPath(file.name).stem for file in files]
    assert [(use.systems, use.shared) for use in batch.files] == [
        ([f"mockllm/beta-large ({stems[0]})"], []),
        (["renamed"], []),
        ([f"mockllm/alpha-7b ({stems[2]})"], []),
        ([f"mockllm/beta-large ({stems[3]})"], []),
    ]


def test_ids_and_scores_of_the_tool_come_along():
    rows = read_batch([FOLDER / "lm_eval"])

    assert {row["doc_id"] for row in rows} == set("012345")
    assert {row["exact_match"] for row in rows} == {"0"}
    inspected = read_batch([FOLDER / file for file in FILES["inspect"]])
    assert '"includes":{"value":' in inspected[0]["scores"]
    assert inspected[0]["target"] == "noon"


def test_a_conversation_keeps_its_turns():
    rows = read_batch([FOLDER / "openai_batch"])

    turns = json.loads(rows[0]["prompt"])
    assert [turn["role"] for turn in turns] == ["system", "user"]
    assert turns[0]["content"] == "Answer briefly."


def test_a_batch_says_what_it_is_and_how_it_was_joined():
    batch = convert(find_files(FOLDER / "promptfoo" / "results.json"))

    assert batch.summary == "promptfoo results: 2 systems, 6 inputs"
    assert batch.joined == "Joined by id: 6 different ids in “testIdx”, in the file."


def test_named_files_are_called_so(tmp_path):
    files, names = find_named(
        [
            ("inputs", FOLDER / "lines" / "reference.txt"),
            ("A", FOLDER / "lines" / "alpha-7b.txt"),
            ("-", FOLDER / "lines" / "source.txt"),
        ]
    )
    batch = convert(files, names=names)
    rows = [dict(zip(batch.header, row, strict=True)) for row in batch.rows]

    assert {row["system"] for row in rows} == {"A"}
    assert rows[0]["prompt"] == "noon"


def test_a_format_is_one_file(tmp_path):
    """A tool that nobody knew: its file is in a folder of its own, and nothing else changes."""
    (tmp_path / "mine.toml").write_text(
        'title = "my results"\n[row]\n'
        "id = ['nr']\ninputs = { prompt = ['q'] }\nsystem = ['who']\noutput = ['said.text']\n"
        '[[shape]]\ncontainer = "lines"\nneeds = ["nr", "who", "said"]\n',
        encoding="utf-8",
    )
    (tmp_path / "out.jsonl").write_text(
        '{"nr": 1, "q": "Why?", "who": "A", "said": {"text": "So."}}\n'
        '{"nr": 1, "q": "Why?", "who": "B", "said": {"text": "No."}}\n',
        encoding="utf-8",
    )
    files, names = find_named([("", tmp_path / "out.jsonl")])

    batch = convert(files, names=names, formats=[tmp_path])

    assert batch.summary == "my results: 2 systems, 1 input"
    assert [*batch.rows] == [["1", "Why?", "A", "So."], ["1", "Why?", "B", "No."]]


CASES = FOLDER.parent / "getting_in"
# where the example of a format is, if not in the folder of `tool_outputs` that is called after it
EXAMPLES = {
    "messages": CASES / "more_messages_only" / "alpha.jsonl",
    "sharegpt": CASES / "more_sharegpt" / "alpha.json",
    "chat_logs": CASES / "more_lmsys" / "x.jsonl",
    "ragas": CASES / "d1_ragas_names" / "alpha.jsonl",
    "langsmith": CASES / "t_langsmith_runs" / "langsmith_runs.jsonl",
    "langfuse": CASES / "t_langfuse_observations" / "langfuse_observations.json",
    "otlp": CASES / "t_otlp_gen_ai" / "otlp_gen_ai.jsonl",
}
RATINGS = {
    "label_studio": CASES / "d7_label_studio_json" / "export.json",
    "argilla": CASES / "d7_several_responses_in_a_record" / "records.jsonl",
}


KEYS = [known.key for known in load_formats()]
OF_SIX = {name.partition(",")[0] for name in FILES}
# every other folder holds the answers of two systems to two questions
OF_TWO = [key for key in KEYS if key not in {*EXAMPLES, *RATINGS, *OF_SIX}]


@pytest.mark.parametrize("key", [key for key in KEYS if key not in RATINGS])
def test_an_example_is_known_by_what_is_in_it(key):
    example = EXAMPLES.get(key, FOLDER / key)
    assert example.exists(), f"Put files of the tool into {example}."

    files = [SourceFile("", file.open) for file in find_files(example)]
    known = [recognise(file, load_formats(), {}) for file in files]

    assert key in {file.format.key for file in known if file is not None}


@pytest.mark.parametrize("key", RATINGS)
def test_ratings_of_a_tool_are_known_by_their_columns(key):
    with RATINGS[key].open("rb") as source:
        table = open_table(source)

        fields = find_ratings(table.header, peek(table))

    assert fields == {known.key: known.ratings for known in load_formats()}[key]


BIRDS = {"Name a bird.": "A robin.", "Name a tree.": "An oak."}
# what the second system answers; its second request fails, if the tool can say so
FAILING = ["Robins are birds.", ""]
OTHERS = {
    "deepeval": ["Robins are birds.", "Oaks are trees."],
    "arena": ["Birds can fly.", "Wood."],
    "preferences": ["Birds can fly.", "Wood."],
}


@pytest.mark.parametrize("key", OF_TWO)
def test_what_was_asked_and_answered_is_read(key):
    rows = read_batch([FOLDER / key])

    outputs = {(row["system"], row["prompt"]): write_last(row["output"]) for row in rows}
    first, second = sorted({row["system"] for row in rows})
    assert {prompt: outputs.get((first, prompt)) for prompt in BIRDS} == BIRDS
    assert [outputs.get((second, prompt)) for prompt in BIRDS] == OTHERS.get(key, FAILING)


def write_last(text: str) -> str:
    """Return an output as a study of texts shows it."""
    return write_last_answer(json.loads(text)) if text.startswith("[") else text


def test_the_reason_of_a_failure_is_kept():
    def find_reasons(tool: str) -> set[str]:
        return {*convert(find_files(FOLDER / tool)).failures.values()}

    assert find_reasons("anthropic_batch") == {"Overloaded"}
    assert find_reasons("gemini_batch") == {"SAFETY"}
    assert find_reasons("deepeval") == set()


def write_files(folder: Path, files: dict[str, str]) -> list[SourceFile]:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return find_files(folder)


def test_inputs_outputs_and_references_come_in_tables_of_their_own(tmp_path):
    files = write_files(
        tmp_path,
        {
            "tasks.jsonl": '{"id": 2, "passage": "P2", "question": "Q2"}\n'
            '{"id": 1, "passage": "P1", "question": "Q1"}\n',
            "alpha.jsonl": '{"id": 1, "output": "A1"}\n{"id": 2, "output": "A2"}\n',
            "beta.csv": "id,question,output\n1,Q1,B1\n2,Q2,B2\n",
            "gold.csv": "id,reference\n1,R1\n2,R2\n",
        },
    )

    batch = convert(files)

    assert batch.header == ["item", "passage", "question", "system", "output", "reference"]
    assert list(batch.rows) == [
        ["2", "P2", "Q2", "alpha", "A2", "R2"],
        ["2", "P2", "Q2", "beta", "B2", "R2"],
        ["1", "P1", "Q1", "alpha", "A1", "R1"],
        ["1", "P1", "Q1", "beta", "B1", "R1"],
    ]
    assert batch.joined == "Joined by id: 2 different ids in “id”, in 4 files."
    assert [
        (PurePosixPath(use.name).name, use.role, use.systems, use.size) for use in batch.files
    ] == [
        ("alpha.jsonl", "outputs", ["alpha"], "2 outputs"),
        ("beta.csv", "outputs", ["beta"], "2 outputs"),
        ("gold.csv", "reference", [], "2 rows"),
        ("tasks.jsonl", "inputs", [], "2 rows"),
    ]


def test_a_text_file_of_references_follows_the_inputs(tmp_path):
    files = write_files(
        tmp_path,
        {
            "alpha.jsonl": '{"id": 1, "prompt": "Q1", "output": "A1"}\n',
            "beta.jsonl": '{"id": 1, "prompt": "Q1", "output": "B1"}\n',
            "reference.txt": "R1\n",
        },
    )

    assert [row[-1] for row in convert(files).rows] == ["R1", "R1"]
    (tmp_path / "reference.txt").write_text("R1\nR2\n", encoding="utf-8")
    with pytest.raises(Refused, match="has 2 lines for 1 input") as refused:
        convert(files)
    assert refused.value.code == "lines_differ"


def test_a_file_has_the_role_that_it_is_given(tmp_path):
    files = write_files(
        tmp_path,
        {
            "prompts.txt": "Q1\n",
            "one.txt": "A1\n",
            "old.txt": "O1\nO2\n",
            "best.txt": "R1\n",
        },
    )
    folder = tmp_path.name

    with pytest.raises(Refused) as refused:
        convert(files)
    names = {
        f"{folder}/one.txt": "alpha",
        f"{folder}/old.txt": "-",
        f"{folder}/best.txt": "reference",
    }
    batch = convert(files, names=names)

    assert [use.role for use in refused.value.files] == ["outputs", "outputs", "outputs", "inputs"]
    assert list(batch.rows) == [["1", "Q1", "alpha", "A1", "R1"]]
    assert batch.joined == "Joined by line number: 1 line in each of 3 files."


def test_files_without_outputs_are_refused(tmp_path):
    files = write_files(
        tmp_path, {"a.csv": "id,prompt,alpha\n1,Q,A\n", "b.csv": "id,prompt\n1,Q\n"}
    )

    with pytest.raises(Refused, match="imported on its own") as refused:
        convert(files)
    assert refused.value.code == "no_system"


@pytest.mark.parametrize(
    ("path", "run"),
    [
        ("promptfoo/results.json", "Reading shared"),
        ("promptfoo/results.jsonl", ""),
        *((f"inspect/{path.name}", "reading") for path in sorted(FOLDER.glob("inspect/*"))),
    ],
)
def test_what_a_tool_calls_its_run_is_read(path: str, run: str) -> None:
    (file,) = find_files(FOLDER / path)
    known = recognise(file, load_formats(), {})

    assert known is not None
    assert read_run(known) == run


def write_agents_runs(folder: Path) -> Path:
    """Runs of two agents, of which no metadata says which system they are."""
    path = folder / "runs.jsonl"
    runs = (FOLDER.parent / "getting_in" / "t_langsmith_runs" / "langsmith_runs.jsonl").read_text()
    with path.open("w") as file:
        for run in map(json.loads, runs.splitlines()):
            system = run["extra"].pop("metadata")["system"]
            if not run.get("parent_run_id"):
                run["name"] = {"alpha": "ReAct", "beta": "Planner"}[system]
            file.write(json.dumps(run) + "\n")
    return path


@pytest.mark.parametrize(
    ("answer", "systems"), [("each", {"ReAct", "Planner"}), ("joined", {"runs"})]
)
def test_agents_that_differ_within_a_file_are_asked_about(
    answer: str, systems: set[str], tmp_path: Path
) -> None:
    files = find_files(write_agents_runs(tmp_path))

    with pytest.raises(Refused) as asked:
        convert(files)
    batch = convert(files, answers={"agents": answer, "samples": "all"})

    assert "agents" in [question.key for question in asked.value.questions]
    assert {row[batch.header.index("system")] for row in batch.rows} == systems


def test_a_file_that_is_called_like_a_system_holds_one_system(tmp_path: Path) -> None:
    files = find_files(write_agents_runs(tmp_path))

    batch = convert(files, names={"runs.jsonl": "mine"}, answers={"samples": "all"})

    rows = [*batch.rows]
    assert [row[batch.header.index("system")] for row in rows] == ["mine", "mine"]

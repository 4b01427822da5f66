"""Files that can't be joined are refused with a code and with what to do; nothing is half read."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from evalsite.data.tables.batch import convert
from evalsite.data.tables.documents import read_items, read_value
from evalsite.data.tables.files import find_named
from evalsite.data.tables.table import Refused
from evalsite.data.tables.texts import find_reasoning
from tests.data.tables.test_formats import FOLDER, read_batch


def write(folder: Path, files: dict[str, str | bytes | list[Any]]) -> list[Path]:
    """Write these files: texts, bytes, or rows of JSON lines."""
    paths = []
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(f"{json.dumps(row)}\n" for row in content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        paths.append(path)
    return paths


def refuse(paths: list[Path], answers: dict[str, str] | None = None) -> Refused:
    with pytest.raises(Refused) as caught:
        read_batch(paths, answers)
    return caught.value


def answer(key: Any, text: Any, **others: Any) -> dict[str, Any]:
    return {"question_id": key, "model_id": "A", "choices": [{"turns": [text]}], **others}


def question(key: Any, text: str = "Why?") -> dict[str, Any]:
    return {"question_id": key, "turns": [text]}


LINES = {"source.txt": "one\ntwo\n", "a.txt": "eins\nzwei\n"}


@pytest.mark.parametrize("ending", ["eins\r\nzwei\r\n", "eins\nzwei", "\ufeffeins\nzwei\n"])
def test_line_breaks_and_byte_order_marks_change_nothing(tmp_path, ending):
    rows = read_batch(write(tmp_path, {**LINES, "a.txt": ending}))

    assert [row["output"] for row in rows] == ["eins", "zwei"]


def test_a_file_one_line_short_is_named_with_its_lines(tmp_path):
    fault = refuse(write(tmp_path, {**LINES, "b.txt": "uno\n"}))

    assert fault.code == "lines_differ"
    assert "b.txt has 1 line, the other files have 2." in str(fault)


def test_text_files_without_inputs_are_refused(tmp_path):
    fault = refuse(write(tmp_path, {"a.txt": "eins\n", "b.txt": "uno\n"}))

    assert fault.code == "inputs_missing"


def test_ids_are_joined_as_texts_but_no_zero_is_lost(tmp_path):
    asked = [question(1), question("01", "Who?"), question("x", "When?")]
    answers = [answer("1", "a"), answer("01", "b"), answer("x", "c")]

    rows = read_batch(write(tmp_path, {"question.jsonl": asked, "A.jsonl": answers}))

    assert [(row["item"], row["prompt"], row["output"]) for row in rows] == [
        ("1", "Why?", "a"),
        ("01", "Who?", "b"),
        ("x", "When?", "c"),
    ]


def test_a_whole_number_written_as_a_decimal_is_the_same_id(tmp_path):
    files = {"question.jsonl": [question(1)], "A.jsonl": [answer(1.0, "a")]}

    assert [row["item"] for row in read_batch(write(tmp_path, files))] == ["1"]


def test_inputs_that_differ_under_one_id_are_a_fault(tmp_path):
    fault = refuse(write(tmp_path, {"question.jsonl": [question(1), question(1, "Who?")]}))

    assert fault.code == "inputs_differ"
    assert (
        "“1” has another input in question.jsonl, line 2 (“Who?”) than in question.jsonl, line 1"
        in str(fault)
    )


def test_an_input_that_lacks_a_system_is_left_out_only_on_demand(tmp_path):
    paths = write(
        tmp_path,
        {
            "question.jsonl": [question(1), question(2)],
            "A.jsonl": [answer(1, "a"), answer(2, "b")],
            "B.jsonl": [answer(1, "c", model_id="B")],
        },
    )

    with pytest.raises(Refused) as undecided:
        read_batch(paths)
    (asked,) = undecided.value.questions
    assert asked.text == "“B” has no output for 1 input of 2 (“2”)."

    rows = read_batch(paths, {"incomplete": "leave-out"})
    assert {row["item"] for row in rows} == {"1"}


def test_samples_are_taken_as_was_decided_and_drawn_by_the_seed(tmp_path):
    row = {"doc_id": 0, "doc": {"q": "Why?"}, "arguments": [["Why?"]], "filter": "none"}
    texts = [f"sample {number}" for number in range(20)]
    paths = write(
        tmp_path,
        {"org__m/samples_t_1.jsonl": [{**row, "resps": [texts], "filtered_resps": [texts]}]},
    )
    folder = [tmp_path / "org__m"]
    assert paths

    assert [one["output"] for one in read_batch(folder, {"samples": "first"})] == texts[:1]
    every = read_batch(folder, {"samples": "all"})
    assert [one["output"] for one in every] == texts
    assert [one["item"] for one in every[:3]] == ["0", "0#2", "0#3"]
    drawn = [read_batch(folder, {"samples": "random"}, seed=f"s{n}")[0]["output"] for n in range(8)]
    again = [read_batch(folder, {"samples": "random"}, seed=f"s{n}")[0]["output"] for n in range(8)]
    assert drawn == again
    assert len(set(drawn)) > 1


def test_filters_are_chosen_or_each_is_a_system(tmp_path):
    row = {"doc_id": 0, "doc": {"q": "Why?"}, "arguments": [["Why?"]], "resps": [["So. 7"]]}
    rows = [
        {**row, "filter": "none", "filtered_resps": ["So. 7"]},
        {**row, "filter": "number", "filtered_resps": ["7"]},
    ]
    write(tmp_path, {"org__m/samples_t_1.jsonl": rows})

    only = read_batch([tmp_path / "org__m"], {"variant": "number"})
    each = read_batch([tmp_path / "org__m"], {"variant": "each"})

    assert [(one["system"], one["output"]) for one in only] == [("org/m", "7")]
    assert {one["system"]: one["output"] for one in each} == {
        "org/m (none)": "So. 7",
        "org/m (number)": "7",
    }


@pytest.mark.parametrize(
    ("text", "reasoning"),
    [
        ("<think>Well,\nlet me see.</think>\n\nNoon.", ("Well,\nlet me see.", "Noon.", True)),
        (" <Thinking>So.</thinking>Noon.", ("So.", "Noon.", True)),
        ("<reasoning>It goes on.", ("It goes on.", "", False)),
        ("Noon. <think>Is it?</think>", None),
        ("<thing>x</thing>", None),
    ],
)
def test_reasoning_is_what_an_output_begins_with(text, reasoning):
    result = find_reasoning(text)

    assert (result and tuple(result)) == reasoning


def test_a_run_that_is_not_finished_is_refused(tmp_path):
    (path, *_) = sorted(FOLDER.glob("inspect/*.json"))
    log = json.loads(path.read_text(encoding="utf-8")) | {"status": "started"}

    fault = refuse(write(tmp_path, {"log.json": json.dumps(log)}))

    assert fault.code == "run_unfinished"


def test_pictures_and_sounds_are_named_as_not_supported(tmp_path):
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "x"}}]
    request = {
        "custom_id": "1",
        "url": "/v1",
        "body": {"messages": [{"role": "user", "content": parts}]},
    }

    fault = refuse(write(tmp_path, {"requests.jsonl": [request]}))

    assert fault.code == "media"


def test_likelihoods_are_no_texts(tmp_path):
    row = {"doc_id": 0, "doc": {"q": "Why?"}, "arguments": [["Why?"]], "filter": "none"}
    rows = [{**row, "resps": [[[-1.5, False]]], "filtered_resps": [[-1.5, False]]}]
    write(tmp_path, {"m/samples_t.jsonl": rows})

    assert refuse([tmp_path / "m"]).code == "no_text"
    # as texts, since 0.4.9
    rows = [{**row, "resps": [[["-0.1", "False"]]], "filtered_resps": [["-0.1", "False"]]}]
    write(tmp_path, {"m/samples_t.jsonl": rows})
    assert refuse([tmp_path / "m"]).code == "no_text"


def test_outputs_of_two_prompts_are_no_samples(tmp_path):
    row = {"testIdx": 0, "provider": {"label": "a"}, "vars": {"q": "Why?"}}
    rows = [
        {**row, "prompt": {"label": label}, "response": {"output": label}} for label in ("p1", "p2")
    ]
    write(tmp_path, {"results.jsonl": rows})

    with pytest.raises(Refused) as asked:
        convert(find_named([("", tmp_path / "results.jsonl")])[0])

    assert [question.key for question in asked.value.questions] == ["variant"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"question_id": 1, "turns": ["a"], "x": Infinity}', "file_damaged"),
        ('{"question_id": 1, "turns": ["a"], "turns": ["b"]}', "file_damaged"),
        ('{"question_id": 1, "turns": ["a\\ud800"]}', "surrogate"),
        ('{"question_id": 1, "turns": ["a"]', "file_damaged"),
        ("[1]", "file_damaged"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, line, code):
    start = json.dumps(question(0))

    fault = refuse(write(tmp_path, {"question.jsonl": f"{start}\n{line}\n"}))

    assert fault.code == code
    assert "question.jsonl" in str(fault)
    assert " 2" in str(fault)


def test_json_nested_ten_thousand_levels_deep_is_refused(tmp_path):
    deep = '{"question_id": 1, "turns": ["a"], "category": ' + "[" * 10_000 + "]" * 10_000 + "}"

    fault = refuse(write(tmp_path, {"question.jsonl": deep, "A.jsonl": [answer(1, "x")]}))

    assert fault.code in {"json_depth", "unknown_format", "files_left"}


@pytest.mark.parametrize("read", [read_value, lambda *given: [*read_items(*given)]])
def test_document_of_nothing_but_brackets_is_refused_without_reading_on(read):
    file = io.BytesIO(b'{"before":' + b"[" * 20_000_000)

    with pytest.raises(Refused) as refused:
        read(file, ["rows"])

    assert refused.value.code == "json_depth"
    assert file.tell() < 5_000_000


def test_the_same_file_twice_is_no_second_sample(tmp_path):
    rows = [answer(1, "a")]
    files = {"question.jsonl": [question(1)], "A.jsonl": rows, "B.jsonl": rows}

    assert refuse(write(tmp_path, files)).code == "system_twice"


def test_two_files_with_one_name_are_refused(tmp_path):
    paths = write(tmp_path, {"a/run/x.txt": "one\n", "b/run/x.txt": "two\n"})

    assert refuse(paths).code == "system_twice"


def test_files_of_two_tools_are_refused(tmp_path):
    fault = refuse([FOLDER / "promptfoo" / "results.json", FOLDER / "alpaca_eval"])

    assert fault.code == "formats_mixed"
    assert "AlpacaEval outputs and promptfoo results" in str(fault)


def test_outputs_without_their_inputs_are_refused():
    fault = refuse([*sorted((FOLDER / "openai_batch").glob("*-*.jsonl"))])

    assert fault.code == "inputs_missing"


def test_two_hundred_files_are_read(tmp_path):
    files: dict[str, Any] = {"source.txt": "one\n"}
    files |= {f"system-{number}.txt": f"{number}\n" for number in range(199)}

    assert len(read_batch(write(tmp_path, files))) == 199


def test_a_first_row_longer_than_what_is_searched_first_is_known(tmp_path):
    (path, *_) = sorted(FOLDER.glob("inspect/*.json"))
    log = json.loads(path.read_text(encoding="utf-8"))
    log["samples"][0]["events"] = ["x" * 1_000] * 1_000

    rows = read_batch(write(tmp_path, {"log.json": json.dumps(log)}))

    assert len(rows) == 6


def test_what_a_model_was_called_with_is_kept(tmp_path):
    (path, *_) = sorted(FOLDER.glob("inspect/*.json"))
    log = json.loads(path.read_text(encoding="utf-8"))
    log["eval"] |= {"model_args": {"device": "cpu"}, "model_generate_config": {"temperature": 0}}

    (row, *_) = read_batch(write(tmp_path, {"log.json": json.dumps(log)}))
    (other, *_) = read_batch([FOLDER / "lm_eval"])

    assert json.loads(row["model_arguments"]) == {
        "model_args": {"device": "cpu"},
        "model_generate_config": {"temperature": 0},
    }
    assert json.loads(other["model_arguments"]) == {
        "model_args": "name=alpha-7b",
        "until": ["###"],
        "max_gen_toks": 60,
    }


def test_choices_of_a_question_come_along(tmp_path):
    (path, *_) = sorted(FOLDER.glob("inspect/*.json"))
    log = json.loads(path.read_text(encoding="utf-8"))
    log["samples"][0]["choices"] = ["at nine", "at noon"]

    rows = read_batch(write(tmp_path, {"log.json": json.dumps(log)}))

    assert json.loads(rows[0]["choices"]) == ["at nine", "at noon"]
    assert {row["choices"] for row in rows[1:]} == {""}


def test_loose_files_of_one_run_are_called_what_their_settings_say(tmp_path):
    paths = list((FOLDER / "lm_eval" / "stub__beta-large").glob("*.json*"))
    copies = [tmp_path / path.name for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        copy.write_bytes(path.read_bytes())

    rows = read_batch(copies)

    assert {row["system"] for row in rows} == {"stub/beta-large"}


def test_settings_of_runs_that_cannot_be_told_apart_are_not_used(tmp_path):
    (samples,) = (FOLDER / "lm_eval" / "stub__beta-large").glob("*.jsonl")
    copies = [tmp_path / "samples_reading.jsonl"]
    copies[0].write_bytes(samples.read_bytes())
    for number, path in enumerate(sorted((FOLDER / "lm_eval").rglob("results_*"))):
        copies.append(tmp_path / f"results_{number}.json")
        copies[-1].write_bytes(path.read_bytes())

    (row, *_) = read_batch(copies)

    assert row["system"] == "samples_reading"
    assert "model_args" not in json.loads(row["model_arguments"])


def test_a_long_argument_leaves_its_length_and_the_other_arguments(tmp_path):
    (path, *_) = sorted(FOLDER.glob("inspect/*.json"))
    log = json.loads(path.read_text(encoding="utf-8"))
    log["eval"] |= {"model_args": {"answers": "x" * 2_500}, "model_generate_config": {"top_p": 1}}

    (row, *_) = read_batch(write(tmp_path, {"log.json": json.dumps(log)}))

    assert json.loads(row["model_arguments"]) == {
        "model_args": "left out: 2,514 characters",
        "model_generate_config": {"top_p": 1},
    }


def test_settings_of_a_request_come_with_every_output():
    rows = read_batch([FOLDER / "openai_batch"])

    assert {row["max_tokens"] for row in rows} == {"60"}


def test_several_inputs_of_a_table_are_several_columns(tmp_path):
    files = {f"{name}.csv": f"id,context,question,answer\n1,C,Q,{name}\n" for name in "AB"}

    rows = read_batch(write(tmp_path, files))

    assert [{**row, "item": ""} for row in rows] == [
        {"item": "", "question": "Q", "context": "C", "system": name, "output": name}
        for name in "AB"
    ]


def test_ten_megabytes_in_a_cell_are_read(tmp_path):
    text = "x" * 10 * 1024 * 1024
    asked, answers = [question(0), question(1)], [answer(0, "short"), answer(1, text)]
    paths = write(tmp_path, {"question.jsonl": asked, "A.jsonl": answers})

    assert read_batch(paths)[1]["output"] == text


def test_what_is_written_reads_back_exactly(tmp_path):
    texts = [
        'a "quote", a comma',
        "tab\tline\nbreak\r\nand another",
        "=1+1",
        "  spaces  ",
        "€ß\u2028",
    ]
    asked = [question(number, text) for number, text in enumerate(texts)]
    answers = [answer(number, text) for number, text in enumerate(texts)]

    rows = read_batch(write(tmp_path, {"question.jsonl": asked, "A.jsonl": answers}))

    assert [row["prompt"] for row in rows] == texts
    assert [row["output"] for row in rows] == texts


def test_paths_lead_into_values():
    from evalsite.data.tables.paths import Step, find, parse_path  # noqa: PLC0415

    value = {"a": [{"b.c": "x"}], "d": None}
    assert find(value, 'a[0]["b.c"]') == "x"
    assert find(value, "d.e") is None
    assert find(value, "a[3]") is None
    assert parse_path("a.b[-1]") == (Step("key", "a"), Step("key", "b"), Step("index", "-1"))
    with pytest.raises(ValueError, match="character 2"):
        parse_path("a[x]")


def test_batch_of_lines_is_not_held_in_memory(tmp_path):
    """Rows are yielded before the files have been read to their end."""
    paths = write(tmp_path, {"source.txt": "one\n" * 1000, "a.txt": "eins\n" * 1000})
    files, names = find_named([("", path) for path in paths])

    rows = iter(convert(files, names=names).rows)

    assert next(rows) == ["1", "one", "a", "eins"]


# --- joined by line, or not -----------------------------------------------------------------


def refuse_named(paths: list[Path], names: list[str]) -> Refused:
    files, named = find_named(list(zip(names, paths, strict=True)))
    with pytest.raises(Refused) as caught:
        list(convert(files, names=named).rows)
    return caught.value


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ("in.jsonl", "a.jsonl"),
        ("in.csv", "a.csv"),
        ("in.csv", "a.txt"),
        ("in.txt", "a.csv"),
        ("in.txt", "a.txt"),
    ],
)
def test_tables_are_never_joined_by_line(tmp_path, inputs, outputs):
    def make(name: str, column: str) -> str | list[Any]:
        if name.endswith(".csv"):
            return f"uid;{column}\n1;one\n2;two\n"
        return [{"uid": "1", column: "one"}, {"uid": "2", column: "two"}]

    paths = write(tmp_path, {inputs: make(inputs, "ask"), outputs: make(outputs, "said")})

    fault = refuse_named(paths, ["inputs", "alpha"])

    assert fault.code == "columns_unclear"
    assert "uid, ask and said are the columns" in str(fault)


def test_a_table_of_references_is_not_joined_by_line(tmp_path):
    rows = [{"prompt": "Why?", "output": "So."}]
    paths = write(tmp_path, {"a.jsonl": rows, "right.csv": "uid,best\n1,Because.\n"})

    assert refuse_named(paths, ["alpha", "reference"]).code == "columns_unclear"


def test_texts_that_are_json_are_joined_with_inputs_by_line(tmp_path):
    files = {"source.txt": "one\ntwo\n", "a.txt": [{"word": "eins"}, {"word": "zwei"}]}

    rows = read_batch(write(tmp_path, files))

    assert [row["output"] for row in rows] == ['{"word": "eins"}', '{"word": "zwei"}']


def test_a_row_that_nothing_joins_names_its_columns(tmp_path):
    files = {name: [{"output": f"{name}.", "uid": "1"}] for name in ("a.jsonl", "b.jsonl")}

    fault = refuse(write(tmp_path, files))

    assert fault.code == "no_id"
    assert "“output”, “uid”" in str(fault)


def test_an_empty_value_is_none_where_there_are_others(tmp_path):
    row = {"id": "", "item": "7", "prompt": "Why?", "output": ""}
    files = {f"{name}.jsonl": [row | {"response": name}] for name in "ab"}

    rows = read_batch(write(tmp_path, files))

    assert [(row["item"], row["output"]) for row in rows] == [("7", "a"), ("7", "b")]

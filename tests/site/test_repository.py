"""What may not stand in the repository, and what must hold for every file in it."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The one place where HTML is marked as safe, after cleaning with a closed list.
MAY_MARK_SAFE = {"evalsite/lib/markdown.py"}

BANNED = {
    ".py": [
        r"\bmark_safe\b",
        r"\bSafe(?:String|Text)\(",
        r"\beval\(",
        r"\bimport pickle\b|\bpickle\.|\bfrom pickle\b",
        r"yaml\.load",
    ],
    ".html": [r"\|\s*safe\b", r"\|\s*safeseq\b", r"autoescape\s+off"],
    ".js": [
        r"\b(?:inner|outer)HTML\b",
        r"\binsertAdjacentHTML\b",
        r"\bdocument\.write",
        r"\beval\(",
        r"\bnew Function\(",
    ],
}

# A strict Content-Security-Policy would silently drop each of these.
INLINE = [
    r"<script(?![^>]*\bsrc=)",
    r"<style\b",
    r"<[^>]*\sstyle\s*=",
    r"<[^>]*\son[a-z]+\s*=",
    r"javascript:",
]

# Each of these may set a cookie or hang on one; participants have none.
NEEDS_A_COOKIE = re.compile(r"\b(?:csrf_token|messages|session|user|perms)\b")

# The home of one developer's machine.
FOREIGN_PATH = re.compile(r"(?<![\w.~\]}>-])/(?:home|root|work|mnt|opt|Users)/\w")


def tracked_files(*suffixes: str) -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, listed):
        path = ROOT / name
        if name.startswith("fixtures/batches/faulty/") and path.suffix != ".py":
            continue  # some of them are no text at all
        if path.suffix in suffixes and path.exists() and "/vendor/" not in name:
            yield path


def find_lines(path: Path, patterns: list[str], text: str | None = None) -> list[str]:
    """Where a pattern stands, as file:line: text."""
    text = path.read_text(encoding="utf-8") if text is None else text
    return [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}"
        for pattern in patterns
        for found in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize("suffix", BANNED)
def test_nothing_gets_round_the_escaping_of_pages(suffix):
    found = [
        line
        for path in tracked_files(suffix)
        if path != Path(__file__) and str(path.relative_to(ROOT)) not in MAY_MARK_SAFE
        for line in find_lines(path, BANNED[suffix])
    ]

    assert found == []


def test_format_html_gets_its_pattern_from_the_code():
    files = {path: path.read_text(encoding="utf-8") for path in tracked_files(".py")}
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, code in files.items()
        if "format_html" in code
        for call in ast.walk(ast.parse(code))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", getattr(call.func, "attr", "")).startswith("format_html")
        and any(not isinstance(argument, ast.Constant) for argument in call.args[:1])
    ]

    assert found == []


def test_templates_hold_no_inline_script_or_style():
    # the documents of others are never served
    ours = (path for path in tracked_files(".html") if "/fixtures/" not in str(path))
    found = [line for path in ours for line in find_lines(path, INLINE)]

    assert found == []


def test_participants_templates_touch_nothing_that_sets_a_cookie():
    found = []
    for path in participants_templates():
        code = re.findall(r"\{[{%].*?[%}]\}", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        without_words = [re.sub(r"\"[^\"]*\"|'[^']*'", "", tag) for tag in code]
        found += [
            f"{path.relative_to(ROOT)}: {tag}"
            for tag in without_words
            if NEEDS_A_COOKIE.search(tag)
        ]

    assert found == []


def participants_templates() -> Iterator[Path]:
    """Templates of pages that are reached by a token; staff pages extend the study's frame."""
    for path in tracked_files(".html"):
        name = path.relative_to(ROOT).as_posix()
        of_participants = name == "templates/base.html" or name.startswith(
            ("templates/participation/", "templates/people/", "protocols/")
        )
        if of_participants and "studies/study.html" not in path.read_text(encoding="utf-8"):
            yield path


def test_every_relative_link_in_the_documents_leads_somewhere():
    found = []
    for path in tracked_files(".md"):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)", text):
            is_relative = not re.match(r"[a-z]+:|/", target)
            if is_relative and not (path.parent / target).exists():
                found.append(f"{path.relative_to(ROOT)}: {target}")

    assert found == []


def test_no_document_installs_the_package_which_no_index_has():
    """Until it is published, there are the checkout and a wheel in a file."""
    found = [
        line
        for path in tracked_files(".md")
        for line in find_lines(path, [r"pip install(?! \./)(?!.*\.whl).*\bevalsite"])
    ]

    assert found == []


def test_every_test_that_a_document_names_is_there():
    tests = "\n".join(path.read_text(encoding="utf-8") for path in tracked_files(".py"))
    known = set(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))

    named = {
        name
        for path in tracked_files(".md")
        for name in re.findall(r"`(test_\w+)`", path.read_text(encoding="utf-8"))
    }

    assert named - known == set()


def test_every_stop_of_the_trips_is_where_the_architecture_says():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    stops = re.findall(r"\| `(\w+)` \| `(evalsite/[\w/]+\.py)` \|", text)

    missing = [
        f"{path}: {name}"
        for name, path in stops
        if not re.search(
            rf"^\s*(?:def|class) {name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
        )
    ]

    assert missing == []
    assert len(stops) > 15


def test_every_file_that_papers_for_developers_name_is_there():
    papers = [
        ROOT / "CONTRIBUTING.md",
        ROOT / "docs" / "architecture.md",
        ROOT / "docs" / "words.md",
    ]
    folders = "evalsite|protocols|templates|static|fixtures|tests|docs"
    named = {
        path
        for paper in papers
        for path in re.findall(rf"`((?:{folders})/[\w/.-]*)`", paper.read_text(encoding="utf-8"))
    }

    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    assert len(named) > 30


def test_no_file_names_a_folder_of_one_machine():
    suffixes = (".py", ".html", ".js", ".css", ".md", ".toml", ".json", ".txt", ".lock", "")
    found = [
        line
        for path in tracked_files(*suffixes)
        # an image has its folders to itself
        if path != ROOT / "deploy/Dockerfile"
        for line in find_lines(path, [FOREIGN_PATH.pattern])
    ]

    assert found == []


def test_lock_files_name_versions_and_hashes_and_no_address():
    for path in tracked_files(".lock"):
        text = path.read_text(encoding="utf-8")

        assert text.count("==") > 20
        assert "://" not in text
        assert all(
            "--hash=sha256:" in block for block in re.split(r"\n(?=[a-z])", text) if "==" in block
        )


# --- readers ----------------------------------------------------------------------------

READERS = {
    *(("json", name) for name in ("load", "loads", "JSONDecoder")),
    *(("csv", name) for name in ("reader", "DictReader")),
}
MAY_READ = {
    "evalsite/lib/limited.py": "reads all of this within limits",
    "evalsite/command_line/gate.py": "only asks whether a file is a zip",
    "evalsite/command_line/ratings_file.py": "only asks whether a file is a zip",
    # these read lines that they wrote themselves, of a file that was read within limits
    "evalsite/data/items/items.py": "items that wait for their rows",
    "evalsite/data/uploads.py": "values that a check kept; it also writes packs of files",
    # these only write zips
    "evalsite/data/bundle/write.py": "writes bundles",
    "evalsite/results/report/files.py": "writes the sources of a report",
    "evalsite/data/files/scripts/analysis.py": "runs beside a bundle, without Evalsite",
    "evalsite/data/files/scripts/scores_back.py": "runs beside files that went back",
}


def find_readers(source: str) -> Iterator[str]:
    """Yield what reads JSON, CSV or zips without limits, whatever it is called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in READERS:
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if "zipfile" in name.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from (
                f"{module}.{name.name}"
                for name in node.names
                if "zipfile" in (*module.split("."), name.name) or (module, name.name) in READERS
            )


def test_json_csv_and_zips_are_read_within_limits_only():
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in tracked_files(".py")
        if path.is_relative_to(ROOT / "evalsite") or path.is_relative_to(ROOT / "protocols")
        if path.name != "tests.py" and any(find_readers(path.read_text(encoding="utf-8")))
    }

    assert readers == MAY_READ.keys()


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("import json\njson.loads(x)", True),
        ("from json import load", True),
        ("import zipfile", True),
        ("from backports.zstd import zipfile", True),
        ("from zipfile import ZipFile", True),
        ("import csv\nread = csv.reader", True),
        ("import json\njson.dumps(x)", False),
        ("import csv\ncsv.writer(x)", False),
        ("from evalsite.lib.limited import ZipFile", False),
    ],
)
def test_readers_are_found_by_whatever_name(source: str, reads: bool):
    assert any(find_readers(source)) is reads

"""The shape of the code in figures: `python -m tests.support.house`.

Product code is `evalsite/` and `protocols/` without migrations and tests.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# names that Django, or a convention of every app here, gives to a file
CONVENTIONAL = {
    "__init__", "__main__", "admin", "apps", "forms", "models", "services", "study_views", "views"
}  # fmt: skip
# participles and everyday words that say nothing of what a file is about
CRYPTIC = re.compile(
    r"^(looking|making|manners|shelf|taking|steering|yardsticks|showing|facts|signs|cut|told"
    r"|others|plain|codes|alone|together|marked|found|fitting|picking|dealing|holding|leaving"
    r"|offering|counting|computed|gathering|describing|examining|packing|opening|layout|replaying"
    r"|sending|reading|writing|persons|repeating|preferring|explaining|ignoring|qualifying"
    r"|topping|excluding|drawing|analysing|watching|collecting)(_|$)"
)
# named in a table of addresses or by Django itself, so one importer is what they should have; so
# are those that an app loads to register what they hold
ENTRY = re.compile(r"(views|forms|pages|\.management\.commands\.\w+|\.worker|\.env)$")
TALKING = re.compile(r"^_?(tell|tells|say|says|part|look|looks)_")


def product_files() -> list[Path]:
    found = [*(ROOT / "evalsite").rglob("*.py"), *(ROOT / "protocols").rglob("*.py")]
    left_out = {"migrations", "tests.py"}
    return sorted(path for path in found if not left_out & set(path.parts))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Yield whatever the module imports; for `from a import b` both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_entry(name: str, importers: set[Path]) -> bool:
    return bool(ENTRY.search(name)) or all(path.stem == "apps" for path in importers)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    files = product_files()
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    say(f"product: {lines:,} lines in {len(files)} files")

    modules = {module_name(path): path for path in files}
    importers: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for name in imported_names(tree):
            if name in modules and modules[name] != path:
                importers[name].add(path)
    code = [name for name, path in modules.items() if path.name != "__init__.py"]
    every = [name for name in code if len(importers[name]) == 1]
    single = sorted(name for name in every if not is_entry(name, importers[name]))
    say(f"files with one importer: {len(every)} of {len(code)} ({len(every) / len(code):.0%})")
    say(f"  without entry points: {len(single)} ({len(single) / len(code):.0%})")

    apps: dict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        if path.stem not in CONVENTIONAL and len(name.split(".")) > 2:
            apps[path.stem].add(name.split(".")[1])
    shared = sorted(stem for stem, where in apps.items() if len(where) >= 3)
    say(f"stems in three or more apps: {len(shared)} {', '.join(shared)}")

    cryptic = sorted(name for name in modules if CRYPTIC.match(name.rpartition(".")[2]))
    say(f"cryptic file names: {len(cryptic)} {', '.join(cryptic)}")
    defined = Counter(
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and TALKING.match(node.name)
    )
    say(f"tell_, say_, part_, look_: {defined.total()} {', '.join(sorted(defined))}")
    for name in single:
        say(
            f"  {len(modules[name].read_text().splitlines()):4d}  {name}  <-  "
            f"{module_name(next(iter(importers[name])))}"
        )


if __name__ == "__main__":
    main()

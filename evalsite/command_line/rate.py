"""evalsite rate: a blind packet for a few people, from a file to a verified bundle."""

import json
import re
import subprocess
import sys
import time
import webbrowser
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import django

from evalsite.command_line.import_items import import_items
from evalsite.command_line.instruments import find_instrument
from evalsite.command_line.lock import only_one
from evalsite.command_line.output import DONE, NO, STOPPED, Refused, Result
from evalsite.command_line.packet_summary import write_summary
from evalsite.command_line.prepare import prepare_site
from evalsite.command_line.processes import (
    build_command,
    build_web_server,
    parse_port,
    refuse_taken_port,
    start,
    start_again,
    stop,
    take_signals,
    wait_until_ready,
)
from evalsite.command_line.site import HOST, forget_settings, make_site, use_further_host
from evalsite.lib.limited import read_json

PORT = 8038
MOST_PEOPLE = 100
MOST_ITEMS = 500  # of a set
# the person who answered last still reads the last page
SECONDS_AT_THE_END = 10
_SECONDS_BETWEEN_LOOKS = 1
_FOLDER, _STATE = ".evalsite", "rate.json"
BUNDLE, RATINGS, REPORT, SUMMARY, PLAN = (
    "bundle.zip",
    "ratings.csv",
    "report.html",
    "summary.md",
    "plan.txt",
)
RESULTS = (BUNDLE, RATINGS, REPORT, PLAN, SUMMARY)
_MARGIN = re.compile(
    r"(?P<system>\S.*?) (?:is )?not worse than (?P<other>\S.*?) by (?P<margin>[0-9]+(\.[0-9]+)?)"
)
_SENDER = "the person who sent you this link"
_CONSENT = """\
Your answers are kept in a folder on the computer of {sender}, and may be published without your name. Questions? Ask \
{contact}."""  # noqa: E501 (one paragraph)


# --- options ------------------------------------------------------------------------------


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Options of `evalsite import`, such as --map COLUMN=FIELD and --encoding NAME, say how to "
        "read the file."
    )
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="the outputs: CSV, JSON lines, or another form "
        "that the site imports")  # fmt: skip
    add("--instrument", required=True, metavar="X", help="what is asked: a file, or a name that "
        "`evalsite instruments` lists")  # fmt: skip
    add("--people", required=True, type=_read_people, metavar="N", help="how many people rate; "
        "each rates everything")  # fmt: skip
    add("--out", required=True, type=Path, metavar="DIR", help="the folder for the results; the "
        "same command goes on with what is in it")  # fmt: skip
    add("--primary", default="", metavar="CRITERION", help="the criterion that decides, by its "
        "key; fixed before the first answer")  # fmt: skip
    add("--margin", type=_read_margin, metavar="TEXT", help="a test fixed before the first "
        'answer, such as "B not worse than A by 0.2"; of decisions and preferences a share, such '
        "as 0.05; of magnitudes a ratio, such as 1.1")  # fmt: skip
    add("--contact", default="", metavar="WHO", help="whom people ask: a name, an e-mail address "
        f"or both; default: {_SENDER}")  # fmt: skip
    add("--practice", action="store_true", help="begin with the instrument's practice items")
    add("--port", type=parse_port, default=PORT, metavar="P", help=f"port on {HOST}; default: "
        f"{PORT}")  # fmt: skip
    add("--url", type=_read_url, metavar="U", help="where a tunnel of yours makes the "
        "port reachable, such as https://name.example; links then begin with it")  # fmt: skip
    add("--open", action="store_true", help="open the first link in a browser, and each next one "
        "when the one before is complete")  # fmt: skip
    add("--timeout", type=_read_hours, metavar="HOURS", help="stop after so many hours; the same "
        "command goes on")  # fmt: skip


def _read_people(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_PEOPLE):
        raise ArgumentTypeError(f"{text} can't be invited: write a number from 1 to {MOST_PEOPLE}")
    return int(text)


def _read_margin(text: str) -> dict[str, str]:
    match = _MARGIN.fullmatch(" ".join(text.split()))
    if match is None:
        raise ArgumentTypeError(f'“{text}” isn\'t a margin: write "B not worse than A by 0.2"')
    return {name: match[name] for name in ("system", "other", "margin")}


def _read_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address or parts.path.strip("/") or parts.query or parts.fragment:
        raise ArgumentTypeError(f"{text} is no address: write it as https://name.example")
    return text.rstrip("/")


def _read_hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0
    if not 0 < hours <= 24 * 365:
        raise ArgumentTypeError(f"{text} is no time: write hours, such as 8 or 0.5")
    return hours


# --- one folder, one packet ---------------------------------------------------------------


def run(options: Namespace) -> Result:
    folder = (options.out / _FOLDER).absolute()
    asked = _describe_asked(options)
    _refuse_other_results(options.out, folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="ascii")
    with only_one(folder):
        state = _read_state(folder)
        if state is not None:
            _refuse_other_options(state["asked"], asked, options.out)
            if state["files"]:
                return _describe_complete(options.out, state["files"])
        refuse_taken_port(options.port)
        take_signals()
        return _go_on(options, folder, asked, is_new=state is None)


def _describe_asked(options: Namespace) -> dict[str, Any]:
    """Return what makes this packet, by option; it can't be another one on another day."""
    path = Path(options.instrument)
    return {
        "FILE": _hash_file(options.file),
        "--instrument": _hash_file(path) if path.is_file() else options.instrument,
        "--people": options.people,
        "--primary": options.primary,
        "--margin": options.margin,
        "how the file is read": options.further,
        "--contact": options.contact,
        "--practice": options.practice,
    }


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _refuse_other_results(out: Path, folder: Path) -> None:
    """Refuse to write over results whose answers aren't in this folder, as in a fresh clone."""
    present = [name for name in RESULTS if (out / name).exists()]
    if present and not (folder / _STATE).exists():
        raise Refused(
            f"{out} has {present[0]} already, and the answers behind it aren't here. Choose "
            "another folder with --out."
        )


def _read_state(folder: Path) -> dict[str, Any] | None:
    """Return what was asked for and which files were written; None if nobody was invited yet."""
    path = folder / _STATE
    return read_json(path.read_bytes()) if path.exists() else None


def _write_state(folder: Path, asked: Mapping[str, Any], files: Mapping[str, str]) -> None:
    content = json.dumps({"asked": asked, "files": files}, ensure_ascii=False, indent=1)
    _replace(folder / _STATE, folder, lambda file: file.write(content.encode()))


def _replace(path: Path, folder: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file whole or not at all."""
    unfinished = folder / f"{path.name}.new"
    with unfinished.open("wb+") as file:
        write(file)
    unfinished.replace(path)


def _refuse_other_options(known: Mapping[str, Any], asked: Mapping[str, Any], out: Path) -> None:
    changed = [name for name in asked if known.get(name) != asked[name]]
    if changed:
        raise Refused(
            f"{out} belongs to another packet: {', '.join(changed)} "
            f"{'is' if len(changed) == 1 else 'are'} not the same. Repeat the first command, or "
            "choose another folder with --out."
        )


def _describe_complete(out: Path, files: Mapping[str, str]) -> Result:
    missing = [name for name in files if not (out / name).is_file()]
    if missing:
        raise Refused(f"All answers are in, but {out / missing[0]} is gone. Put it back.")
    text = "\n".join([f"Complete. {out} has:", *(f"  {name}" for name in files)])
    return Result(DONE, text, {"event": "complete", "folder": str(out), "files": files})


# --- from the file to the results ---------------------------------------------------------


def _go_on(options: Namespace, folder: Path, asked: Mapping[str, Any], *, is_new: bool) -> Result:
    if is_new:
        # left by a command that was stopped before anyone was invited
        for path in folder.glob("evalsite.sqlite3*"):
            path.unlink()
    forget_settings()
    make_site(folder, options.port)
    if options.url:
        use_further_host(urlsplit(options.url).hostname or "")
    django.setup()
    prepare_site()
    if is_new:
        result = make_study(options)
        if result.code != DONE:
            return result
        _write_state(folder, asked, {})
    from evalsite.decisions.plan_commitment import list_lines
    from evalsite.studies.models import Study

    study = Study.objects.get()
    lines = "".join(f"{line}\n" for line in list_lines(study))
    _replace(options.out / PLAN, folder, lambda file: file.write(lines.encode()))
    if not study.has_ended:
        try:
            is_complete = _collect(options, study, lines.strip())
        except KeyboardInterrupt:
            is_complete = False
        if not is_complete:
            return _describe_stopped(study)
    return _finish(options.out, folder, asked)


def make_study(options: Namespace) -> Result:
    """Make, launch and hand out the study that the options ask for; or say what is wrong."""
    from evalsite.core.accounts.researchers import find_or_make_first
    from evalsite.core.jobs.models import Job
    from evalsite.core.jobs.services import run_job
    from evalsite.fieldwork.invitations import Named, Terms, invite_people, parse_people
    from evalsite.fieldwork.launch import launch_study
    from evalsite.studies.instruments import FaultyInstrument
    from evalsite.studies.models import Study
    from evalsite.studies.services import create_study

    by, _password = find_or_make_first()
    contact = Named("", "")
    if options.contact:
        contact = parse_people(options.contact.replace("\n", " "))[0]
    try:
        chosen = _choose_instrument(options.instrument, by)
    except FaultyInstrument as error:
        faults = [
            {"code": fault.code, "place": fault.place, "message": str(fault)}
            for fault in error.faults
        ]
        text = "\n".join([f"{options.instrument} can't be used.", *error.messages])
        return Result(NO, text, {"faults": faults})
    study = create_study(
        by=by,
        title=options.file.stem[:120] or "Packet",
        **chosen,
        k=options.people,
        max_sets=None,
        contact_email=contact.email,
        consent=_CONSENT.format(sender=_SENDER, contact=options.contact or _SENDER),
        has_notice=True,
        recognise_days=0,
        is_practice_on=options.practice,
        # the people were chosen by name, and everyone rates everything
        is_eligibility_on=False,
        groups=Study.Groups.TOGETHER,
    )
    if options.practice and not study.config.practice:
        raise Refused("This instrument has no practice items. Leave --practice out.")
    if "--check" in options.further:
        raise Refused("Leave --check out: evalsite rate imports the file.")
    imported = import_items([str(study.pk), str(options.file.absolute()), *options.further])
    if imported.code != DONE:
        return imported
    if imported.text:
        options.output.say(imported.text)
    # one set: nobody is asked in the middle whether to go on
    study.set_size = min(study.items.main().count(), MOST_ITEMS)
    study.save(update_fields=["settings"])
    _plan(study, options, by)
    job = run_job(launch_study(study=study, by=by, may_lack=["organisation", "contact_email"]))
    if job.state != Job.State.DONE:
        raise Refused(f"The study can't be launched: {job.message}")
    people = [Named(f"Person {number}", "") for number in range(1, options.people + 1)]
    address = f"http://{HOST}:{options.port}"
    invite_people(study=study, people=people, terms=Terms(), site_address=address, by=by)
    return Result()


def _choose_instrument(name: str, by: Any) -> dict[str, Any]:
    from evalsite.builder.gallery import choose
    from evalsite.studies.instruments import import_instrument, read_file

    path = Path(name)
    if path.is_file():
        version, _is_new = import_instrument(data=read_file(path.read_bytes()), by=by)
        return {"instrument": version}
    if path.suffix == ".json":
        raise Refused(f"There is no file {name}. Check the path of --instrument.")
    return choose(find_instrument(name).value, by)


def _plan(study: Any, options: Namespace, by: Any) -> None:
    """Write the primary criterion and the margin into the plan, which the launch freezes."""
    from evalsite.decisions.frozen_plans import plan_of
    from evalsite.results.analysis_plan.plan_rows import QuestionForm, show_margin
    from evalsite.results.analysis_plan.stored import change_plan, list_analysed, mark_plan

    criteria = {criterion.key: criterion for criterion in list_analysed(study)}
    primary, margins = options.primary, list[dict[str, Any]]()
    if primary and primary not in criteria:
        raise Refused(f"There is no criterion {primary}. Choose one of: {', '.join(criteria)}.")
    if options.margin:
        key = primary or (next(iter(criteria)) if len(criteria) == 1 else "")
        if not key:
            raise Refused(f"A margin needs --primary: one of {', '.join(criteria) or 'none'}.")
        systems = list(study.systems.values_list("name", flat=True))
        for name in (options.margin["system"], options.margin["other"]):
            if name not in systems:
                raise Refused(
                    f"--margin names the system {name}. The file has: {', '.join(systems)}."
                )
        row = options.margin | {"relation": "not_worse", "criterion": key}
        # rows of a plan have percentage points where the option has a share
        margin = show_margin(study, row | {"margin": float(row["margin"])})
        form = QuestionForm(
            row | {"margin": margin}, systems=systems, criteria=[*criteria.values()]
        )
        if not form.is_valid():
            problems = [problem for errors in form.errors.values() for problem in errors]
            raise Refused(f"--margin: {' '.join(map(str, problems))}")
        margins = [form.cleaned_data]
    if primary or margins:
        values = {"primary": primary, "margins": margins}
        change_plan(study=study, values=values, seen=mark_plan(plan_of(study), []), by=by)


# --- while people answer ------------------------------------------------------------------


def _collect(options: Namespace, study: Any, line: str) -> bool:
    """Serve the links until everything is answered; False if the time is up before."""
    commands = {"web server": build_web_server(options.port), "job worker": build_command("worker")}
    deadline = time.monotonic() + options.timeout * 3600 if options.timeout else None
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands.items():
            processes[name] = start(command, sys.stderr)
        wait_until_ready(options.port, processes["web server"])
        links = _list_links(study, options.url or f"http://{HOST}:{options.port}")
        _announce(options, links, line)
        before: list[tuple[int, int]] = []
        opened = 0
        while True:
            start_again(processes, commands, options.output.say, sys.stderr)
            counts = _count(study)
            if counts != before:
                _say_progress(options, counts)
            before = counts
            is_open = [done < total for done, total in counts]
            if not any(is_open):
                break
            if options.open and is_open.index(True) + 1 > opened:
                opened = is_open.index(True) + 1
                webbrowser.open(links[opened - 1])
            if deadline is not None and time.monotonic() > deadline:
                return False
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        time.sleep(SECONDS_AT_THE_END)
    finally:
        stop(processes.values())
    return True


def _list_links(study: Any, address: str) -> list[str]:
    from django.urls import reverse

    experts = study.experts.select_related("link").order_by("pk")
    return [
        f"{address}{reverse('participant-home', args=[expert.link.token])}" for expert in experts
    ]


def _announce(options: Namespace, links: Sequence[str], line: str) -> None:
    options.output.write_event("ready", links=links, line=line, folder=str(options.out))
    options.output.say(f"{line}\n(Commit or publish this line before the first answer.)\n")
    for number, link in enumerate(links, start=1):
        options.output.say(f"Person {number}: {link}")
    options.output.say("\nCtrl-C stops. The same command goes on.")


def _count(study: Any) -> list[tuple[int, int]]:
    """Return of each person how many answers are in, and how many there will be."""
    from evalsite.fieldwork.invitations import list_progress

    return [(progress.done, progress.total) for progress in list_progress(study)]


def _say_progress(options: Namespace, counts: Sequence[tuple[int, int]]) -> None:
    by_person = [
        {"person": number, "done": done, "of": total}
        for number, (done, total) in enumerate(counts, start=1)
    ]
    done, total = (sum(part) for part in zip(*counts, strict=True))
    options.output.write_event("progress", done=done, of=total, by_person=by_person)
    each = ", ".join(f"person {row['person']}: {row['done']}" for row in by_person)
    options.output.say(f"{done} of {total} answers ({each})")


def _describe_stopped(study: Any) -> Result:
    done, total = (sum(part) for part in zip(*_count(study), strict=True))
    text = f"Stopped with {done} of {total} answers. Nothing is lost: the same command goes on."
    return Result(STOPPED, text, {"event": "stopped", "done": done, "of": total})


# --- results ------------------------------------------------------------------------------


def _finish(out: Path, folder: Path, asked: Mapping[str, Any]) -> Result:
    from evalsite.core.accounts.researchers import find_or_make_first
    from evalsite.data.bundle.format import Contents
    from evalsite.data.bundle.verify import verify_bundle
    from evalsite.data.bundle.write import write_bundle
    from evalsite.data.files.services import Choice, write_file
    from evalsite.fieldwork.launch import close_study
    from evalsite.handout.models import Annotation
    from evalsite.results.report.computation import compute_report
    from evalsite.results.report.files import write_page
    from evalsite.studies.models import Study

    study = Study.objects.get()
    if not study.has_ended:
        close_study(study=study, by=find_or_make_first()[0])
        study = Study.objects.get()
    if not Annotation.objects.filter(study=study).counted().exists():
        raise Refused("Nobody's answers are left: people deleted them. Choose a new folder.", NO)
    report = compute_report(study)
    # nobody answered entry questions, and comments may name people
    contents = Contents(has_entry_answers=False)
    _replace(out / RATINGS, folder, lambda file: write_file(study, Choice(file="ratings"), file))
    page = write_page(study, report)
    _replace(out / REPORT, folder, lambda file: file.write(page.encode()))
    _replace(out / BUNDLE, folder, lambda file: write_bundle(study.pk, contents, file))
    files = {name: _hash_file(out / name) for name in RESULTS if name != SUMMARY}
    summary = write_summary(study, report, files)
    _replace(out / SUMMARY, folder, lambda file: file.write(summary.encode()))
    with (out / BUNDLE).open("rb") as file:
        checked = verify_bundle(file)
    if not checked.is_sound:
        faults = [str(fault) for fault in checked.faults]
        return Result(NO, "\n".join([f"{out / BUNDLE} isn't sound.", *faults]), {"faults": faults})
    files[SUMMARY] = sha256(summary.encode()).hexdigest()
    _write_state(folder, asked, files)
    return _describe_complete(out, files)

"""evalsite serve: a whole site on this machine, until Ctrl-C."""

import subprocess
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

import django
from django.core.management import call_command

from evalsite.command_line.lock import only_one
from evalsite.command_line.output import Output, Result
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
from evalsite.command_line.site import HOST, PORT, find_data_folder, keep_port, make_site
from evalsite.lib.folders import IS_CHECKOUT, default_data_folder


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--port",
        type=parse_port,
        default=PORT,
        metavar="N",
        help=f"port on {HOST}; default: {PORT}",
    )
    add("--demo", action="store_true", help="make demo studies and simulate participants")
    add("--data", type=Path, metavar="DIR", help="the folder of the site, made if it is missing; "
        f"default: {default_data_folder()}")  # fmt: skip


def run(options: Namespace) -> Result:
    folder, address = find_data_folder(options.data), f"http://{HOST}:{options.port}"
    refuse_taken_port(options.port)
    make_site(folder, options.port)
    with only_one(folder):
        take_signals()
        keep_port(folder, options.port)
        options.output.say(f"Data folder: {folder}")
        django.setup()
        prepare_site()
        _say_account(options.output, folder, address)
        if options.demo:
            call_command("demo", "--first", "--at", address)
        try:
            _serve(options.output, address, options)
        except KeyboardInterrupt:
            options.output.say("Stopping.")
    return Result()


def _say_account(output: Output, folder: Path, address: str) -> None:
    from django.urls import reverse

    from evalsite.core.accounts.researchers import find_or_make_first

    user, password = find_or_make_first()
    output.say(f"\nResearchers sign in at  {address}{reverse('admin:index')}")
    output.say(f"  user      {user.get_username()}")
    if password:
        output.say(f"  password  {password}   (shown only now)\n")
    else:
        site = "" if folder == default_data_folder() else f"EVALSITE_DATA_DIR='{folder}' "
        command = ".venv/bin/python -m evalsite" if IS_CHECKOUT else "evalsite"
        output.say(f"  password  as before ({site}{command} manage password sets a new one)\n")


def _serve(output: Output, address: str, options: Namespace) -> None:
    """Run the web server and the worker, and start again whatever ends."""
    commands = {"web server": build_web_server(options.port), "job worker": build_command("worker")}
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands.items():
            processes[name] = start(command)
        wait_until_ready(options.port, processes["web server"])
        output.say(f"Ready: {address}/admin/  (Ctrl-C stops the site)")
        if options.demo:
            processes["demo crowd"] = start(build_command("manage", "demo", "--crowd"))
        while True:
            start_again(processes, commands, output.say)
            time.sleep(0.2)
    finally:
        stop(processes.values())

"""nginx, as deploy/ sets it up, keeps slow clients away from the web server's threads.

What is tested is deploy/nginx.conf: only ports, paths and the host name are replaced.
Caddy is tested with the rest of deploy/, in tests/deploy.
"""

import re
import shutil
from pathlib import Path

import pytest

from evalsite.command_line.processes import build_web_server
from evalsite.command_line.site import HOST
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.proxies import (
    FORM,
    NAME,
    ROOT,
    find_free_port,
    is_too_large,
    make_certificate,
    replace_all,
    running,
    time_beside_slow_clients,
)
from tests.support.webserver import WebServer

ORDINARY_POSTS = 1_000


def prepare_nginx(folder: Path, port: int, site_port: int) -> list[str]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx isn't installed (`make torture-crashes` installs it)")
    key, certificate = make_certificate(folder)
    example = replace_all(
        (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8"),
        {
            "listen 80;": f"listen {HOST}:{find_free_port()};",
            "listen 443 ssl;": f"listen {HOST}:{port} ssl;",
            "evalsite.example;": f"{NAME};",
            "/etc/ssl/evalsite.example/fullchain.pem": str(certificate),
            "/etc/ssl/evalsite.example/privkey.pem": str(key),
            "/var/log/nginx/evalsite.log": str(folder / "access.txt"),
            "/var/log/nginx/evalsite-error.log": str(folder / "errors.txt"),
            "http://127.0.0.1:8000": f"http://{HOST}:{site_port}",
        },
    )
    paths = " ".join(
        f"{part}_temp_path {folder / part};"
        for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder / 'pid'}; error_log {folder / 'errors.txt'} crit;\n"
        f"events {{ }}\nhttp {{ {paths}\n{example} }}\n",
        encoding="utf-8",
    )
    return [program, "-c", str(folder / "nginx.conf"), "-g", "daemon off; master_process off;"]


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_bad_81_slow_clients_hold_nobody_up_behind_nginx(database_url, tmp_path):
    home = mint_link(make_participant(make_study()))
    folder, port = tmp_path / "nginx", find_free_port()
    folder.mkdir()
    with (
        WebServer(database_url, tmp_path, EVALSITE_TEST_PROXY="on") as server,
        running(prepare_nginx(folder, port, server.port), folder, port) as proxy,
    ):
        form = {"Content-Type": FORM}
        ordinary = [
            proxy.ask("POST", f"{home}consent/", b"go=nowhere", **form)
            for _ in range(ORDINARY_POSTS)
        ]
        alone, beside_bodies, beside_all = time_beside_slow_clients(proxy, f"{home}consent/")
        refused = is_too_large(proxy)
        server.kill()
        without_site = proxy.ask("GET", home)
        logs = proxy.read_logs()

    assert set(ordinary) < {200, 302, 422}
    assert beside_bodies < 3 * alone
    assert beside_all < 3 * alone
    assert refused
    assert without_site == 502
    # the link is a secret, also where the proxy complains about a request
    assert home.split("/")[2] not in logs


def test_only_the_loopback_interface_is_listened_on():
    command = build_web_server(8000)

    unit = (ROOT / "deploy/evalsite-web.service").read_text(encoding="utf-8")

    assert command[command.index("--bind") + 1] == "127.0.0.1:8000"
    assert re.findall(r"--bind (\S+)", unit) == ["127.0.0.1:8000"]

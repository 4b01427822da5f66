"""Settings from the environment: what is read, and what is refused with a way out."""

import pytest

from evalsite.lib import env

STRONG = "kT9-" + "only-for-this-test" * 4


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    """None of the variables that the tests run with."""
    for name in env.NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        *(
            (env.read_key, key)
            for key in (
                "abc",
                STRONG[:49],
                "abcd" * 20,
                "only-for-debugging-" + STRONG,
                "django-insecure-" + STRONG,
            )
        ),
        (env.read_keys, f"{STRONG} abc"),
        *(
            (env.read_hosts, hosts)
            for hosts in ("evalsite.example, *", "*.example.org", ".com", ".", "evalsite..org")
        ),
        *(
            (env.read_address, address)
            for address in (
                "evalsite.example",
                "ftp://evalsite.example",
                "https://",
                "https://*.example.org",
                "https://evalsite.example/eval",
                "https://evalsite.example?x=1",
                "https://user@evalsite.example",
                "https://evalsite.example:port",
                "http://evalsite.example",
                "http://127.0.0.1.example",
                "http://10.0.0.1:8000",
            )
        ),
        *(
            (env.read_mail, server)
            for server in (
                "mail.example.org",
                "https://mail.example.org",
                "smtp://",
                "smtp://mail.example.org/folder",
                "smtp://mail.example.org:port",
            )
        ),
        (env.read_whole, "-1"),
        (env.read_whole, "9" * 5000),
        (env.read_address, "https://münchen.example"),
        (env.read_address, "https://user:secret@evalsite.example.org"),
        (env.read_flag, "yes"),
        *(
            (env.read_database, address)
            for address in ("mysql://localhost/evalsite", "sqlite:///", "postgresql://x:port/y")
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(monkeypatch, read, value):
    monkeypatch.setenv("EVALSITE_TEST", value)
    defaults = {env.read_flag: (False,), env.read_whole: (1,), env.read_database: ("",)}

    with pytest.raises(env.BadSetting, match="EVALSITE_TEST"):
        read("EVALSITE_TEST", *defaults.get(read, ()))


@pytest.mark.parametrize(
    "url",
    [
        "smtps://user:pass-word@mail.example.org",
        "smtp://user:pass-word/x@mail.example.org:587",
        "smtp://user:1#pass-word@mail.example.org",
        "smtp://user:[pass-word@mail.example.org",
    ],
)
def test_a_password_is_not_repeated(monkeypatch, url):
    monkeypatch.setenv("EVALSITE_MAIL", url)

    with pytest.raises(env.BadSetting) as refused:
        env.read_mail("EVALSITE_MAIL")

    assert "pass-word" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "hosts", "is_https"),
    [
        ("https://evalsite.example/", ("evalsite.example",), True),
        ("https://evalsite.example:8443", ("evalsite.example",), True),
        ("http://127.0.0.1:8000", ("127.0.0.1", "localhost", "[::1]"), False),
        ("http://localhost:8000", ("localhost", "127.0.0.1", "[::1]"), False),
        ("http://[::1]:8000", ("[::1]", "127.0.0.1", "localhost"), False),
        ("http://127.0.0.2", ("127.0.0.2", "127.0.0.1", "localhost", "[::1]"), False),
    ],
)
def test_the_address_gives_links_host_names_and_https(monkeypatch, url, hosts, is_https):
    monkeypatch.setenv("EVALSITE_URL", url)

    address = env.read_address("EVALSITE_URL")

    assert (address.url, address.hosts, address.is_https) == (url.rstrip("/"), hosts, is_https)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("", ("", 587, "", "")),
        ("smtp://mail.example.org", ("mail.example.org", 587, "", "")),
        ("smtp://mail.example.org:465", ("mail.example.org", 465, "", "")),
        (
            "smtp://eval%40example.org:p%2Fw%3A@mail.example.org:25",
            ("mail.example.org", 25, "eval@example.org", "p/w:"),
        ),
    ],
)
def test_the_mail_server_is_one_address(monkeypatch, url, server):
    monkeypatch.setenv("EVALSITE_MAIL", url)

    mail = env.read_mail("EVALSITE_MAIL")

    assert (mail.host, mail.port, mail.user, mail.password) == server


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EVALSITE_SECRET_KEY", STRONG),
        ("EVALSITE_DATABASE", "postgresql://user:pass@host/name"),
        ("EVALSITE_MAIL", "smtp://mail.example.org"),
        ("EVALSITE_SSO_SECRET", "secret"),
    ],
)
def test_what_holds_a_secret_may_come_from_a_file(monkeypatch, tmp_path, name, value):
    (tmp_path / "file").write_text(f"{value}\n")
    read = {
        "EVALSITE_SECRET_KEY": env.read_key,
        "EVALSITE_DATABASE": lambda name: env.read_database(name, "")["NAME"],
        "EVALSITE_MAIL": lambda name: env.read_mail(name).host,
        "EVALSITE_SSO_SECRET": env.read_secret,
    }[name]
    monkeypatch.setenv(name, value)
    expected = read(name)
    monkeypatch.delenv(name)

    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "file"))

    assert read(name) == expected
    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "absent"))
    with pytest.raises(env.BadSetting, match=f"{name}_FILE"):
        read(name)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("EVALSITE_ULR", "EVALSITE_URL"),
        ("EVALSITE_SECRETKEY", "EVALSITE_SECRET_KEY"),
        ("EVALSITE_DATADIR", "EVALSITE_DATA_DIR"),
        ("EVALSITE_DATA_DIR_FILE", "EVALSITE_DATA_DIR"),
        ("EVALSITE_HTTPS", "EVALSITE_URL"),
        ("EVALSITE_SITE_ADDRESS", "EVALSITE_URL"),
        ("EVALSITE_BEHIND_PROXY", "EVALSITE_URL"),
        ("EVALSITE_MAIL_PASSWORD_FILE", "EVALSITE_MAIL_FILE"),
        ("EVALSITE_UPLOAD_MAX_ROWS", "evalsite/limits.py"),
        ("EVALSITE_LOG_LEVEL", "evalsite/limits.py"),
        ("EVALSITE_", "EVALSITE_URL"),
    ],
)
def test_a_name_that_is_no_setting_is_refused_with_the_one_to_use(monkeypatch, name, named):
    monkeypatch.setenv(name, "")

    with pytest.raises(env.BadSetting, match=f"^{name} is no setting") as refused:
        env.refuse_unknown_names()

    assert named in str(refused.value)


def test_every_setting_and_the_variables_of_tests_pass(monkeypatch):
    for name in (*env.NAMES, "EVALSITE_CHROMIUM", "EVALSITE_TEST_LOOKS"):
        monkeypatch.setenv(name, "")

    env.refuse_unknown_names()


def test_a_file_of_a_secret_that_is_no_text_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"\xff")
    monkeypatch.setenv("EVALSITE_SECRET_KEY_FILE", str(path))

    with pytest.raises(env.BadSetting, match="EVALSITE_SECRET_KEY_FILE"):
        env.read_secret("EVALSITE_SECRET_KEY")

"""Collected scripts and styles are shorter, and mean the same."""

import os
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings
from playwright.sync_api import Page

from tests.support.emptying import locked

STYLES = sorted((settings.BASE_DIR / "static").glob("*.css"))
# a browser keeps the values of custom properties as they are written, spaces and all
READ_RULES = r"""text => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return [...sheet.cssRules].map((rule) => rule.cssText.replace(/,\s+/g, ","));
}"""


@pytest.fixture(scope="module")
def collected() -> Path:
    """The folder into which the first process of the run that asked for it collected them."""
    folder = Path(os.environ["EVALSITE_TEST_TEMPLATE"]).with_name("collected")
    with locked(folder.with_suffix(".lock")):
        if not folder.exists():
            collect(folder)
    return folder


def collect(folder: Path) -> None:
    kind = "evalsite.core.static_storage.SmallerStaticFiles"
    # tells Django to build its storage again: an earlier test may have used it
    with override_settings(
        STATIC_ROOT=folder, STORAGES=settings.STORAGES | {"staticfiles": {"BACKEND": kind}}
    ):
        call_command("collectstatic", interactive=False, verbosity=0)


@pytest.mark.torture
@pytest.mark.parametrize("style", STYLES, ids=lambda path: path.name)
def test_a_browser_reads_the_same_rules_in_the_collected_style(
    style: Path, collected: Path, page: Page
) -> None:
    short, long = (collected / style.name).read_text(), style.read_text()

    assert len(short) < len(long)
    assert page.evaluate(READ_RULES, short) == page.evaluate(READ_RULES, long)


@pytest.mark.slow
def test_each_collected_script_and_style_has_content_and_its_named_copy_too(
    collected: Path,
) -> None:
    kinds = [*collected.rglob("*.js"), *collected.rglob("*.css")]

    assert len(kinds) > 20
    assert [path for path in kinds if not path.stat().st_size] == []
    (named,) = (collected / "js").glob("annotate.*.js")
    assert named.read_text() == (collected / "js/annotate.js").read_text()


def test_comments_go_but_those_of_licences_stay(collected: Path) -> None:
    assert "// " not in (collected / "js/page.js").read_text()
    jquery = (collected / "admin/js/vendor/jquery/jquery.js").read_text()
    assert "Released under the MIT license" in jquery


def test_a_script_imports_another_by_the_name_of_its_content(collected: Path) -> None:
    (script,) = collected.glob("js/spans.????????????.js")
    (imported,) = collected.glob("js/marking.????????????.js")

    assert f'from"./{imported.name}"' in script.read_text()

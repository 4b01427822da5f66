"""Templates to download: each is a batch without a fault, in every protocol and every form."""

import io
import re
import zipfile
from typing import Any

import pytest
from django.test import Client

from evalsite.data.items.views import TEMPLATES
from evalsite.instruments.installed import installed_protocols
from tests.data.items.test_upload_pages import address
from tests.support.checking import check_file
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.one_case
@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
@pytest.mark.parametrize("form", TEMPLATES)
def test_template_uploads_without_a_fault_or_a_remark_on_its_form(protocol: str, form: str) -> None:
    study = make_study(protocol=protocol, items=0)
    data = TEMPLATES[form].write(study.config)

    checked = check_file(io.BytesIO(data), study=study)

    assert [str(fault) for fault in checked.faults] == []
    assert "" not in checked.mapping.values()
    assert not [one for one in checked.remarks if "Excel" in str(one) or "sheet" in str(one)]
    assert {item.extra.get("item", item.key) for item in checked.items} == {"example-1"}


@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
def test_every_form_holds_the_same_items(protocol: str) -> None:
    study = make_study(protocol=protocol, items=0)

    found = [
        check_file(io.BytesIO(template.write(study.config)), study=study).items
        for template in TEMPLATES.values()
    ]

    contents = [[(one.key, one.inputs, one.outputs) for one in items] for items in found]
    assert all(content == contents[0] for content in contents)


def test_cells_of_the_sheet_are_texts_also_below_the_example() -> None:
    study = make_study(items=0)

    with zipfile.ZipFile(io.BytesIO(TEMPLATES["excel"].write(study.config))) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        styles = book.read("xl/styles.xml").decode()

    # every column has a format, and every format but the default one is that of texts (49)
    formats = styles[styles.index("<cellXfs") : styles.index("</cellXfs>")]
    columns = re.findall(r"<col [^>]*>", sheet)
    assert columns
    assert all('style="' in column and 'style="0"' not in column for column in columns)
    assert re.findall(r'numFmtId="([0-9]+)"', formats)[1:] == ["49", "49"]


@pytest.mark.parametrize("form", TEMPLATES)
def test_page_of_items_offers_every_template(staff_client: Client, form: str) -> None:
    study = make_study(items=0)
    link = f"{address('batch-template', study)}?form={form}"

    page = staff_client.get(address("batch-list", study)).text
    sent = staff_client.get(link)

    assert f'href="{link}">{TEMPLATES[form].label}</a>' in page
    assert sent.content[:2] == (b"PK" if form == "excel" else sent.content[:2])
    assert TEMPLATES[form].ending in sent["Content-Disposition"]
    assert sent["X-Content-Type-Options"] == "nosniff"


def test_template_that_does_not_exist_is_not_found(staff_client: Client) -> None:
    address_of: Any = address("batch-template", make_study(items=0))

    assert staff_client.get(f"{address_of}?form=other").status_code == 404


@pytest.mark.parametrize("protocol", sorted(installed_protocols()))
@pytest.mark.parametrize("form", TEMPLATES)
def test_an_instrument_without_examples_has_a_template_of_an_invented_item(
    protocol: str, form: str
) -> None:
    study = make_study(protocol=protocol, items=0)
    bare = study.config.model_copy(update={"examples": [], "practice": []})

    checked = check_file(io.BytesIO(TEMPLATES[form].write(bare)), study=study)

    assert [str(fault) for fault in checked.faults] == []
    assert {item.extra.get("item", item.key) for item in checked.items} == {"example-1"}

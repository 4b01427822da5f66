"""Files that aren't UTF-8: the characters are chosen by how the first words then read."""

import io
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.data.models import Upload
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Fault, Refused
from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import choose_files, find_faults_in_turn
from tests.support.factories import make_user
from tests.support.uploads import GOOD, study

__all__ = ["study"]  # a fixture

POLISH = "Zażółć gęślą jaźń, Příliš žluťoučký kůň"
TEXTS = {
    "windows-1252": ("cp1252", "Flüssigkeit der Äußerung: “Öl”"),
    "windows-1250": ("cp1250", POLISH),
    "iso-8859-2": ("iso-8859-2", POLISH),
    "windows-1251": ("cp1251", "Привет, как дела? Хорошо"),
    "koi8-r": ("koi8-r", "Привет, как дела? Хорошо"),
    "windows-1253": ("cp1253", "Καλημέρα κόσμε, τι κάνεις"),
    "windows-1254": ("cp1254", "Şu köşe yaz köşesi ığdır İstanbul"),
    "windows-1255": ("cp1255", "שלום עולם מה שלומך"),
    "windows-1256": ("cp1256", "مرحبا بالعالم كيف حالك"),
    "windows-1257": ("cp1257", "Ąžuolas šešiolika ėžys"),
    "mac-roman": ("mac-roman", "Flüssigkeit der Äußerung: “Öl”"),
    "shift-jis": ("cp932", "今日は良い天気ですね。カタカナ"),
    "euc-jp": ("euc-jp", "今日は良い天気ですね。カタカナ"),
    "gb18030": ("gb18030", "今天天气很好,我们去公园"),
    "big5": ("big5", "今天天氣很好,我們去公園"),
    "euc-kr": ("cp949", "오늘 날씨가 좋네요 한국어"),
    "utf-16-le": ("utf-16-le", "Grüße an alle"),
    "utf-16-be": ("utf-16-be", "Grüße an alle"),
}


def write(name: str) -> bytes:
    codec, text = TEXTS[name]
    return f'id,text\n1,plain\n2,"{text}"\n'.encode(codec)


def refuse(data: bytes, options: dict[str, Any] | None = None) -> Fault:
    with pytest.raises(Refused) as refused:
        open_table(io.BytesIO(data), options=options)
    return refused.value.fault


@pytest.mark.parametrize("name", TEXTS)
def test_encoding_of_a_file_is_offered_with_its_words_and_reads_it(name: str) -> None:
    data = write(name)

    readings = dict(refuse(data).readings)
    table = open_table(io.BytesIO(data), options={"encoding": name})

    assert name in readings
    assert len(readings) <= 8
    assert re.split("[ ,:]", TEXTS[name][1])[0] in readings[name]
    assert [row.cells[1] for row in table.rows] == ["plain", TEXTS[name][1]]
    assert table.remarks.listed()


def test_words_that_mix_scripts_or_signs_come_last() -> None:
    first, *_ = refuse(write("mac-roman")).readings

    assert first == ("mac-roman", "“Flüssigkeit”, “Äußerung”, “Öl”")


def test_encoding_that_does_not_fit_is_refused_with_the_place_and_offers_others() -> None:
    data = b"id,text\n1,plain\n2,caf\xe9\n"

    fault = refuse(data, {"encoding": "shift-jis"})

    assert (fault.code, fault.line) == ("encoding_differs", 3)
    assert fault.readings[0] == ("windows-1252", "“café”")


@pytest.mark.parametrize(
    "data", [b"a\n\xc3\xa9\n", b"\xef\xbb\xbfa\n\xc3\xa9\n", "a\né\n".encode("utf-16")]
)
def test_file_in_unicode_is_read_as_such_whatever_was_chosen(data: bytes) -> None:
    table = open_table(io.BytesIO(data), options={"encoding": "windows-1251"})

    assert [row.cells for row in table.rows] == [["é"]]


@pytest.mark.parametrize("data", [b"\0\x01\xff\xfe" * 100, b"\xef\xbb\xbfa\n\xff"])
def test_what_is_no_text_offers_no_encoding(data: bytes) -> None:
    assert refuse(data).readings == ()


def test_odd_words_far_into_a_file_are_found() -> None:
    data = b"id,text\n" + b"1,plain\n" * 50_000 + "2,Привет\n".encode("cp1251")

    assert dict(refuse(data).readings)["windows-1251"] == "“Привет”"


@pytest.mark.django_db
def test_page_takes_the_choice_and_another_one_after_it(staff_client: Client) -> None:
    data = GOOD.replace("One.", "Привет как дела").encode("cp1251")
    file = SimpleUploadedFile("a.csv", data)
    page = staff_client.post(reverse("admin:study-new"), {"file": file}, follow=True)
    address = reverse("admin:new-upload", args=[Upload.objects.get().pk])
    assert "Windows-1251 (Cyrillic): “Привет”" in page.text

    page = staff_client.post(address, {"decision-encoding": "windows-1251"}, follow=True)
    assert "Привет как дела" in page.text
    report = Upload.objects.get().report
    assert [note["code"] for note in report["import_notes"]] == ["windows_1251"]
    page = staff_client.post(address, {"decision-encoding": "koi8-r"}, follow=True)
    assert "Привет как дела" not in page.text
    assert Upload.objects.get().report["encoding"] == "KOI8-R"
    staff_client.post(address, {"decision-encoding": "rot13"})
    assert Upload.objects.get().report["encoding"] == "KOI8-R"


@pytest.mark.django_db
def test_ratings_may_be_in_any_of_them(staff_client: Client) -> None:
    rows = "rater,item,system,score\nАнна,q1,a,4\nБорис,q1,a,5\nАнна,q1,b,1\nБорис,q1,b,2\n"
    file = SimpleUploadedFile("r.csv", rows.encode("cp1251"))
    staff_client.post(reverse("admin:new-ratings"), {"file": file}, follow=True)
    address = reverse("admin:new-ratings-file", args=[Upload.objects.get().pk])

    page = staff_client.post(address, {"encoding": "windows-1251"}, follow=True)

    assert Upload.objects.get().report["encoding"] == "Windows-1251"
    assert "Анна" in page.text


@pytest.mark.django_db
def test_command_lists_what_it_may_be_and_takes_it(
    study: Study, tmp_path: Any, capsys: Any
) -> None:
    (tmp_path / "a.csv").write_bytes(GOOD.replace("One.", "Привет").encode("cp1251"))
    command = ["import_batch", str(study.pk), str(tmp_path / "a.csv")]

    with pytest.raises(CommandError):
        call_command(*command)
    assert "--encoding windows-1251" in capsys.readouterr().out
    call_command(*command, "--encoding", "windows-1251")

    assert study.batches.get().import_notes[0]["code"] == "windows_1251"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("width", [1280, 360])
def test_characters_are_chosen_on_the_page(
    page: Page, live_server: Any, tmp_path: Any, width: int
) -> None:
    sign_in(page, live_server.url, make_user())
    page.set_viewport_size({"width": width, "height": 900})
    (tmp_path / "a.csv").write_bytes(GOOD.replace("One.", "Привет как дела").encode("cp1251"))
    page.goto(f"{live_server.url}{reverse('admin:study-new')}")
    choose_files(page, tmp_path / "a.csv")
    select = page.locator("select[name=decision-encoding]")
    box, words = select.bounding_box(), page.locator(".todo small").first.bounding_box()
    assert box
    assert words
    assert words["y"] > box["y"]
    assert box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert find_faults_in_turn(page) == []

    with page.expect_navigation():
        select.select_option("windows-1251")

    expect(page.locator(".panel")).to_contain_text("Привет как дела")

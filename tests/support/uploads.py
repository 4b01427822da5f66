"""What tests of uploads share: a good file, and a study to check files for."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from evalsite.data.items.items import CheckedItems as Checked
from tests.support.checking import check_file

HEADER = "item,mr,system,output"
GOOD = """\
item,mr,system,output
m1,name[A],alpha,One.
m1,name[A],beta,Two.
m1,name[A],gamma,Three.
"""

Check = Callable[..., Checked]


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Any:
    return make_study(items=0)


@pytest.fixture
def check(study: Any) -> Check:
    def run(content: str | bytes, mapping: dict[str, str] | None = None) -> Checked:
        data = content if isinstance(content, bytes) else content.encode()
        return check_file(io.BytesIO(data), study=study, mapping=mapping)

    return run


def told(checked: Checked) -> list[str]:
    return [str(fault) for fault in checked.faults]


def with_output(text: str) -> str:
    """A good file but for the text of its first output, written as it is."""
    return GOOD.replace("One.", text)

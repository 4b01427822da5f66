"""What a person says of a file, or of several: it beats whatever is guessed.

Kept with an upload, remembered for the next file with the same columns, and made of the options of
a command. `options` are the same for readers of files, as a dict.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from evalsite.data.tables.reader import NAMES
from evalsite.data.tables.roles import OUTPUTS, WORDS

# what systems are called instead, by their names in the file
SYSTEM_NAMES = "system_names"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileChoice(_Part):
    """What one of several files is for, and what its only system is called."""

    name: str
    role: Literal["inputs", "outputs", "reference", "settings", "-"]
    system: str = ""


class FileMapping(_Part):
    """What files are for, the field of each path, and the answer to each question."""

    files: tuple[FileChoice, ...] = ()
    fields: dict[str, str] = {}
    decisions: dict[str, bool | int | str | list[str] | None] = {}
    # new names of systems by those in the file
    systems: dict[str, str] = {}
    # the earlier file with the same columns whose fields these are
    copied_from: str = ""

    @classmethod
    def read(
        cls, fields: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None
    ) -> "FileMapping":
        """Return the mapping with these fields and options."""
        options = dict(options or {})
        names, systems = options.pop(NAMES, None) or {}, options.pop(SYSTEM_NAMES, None) or {}
        return cls(
            files=tuple(
                FileChoice(name=name, role=word) if word in WORDS
                else FileChoice(name=name, role=OUTPUTS, system=word)
                for name, word in names.items()
            ),
            fields=dict(fields or {}), decisions=options, systems=systems,
        )  # fmt: skip

    @property
    def options(self) -> dict[str, Any]:
        names = {file.name: file.system or file.role for file in self.files}
        return {
            **self.decisions,
            **({NAMES: names} if names else {}),
            **({SYSTEM_NAMES: self.systems} if self.systems else {}),
        }

    def change(self, **parts: Any) -> "FileMapping":
        """Return it with these parts in place of its own, which are checked."""
        return FileMapping.model_validate({**dict(self), **parts})

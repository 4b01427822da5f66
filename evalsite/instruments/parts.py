"""What all parts of an instrument have in common, and the faults that pydantic's errors mean."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, cached_property
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from evalsite.instruments.answer import LARGEST_NUMBER, MOST_DECIMALS, round_value
from evalsite.instruments.faults import Fault
from evalsite.instruments.texts import LANGUAGE

# where the keys x_... of a part are put: no key of the format is called so
_EXTRAS = "x_"
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_ADDRESS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")
# as long as a lease can be: an item that takes longer could never be answered in time
MOST_MINUTES = 1_440


class Null:
    """Stands for null while a part is read: it has no type, so every field refuses it."""


class Unknown(NamedTuple):
    """Stands for the value of an unknown key: the known key that looks most like it, or none."""

    nearest: str


NULL = Null()


class Part(BaseModel):
    """A part of an instrument: frozen, with known keys only. Keys that begin with x_ are kept."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_extra=lambda schema: _allow_x(schema)
    )
    extras: dict[str, Any] = Field({}, alias="x_", exclude=True)

    @model_validator(mode="before")
    @classmethod
    def mark_keys(cls, data: Any) -> Any:
        """Set x_ keys aside, and mark nulls and unknown keys."""
        if not isinstance(data, dict):
            return data
        names = list_keys(cls)
        marked: dict[Any, Any] = {}
        extras = {}
        for name, value in data.items():
            if name in names:
                marked[name] = NULL if value is None else value
            elif str(name).startswith("x_"):
                extras[name] = value
            else:
                known = [key for key in names if not key.startswith("x_")]
                marked[name] = Unknown(*get_close_matches(str(name), known, 1) or [""])
        return marked | ({_EXTRAS: extras} if extras else {})

    @model_serializer(mode="wrap")
    def write_extras(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return write(self) | self.extras

    def __hash__(self) -> int:
        """Hash its values, lists as tuples."""
        values = [self.__dict__[name] for name in self.__pydantic_fields__ if name != "extras"]
        if self.__pydantic_private__:
            values += self.__pydantic_private__.values()
        return hash(tuple([tuple(value) if type(value) is list else value for value in values]))

    @cached_property
    def fingerprint(self) -> int:
        """Return the same number for the same words and values, in one process.

        A hash of its values would be the same for -1 and -2.
        """
        return hash((repr(self), repr(self.__pydantic_private__)))

    def to_data(self) -> dict[str, Any]:
        """Return plain data; what has its default is left out."""
        return self.model_dump(exclude_defaults=True, by_alias=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, which computes again what the original has cached."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


def _allow_x(schema: dict[str, Any]) -> None:
    """Say in the JSON Schema of a part that keys x_... may have any value."""
    schema.get("properties", {}).pop(_EXTRAS, None)
    schema["patternProperties"] = {"^x_": {}}


@cache
def list_keys(part: type[Part]) -> frozenset[str]:
    """List the keys that a part may have in a file, old names among them."""
    keys: set[str] = set()
    for name, field in part.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices):
            keys |= {str(choice) for choice in field.validation_alias.choices}
        elif name != "extras":
            keys.add(field.alias or name)
    return frozenset(keys)


# --- values -----------------------------------------------------------------------


def refuse(code: str, message: str) -> PydanticCustomError:
    # braces of a message would be filled in
    return PydanticCustomError(code, message.replace("{", "(").replace("}", ")"))


def check_not_blank(text: str) -> str:
    if not text.strip():
        raise refuse("empty_text", "must not be empty")
    return text


def check_key(key: Any) -> str:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        similar = re.sub(r"[^a-z0-9]+", "_", str(key).lower()).strip("_")
        raise refuse(
            "bad_key",
            "must be lower-case letters, digits and _, starting with a letter, at most 40 "
            f"characters{f', such as {similar}' if _KEY.fullmatch(similar) else ''}",
        )
    return key


def check_instrument_key(key: str) -> str:
    if len(key) < 2:
        raise refuse("bad_key", "must have at least 2 characters")
    return key


def check_language(tag: Any) -> str:
    if not isinstance(tag, str) or not LANGUAGE.fullmatch(tag):
        raise refuse("bad_language", "must be a language tag such as en or pt-BR")
    return tag


def check_address(dotted: Any) -> str:
    if not isinstance(dotted, str) or not _ADDRESS.fullmatch(dotted):
        raise refuse("type", "must be a dotted name")
    return dotted


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_number(value: Any) -> int | float:
    """Check a number with at most three decimals; a whole one stays whole."""
    if not is_number(value) or value != value:
        raise refuse("type", "must be a number")
    if abs(value) > LARGEST_NUMBER:
        raise refuse("out_of_range", f"must be from {-LARGEST_NUMBER} to {LARGEST_NUMBER}")
    if isinstance(value, float) and round(value, MOST_DECIMALS) != value:
        raise refuse("type", f"must have at most {MOST_DECIMALS} decimals")
    return round_value(value)


def check_minutes(value: Any) -> int | float:
    if not is_number(value) or not value > 0:
        raise refuse("type", "must be a number above 0")
    if value > MOST_MINUTES:
        raise refuse("out_of_range", f"must be {MOST_MINUTES:,} or less")
    number: int | float = value
    return number


def check_weight(value: Any) -> int | float:
    if not is_number(value):
        raise refuse("type", "must be a number")
    if not 0 <= value <= LARGEST_NUMBER:
        raise refuse("out_of_range", "must be 0 or more")
    number: int | float = value
    return number


def check_unique(values: list[Any]) -> list[Any]:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise refuse("duplicate", f"has {value!r} twice")
    return values


def read_as(kind: Any) -> Callable[[Any], Any]:
    """Return a function that reads this kind of value, with faults at their places."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return lambda value: adapter.validate_python(value, strict=True)


# the JSON Schema says what editors can check while a file is written
Key = Annotated[
    str,
    PlainValidator(check_key),
    WithJsonSchema({"type": "string", "pattern": f"^{_KEY.pattern}$"}),
]
InstrumentKey = Annotated[Key, AfterValidator(check_instrument_key)]
Words = Annotated[
    str, AfterValidator(check_not_blank), WithJsonSchema({"type": "string", "pattern": r"\S"})
]
Names = Annotated[list[Words], Field(max_length=200)]
_LanguageText = Annotated[str, Field(pattern=f"^{LANGUAGE.pattern}$")]
_AddressText = Annotated[str, Field(pattern=f"^{_ADDRESS.pattern}$")]
Language = Annotated[str, PlainValidator(check_language, json_schema_input_type=_LanguageText)]
Address = Annotated[str, PlainValidator(check_address, json_schema_input_type=_AddressText)]
_Limited = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Numeric = Annotated[int | float, PlainValidator(check_number, json_schema_input_type=_Limited)]
_UpToMost = Annotated[float, Field(gt=0, le=MOST_MINUTES)]
Minutes = Annotated[int | float, PlainValidator(check_minutes, json_schema_input_type=_UpToMost)]
_From0 = Annotated[float, Field(ge=0, le=LARGEST_NUMBER)]
WeightValue = Annotated[int | float, PlainValidator(check_weight, json_schema_input_type=_From0)]


# --- faults -----------------------------------------------------------------------

# pydantic's types of errors, with our codes
_CODES = {
    "missing": "missing_key",
    "extra_forbidden": "unknown_key",
    "too_short": "length",
    "too_long": "length",
    "literal_error": "not_allowed",
    "greater_than": "out_of_range",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
    "recursion_loop": "too_deep",
    "recursion_depth_exceeded": "too_deep",
}
_TYPES = {
    "string_type": "must be text",
    "string_unicode": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "invalid_key": "must have text as its keys",
}


def read_part(part: type[Part], data: Any) -> tuple[Any, list[Fault]]:
    """Return the part, or None, and the faults of its shape."""
    try:
        return part.model_validate(data), []
    except ValidationError as error:
        faults = [_describe(detail, data) for detail in error.errors(include_url=False)]
        return None, list({(fault.code, fault.place): fault for fault in faults}.values())


def _describe(error: ErrorDetails, data: Any) -> Fault:
    place = name_place(error["loc"], data)
    kind, value, limits = error["type"], error["input"], error.get("ctx", {})
    if isinstance(value, Null):
        return Fault("type", place, "must not be null: leave the key out")
    if kind in _TYPES:
        return Fault("type", place, _TYPES[kind])
    code = _CODES.get(kind)
    if code is None:
        return Fault(kind, f"{place}.kind" if kind == "unknown_scale" else place, error["msg"])
    return Fault(code, place, _MESSAGES[kind](limits | {"input": value}))


def _describe_unknown(limits: Mapping[str, Any]) -> str:
    nearest = limits["input"].nearest if isinstance(limits["input"], Unknown) else ""
    return "is not a key of this format" + (f": did you mean {nearest}?" if nearest else "")


def _describe_length(limits: Mapping[str, Any]) -> str:
    bound = "min_length" if "min_length" in limits else "max_length"
    word = "at least" if bound == "min_length" else "at most"
    return f"must have {word} {limits[bound]} entries, and has {limits['actual_length']}"


_MESSAGES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda limits: "is required",
    "extra_forbidden": _describe_unknown,
    "too_short": _describe_length,
    "too_long": _describe_length,
    "literal_error": lambda limits: f"must be one of: {limits['expected']}",
    "greater_than": lambda limits: f"must be more than {limits['gt']}",
    "greater_than_equal": lambda limits: f"must be {limits['ge']} or more",
    "less_than_equal": lambda limits: f"must be {limits['le']} or less",
    "recursion_loop": lambda limits: "is nested too deep",
    "recursion_depth_exceeded": lambda limits: "is nested too deep",
}


def name_place(steps: Iterable[int | str], data: Any) -> str:
    """Write where an error is; the first criterion with a key is named by it."""
    names = [str(step) for step in steps if step != "[key]"]
    if len(names) > 1 and names[0] == "criteria" and isinstance(data, dict):
        listed = data.get("criteria")
        keys = [part.get("key") if isinstance(part, dict) else None for part in listed or ()]
        number = int(names[1])
        key = keys[number]
        if isinstance(key, str) and keys.index(key) == number:
            names[1] = key
    return ".".join(names)

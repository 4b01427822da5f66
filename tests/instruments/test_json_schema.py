"""The JSON Schema that is published with the docs."""

from django.conf import settings

from evalsite.instruments.json_schema import make_json_schema, write_json_schema
from evalsite.instruments.scales import KINDS

FILE = settings.BASE_DIR / "docs" / "instrument.schema.json"


def test_published_schema_is_that_of_the_model():
    # python -m evalsite.instruments.json_schema > docs/instrument.schema.json
    assert FILE.read_text(encoding="utf-8") == write_json_schema()


def test_every_kind_can_be_completed_and_keys_of_others_are_allowed():
    schema = make_json_schema()

    scale = schema["$defs"]["Criterion"]["properties"]["scale"]
    assert scale["discriminator"]["mapping"].keys() == KINDS.keys()
    for part in (schema, *schema["$defs"].values()):
        if "properties" in part:
            assert part["additionalProperties"] is False
            assert part["patternProperties"] == {"^x_": {}}
    assert '"null"' not in write_json_schema()

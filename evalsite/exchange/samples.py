"""A template to fill in: the columns that a protocol's batches have, with one example item."""

from evalsite.exchange.exporting import write_rows
from evalsite.protocol import ProtocolConfig


def write_template(config: ProtocolConfig) -> str:
    """A batch in the long form, with an example of the protocol's as its only item."""
    example = (*config.worked_examples, *config.practice)[0]
    inputs = [column.name for column in config.inputs if column.is_required]
    shared = [str(example.inputs.get(name, "")) for name in inputs]
    return write_rows(
        [
            ["item", *inputs, "system", "output"],
            *(
                ["example-1", *shared, f"system-{number}", text]
                for number, text in enumerate(example.outputs, start=1)
            ),
        ]
    )

"""The columns of metrics.csv, in the order of the file. It can be uploaded again as it is."""

from evalsite.exports.shared_columns import ID, NUMBER, TEXT, Column

METRICS = (
    Column(
        name="output_id",
        meaning="The output that the metric scored, as the other files name it.",
        type=ID,
        allowed="an item's id, # and the output's number in the item, such as item-7#2",
    ),
    Column(name="item", meaning="The item of the output, as in items.csv.", type=ID),
    Column(name="system", meaning="The system that produced the output.", type=TEXT),
    Column(
        name="metric",
        meaning="The automatic metric, as the uploaded file names it.",
        type=TEXT,
    ),
    Column(
        name="value",
        meaning="The score that the metric gave. No person gave it.",
        type=NUMBER,
        allowed="any number; which of two is better only the metric says",
    ),
)

"""The kinds of questions: one folder each, listed in `SCALES`. Nothing outside names them."""

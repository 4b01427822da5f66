"""From bytes to rows of text, whatever the format, with every fault and its place."""

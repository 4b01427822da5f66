"""Documents of blocks, and what writes them: HTML, LaTeX, Markdown, CSV and drawings."""

"""Files of scores that go back to the tools that outputs came from: a module each, and a line here.

Each names what the import kept of the tool's own ids, and writes one file of scores by them.
"""

from evalsite.data.files.ways_back import inspect, langfuse, langsmith, lm_eval, promptfoo

WAYS = {way.file: way for way in (
    inspect.WAY,
    promptfoo.WAY,
    langfuse.WAY,
    langsmith.WAY,
    lm_eval.WAY,
)}  # fmt: skip

"""Numbers only: agreement, comparison, power. No Django, no database, no drawing.

The tables are small and the machines are shared, so the linear algebra uses one thread: with two it
took five times as long. The variable must be set before numpy is imported; set OPENBLAS_NUM_THREADS
to use more.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

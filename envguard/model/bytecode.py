"""In which ways a compiled file doesn't fit its source."""

from __future__ import annotations

WITHOUT_SOURCE = "without a source"
CUT, OTHER_PYTHON, UNKNOWN = "cut off", "of another Python", "of an unknown kind"
OTHER_TIME, OTHER_SIZE = "of another time than its source", "of a source of another size"
UNUSED = frozenset({WITHOUT_SOURCE, CUT, OTHER_PYTHON, UNKNOWN, OTHER_TIME, OTHER_SIZE})
"""Why Python leaves a compiled file alone (``SourceLoader.get_code`` in ``importlib/_bootstrap_external.py``)."""

"""Names of more distributions than a quick run needs: ``ENVGUARD_TEST_MANY=1`` adds them, as the nightly session does."""

from __future__ import annotations

import os

MANY: tuple[str, ...] = (
    *("aiofiles", "aiosignal", "alabaster", "annotated-types", "anyio", "appdirs", "asgiref", "asttokens"),
    *("async-timeout", "babel", "beautifulsoup4", "bleach", "blinker", "cachetools", "cffi", "chardet"),
    *("cloudpickle", "colorama", "cycler", "decorator", "defusedxml", "dill", "distlib", "docutils", "einops"),
    *("executing", "fastjsonschema", "filelock", "flask", "fonttools", "frozenlist", "fsspec", "gitpython"),
    *("h11", "httpcore", "httpx", "imagesize", "importlib-metadata", "iniconfig", "itsdangerous", "jedi"),
    *("joblib", "jsonschema", "kiwisolver", "mako", "msgpack", "multidict", "networkx", "pandas", "pillow"),
    *("psutil", "protobuf", "pyparsing", "tqdm", "werkzeug", "wrapt", "yarl", "zipp"),
)
EXTRA: tuple[str, ...] = MANY if os.environ.get("ENVGUARD_TEST_MANY") == "1" else ()

"""Every parser of what others write, as one list: what it is called with, and what it may raise."""

from __future__ import annotations

import base64
import functools
import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

import envguard
from envguard.adapters import pages
from envguard.adapters.cache import entry_text
from envguard.adapters.pages import Caps
from envguard.adapters.provenance import direct_url, uv_pointer
from envguard.adapters.transport import Answer, BadAnswerError, UnreachableError
from envguard.errors import LockInvalidError, ProbeFailedError, SettingsInvalidError, TargetInvalidError
from envguard.formats import (
    baseline,
    cache_manifest,
    cache_trace,
    declared,
    decode,
    distinfo,
    hiding,
    index_settings,
    lock_note,
    lock_read,
    marker,
    mounts,
    pip_settings,
    probe,
    pyc,
    record,
    rehearsal,
    run_log,
    settings,
    toml_text,
    torch_source,
    torch_version,
    uv_settings,
    warm_trace,
    warmup_lock,
    wheel_json,
    zip_directory,
)
from envguard.formats.address import Address
from envguard.formats.imports import pylock as imported_pylock
from envguard.formats.imports import requirements as imported_requirements
from envguard.formats.lockfile import write_lock
from envguard.model.lock import Lock
from envguard.model.wheel_facts import EVERYTHING, WheelContent
from envguard.planning import cache_files, launchers
from tests.builders import digest, facts
from tests.fakes.fault_server import html
from tests.formats.test_probe import GPUS, LIVE

HOME = Path("/home")
WRONG = (toml_text.TomlError, decode.WrongValueError)


@dataclass(frozen=True)
class Parser:
    """``raises``: the documented errors, and no others. ``seeds``: right input to start from."""

    name: str
    call: Callable[[bytes], object]
    raises: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]

    def __call__(self, content: bytes) -> bool:
        """Whether it was read; what isn't documented passes through."""
        try:
            result = self.call(content)
            if isinstance(result, Iterator):
                for _ in result:
                    pass
        except self.raises:
            return False
        return True


def _text(call: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda content: call(content.decode("utf-8", "surrogateescape"))


def _installed(content: bytes) -> object:
    places = {
        "site": "/v/lib/python3.12/site-packages",
        "prefix": "/v",
        "scripts": "/v/bin",
        "headers": "/v/include",
    }
    return record.fingerprint(record.read_installed(content, "demo-1.0.dist-info", **places).rows.values())


def _in_wheel(content: bytes) -> object:
    return record.read_wheel(content, "demo-1.0.dist-info", ["demo/__init__.py"])


def _zip(content: bytes) -> object:
    end = zip_directory.find_end(content, len(content))
    entries = zip_directory.read_directory(content[end.start : end.stop], end)
    for entry in entries:
        start = zip_directory.content_start(content[entry.offset : entry.stop], entry)
        at = entry.offset + start
        zip_directory.unpacked(content[at : at + entry.packed], entry, 1 << 20)
    return entries


def _page(kind: str) -> Callable[[bytes], object]:
    def call(content: bytes) -> object:
        address = Address.parse("https://index.invalid/simple/demo/")
        answer = Answer(200, {"content-type": kind}, address, lambda: iter([content]))
        caps = Caps()
        return pages.files(pages.received(answer, caps), "demo", caps)

    return call


def _pyc(content: bytes) -> object:
    pyc.parse_name(content.decode("utf-8", "surrogateescape"))
    pyc.is_hashed(content[:16])
    return pyc.misfit(content, "cpython-312", 10**18, 100)


def _launcher(content: bytes) -> object:
    launchers.interpreter(content)
    return launchers.undo(content, folders=["/v/bin"], target="demo:main")


def _manifest(content: bytes) -> object:
    files = cache_manifest.load(content)
    cache_files.check(files)
    return files


def _group(content: bytes) -> object:
    return cache_files.with_paths(cache_files.without_paths(content), "/there")


def _combined(wishes: index_settings.Wishes) -> object:
    return index_settings.combine([wishes], default="https://index.invalid/simple", home=HOME)


def _pip_conf(content: bytes) -> object:
    values = pip_settings.read(content.decode("utf-8", "replace"), "pip.conf")
    wishes = pip_settings.wishes([("pip.conf", values)], {}, HOME)
    return _combined(wishes)


def _uv_toml(content: bytes) -> object:
    return _combined(uv_settings.table(toml_text.parse(content), "uv.toml", HOME))


def _settings(content: bytes) -> object:
    whole = settings.read_settings(content)
    return uv_settings.own(whole.index, "pyproject.toml", HOME) if whole.index is not None else whole


@functools.cache
def _surroundings() -> tuple[Any, Any]:
    from packaging import markers, tags

    return markers.default_environment(), tuple(tags.sys_tags())


def _pylock(content: bytes) -> object:
    environment, tags = _surroundings()
    return imported_pylock.read(content, "pylock.toml", environment=environment, tags=tags)


def _requirements(content: bytes) -> object:
    environment, _ = _surroundings()
    return imported_requirements.read(
        content, "requirements.txt", environment=environment, reader=lambda path: content
    )


def _declared(kind: declared.Kind, name: str) -> Callable[[bytes], object]:
    return lambda content: declared.read(kind, content, name)


def _address(content: bytes) -> object:
    whole = Address.parse(content.decode("utf-8", "surrogateescape"))
    return str(whole), repr(whole), whole.bare, whole.origin, whole.local


def _zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("demo/__init__.py", "A = 1\n" * 50)
        archive.writestr("demo-1.0.dist-info/METADATA", "Name: demo\nVersion: 1.0\n")
    return stream.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


_SHA = "a" * 64
_B64 = base64.urlsafe_b64encode(bytes(32)).rstrip(b"=").decode()
_LOCK = write_lock(Lock("good", facts()))
_STATIC = subprocess.run(
    [sys.executable, "-I", "-S", "-B", str(Path(envguard.__file__).parent / "probe" / "static.py"), "", ""],
    capture_output=True,
    check=True,
    timeout=60,
).stdout
_GRAPH = "fxgraph/aa/faa" + "q" * 49 + "/entry"
_TRACE = (
    b"V1129 10:00:00.000 1 torch/x.py:1] "
    b'{"artifact": {"name": "fx_graph_cache_miss", "encoding": "json"}, "rank": 0}\n'
    b'\t{"key": "f' + b"a" * 51 + b'", "components": ["[' + b"b" * 51 + b'] torch_version: 2.11"]}\n'
)
_RUN = _json(
    {
        "schema": "envguard-run-1",
        "process": {"role": "main", "rank": 0},
        "torch": {"build": "2.11.0", "git_commit": None},
        "guard": {"after_warm": "error", "flag": "free"},
        "end": {"how": "exit", "detail": None, "flag_stuck": False},
        "threads": [{"thread": "main", "device": "cuda:0"}],
        "counts": [],
        "throughput": [{"thread": "main", "device": "cuda:0", "steps": 3, "tokens_per_second": 1.5}],
        "memory": [{"device": "cuda:0", "name": "x", "peak_allocated": 1, "peak_reserved": 2, "context": -1}],
        "hazards": [{"hazard": "x", "detail": "y", "times": 1}],
    }
)
_PAGE = {
    "meta": {"api-version": "1.0"},
    "name": "demo",
    "files": [
        {
            "filename": "demo-1.0-py3-none-any.whl",
            "url": "demo-1.0-py3-none-any.whl",
            "hashes": {"sha256": _SHA},
            "size": 7,
            "upload-time": "2026-01-01T00:00:00Z",
        }
    ],
}

PARSERS: Sequence[Parser] = (
    Parser("toml-text", toml_text.parse, (toml_text.TomlError,), (_LOCK, b'a."b".c = 1\n[[x]]\n')),
    Parser("lock", lambda content: lock_read.read_lock(content, "good.toml"), (LockInvalidError,), (_LOCK,)),
    Parser("settings", _settings, (*WRONG, SettingsInvalidError), (b'[tool.envguard]\nlock = "a.toml"\n',)),
    Parser(
        "baseline",
        baseline.read_baseline,
        WRONG,
        (b'[[policy.ignore]]\ncheck = "files"\nsubject = "x"\nby = "a"\nreason = "b"\nuntil = 2027-01-01\n',),
    ),
    Parser(
        "record-installed",
        _installed,
        (ValueError,),
        (f"demo/__init__.py,sha256={_B64},5\n../../../bin/x,,\ndemo-1.0.dist-info/RECORD,,\n".encode(),),
    ),
    Parser("record-wheel", _in_wheel, (ValueError,), (f"demo/__init__.py,sha256={_B64},5\n".encode(),)),
    Parser("rows", record.load_rows, (ValueError,), (record.dump_rows({}),)),
    Parser(
        "metadata", distinfo.read_metadata, (ValueError,), (b"Name: demo\nVersion: 1.0\nRequires-Dist: x\n\nbody",)
    ),
    Parser("wheel-tags", distinfo.read_wheel_tags, (), (b"Wheel-Version: 1.0\nTag: py3-none-any\nBuild: 1\n",)),
    Parser("installer", distinfo.read_installer, (), (b"uv\n",)),
    Parser("entry-points", distinfo.read_entry_points, (ValueError,), (b"[console_scripts]\nx = demo:main\n",)),
    Parser(
        "direct-url",
        direct_url.read_source,
        (),
        (_json({"url": "https://u:p@h/x.whl", "archive_info": {"hashes": {"sha256": _SHA}}}),),
    ),
    Parser("pth", _text(hiding.hiding), (), (b"import os; exec('x')\n", b"/a/path\n")),
    Parser("pyc", _pyc, (), (bytes(16), b"x.cpython-312.opt-1.pyc")),
    Parser(
        "launcher",
        _launcher,
        (),
        (
            b"#!/v/bin/python\nimport sys\nfrom demo import main\n"
            b"if __name__ == '__main__':\n    sys.exit(main())\n",
        ),
    ),
    Parser("zip-directory", _zip, (zip_directory.BadZipError,), (_zipped(),)),
    Parser(
        "marker",
        marker.load,
        (ValueError,),
        (marker.dump(marker.Marker("x", {"demo": marker.MarkedWheel("demo.whl", digest("a"), 1, digest("b"))})),),
    ),
    Parser("lock-note", lock_note.load, (ValueError,), (lock_note.dump("/a/lock.toml", []),)),
    Parser("probe-static", _text(probe.static), (ProbeFailedError, TargetInvalidError), (_STATIC,)),
    Parser("probe-live", _text(probe.live), (ProbeFailedError, TargetInvalidError), (_json(LIVE),)),
    Parser("probe-gpus", _text(probe.gpus), (ProbeFailedError, TargetInvalidError), (_json(GPUS),)),
    Parser(
        "index-page-json",
        _page("application/vnd.pypi.simple.v1+json"),
        (BadAnswerError, UnreachableError),
        (_json(_PAGE),),
    ),
    Parser(
        "index-page-html",
        _page("text/html"),
        (BadAnswerError, UnreachableError),
        (html("demo-1.0-py3-none-any.whl").body,),
    ),
    Parser(
        "uv-wheel-pointer",
        uv_pointer.read_wheel_pointer,
        (),
        (msgpack.packb(["abc", [["sha256", _SHA]], "demo.whl", 1]),),
    ),
    Parser("uv-sdist-pointer", uv_pointer.read_sdist_pointer, (), (msgpack.packb(["abc", [["sha256", _SHA]]]),)),
    Parser("run-log", run_log.read_run_log, (decode.WrongValueError,), (_RUN,)),
    Parser("trace", lambda content: cache_trace.read_trace(io.BytesIO(content)), (), (_TRACE,)),
    Parser("warm-trace", lambda content: warm_trace.read_process(io.BytesIO(content)), (), (_TRACE,)),
    Parser("components", cache_trace.load_graphs, (ValueError,), (cache_trace.dump_graphs([]),)),
    Parser(
        "cache-manifest",
        _manifest,
        (ValueError,),
        (cache_manifest.HEAD + f"{_SHA} 5 0600 {_GRAPH}\n".encode(),),
    ),
    Parser("triton-group", _group, (ValueError,), (_json({"child_paths": {"a.json": "/x/a.json"}}),)),
    Parser("cache-entry", entry_text.read_entry, (), (pickle.dumps({"source_code": "x", "n": [1, 2]}),)),
    Parser("pip-conf", _pip_conf, (SettingsInvalidError,), (b"[global]\nindex-url = https://u:p@h/simple\n",)),
    Parser(
        "uv-toml",
        _uv_toml,
        (toml_text.TomlError, SettingsInvalidError),
        (b'[[index]]\nurl = "https://h/simple"\nname = "x"\n[pip]\nno-index = true\n',),
    ),
    Parser("address", _address, (ValueError,), (b"https://u:p@h:80/x?y#z", b"file:///a%20b")),
    Parser(
        "pylock",
        _pylock,
        (LockInvalidError,),
        (
            b'lock-version = "1.0"\ncreated-by = "x"\n[[packages]]\nname = "demo"\nversion = "1.0"\n'
            b'wheels = [{ name = "demo-1.0-py3-none-any.whl", url = "https://e.invalid/demo-1.0-py3-none-any.whl",'
            b' size = 7, hashes = { sha256 = "' + _SHA.encode() + b'" } }]\n',
        ),
    ),
    Parser(
        "requirements", _requirements, (LockInvalidError,), (b"demo==1.0 --hash=sha256:" + _SHA.encode() + b"\n",)
    ),
    Parser("torch-version", torch_version.read_torch_version, (ValueError,), (b"__version__ = '2.11.0+cu130'\n",)),
    Parser("torch-source", _text(lambda text: torch_source.signs({"a.py": text})), (), (b"def f(): pass\n",)),
    Parser("mounts", _text(mounts.mounts), (), (b"36 35 98:0 / /mnt rw - ext3 /dev/root rw\n",)),
    Parser("rehearsal", _text(lambda text: rehearsal.read_pass(text, warm=True)), (), (b'{"schema": 1}',)),
    Parser(
        "wheel-content",
        wheel_json.load_content,
        (ValueError,),
        (wheel_json.dump_content(WheelContent(EVERYTHING)),),
    ),
    Parser("flex-words", _text(warmup_lock.flex_from_words), (decode.WrongValueError,), (b"lengths=8,heads=2",)),
    *(
        Parser(f"declared-{kind.name.lower()}", _declared(kind, name), (), (seed,))
        for kind, name, seed in (
            (
                declared.Kind.PYPROJECT,
                "pyproject.toml",
                b'[project]\nname = "x"\ndependencies = ["torch==2.11"]\n',
            ),
            (declared.Kind.UV_LOCK, "uv.lock", b'version = 1\n[[package]]\nname = "torch"\nversion = "2.11"\n'),
            (
                declared.Kind.REQUIREMENTS,
                "requirements.txt",
                b"torch==2.11.0+cu130 ; python_version > '3'\n-r x\n",
            ),
        )
    ),
    *(
        Parser(f"declared-{kind.name.lower()}", _declared(kind, kind.name), (), (seed,))
        for kind, seed in (
            (kind, b"FROM pytorch/pytorch:2.11\ndependencies:\n  - pytorch=2.11\n")
            for kind in declared.Kind
            if kind not in (declared.Kind.PYPROJECT, declared.Kind.UV_LOCK, declared.Kind.REQUIREMENTS)
        )
    ),
)

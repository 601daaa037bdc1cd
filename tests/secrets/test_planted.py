"""No secret gets out: not printed, not written, not kept, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fault_server import FaultServer, Reply
from tests.faults.toy import Toy
from tests.secrets.planted import DEAD, Planted

WHEELS = [(name, {f"{name}.py": "A = 1\n"}) for name in ("vcs", "archive", "ssh", "folder")]

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("verify",),
    ("verify", "--full", "--format", "json"),
    ("verify", "--metadata", "--html", "../results/page.html"),
    ("verify", "--format", "sarif"),
    ("verify", "--format", "junit"),
    ("verify", "--format", "github"),
    ("verify", "--format", "gitlab"),
    ("verify", "--live"),
    ("diff", "lockfiles/good.toml", "lockfiles/good.toml", "--format", "json"),
    ("restore", "--plan"),
    ("restore", "--plan", "--offline", "--format", "json"),
    ("identify",),
    ("identify", "--format", "json"),
    ("export", "--format", "pylock"),
    ("export", "--format", "requirements"),
    ("export", "--format", "dockerfile"),
    ("export", "--format", "conda"),
    ("export", "--format", "spdx"),
    ("export", "--format", "cyclonedx"),
    ("doctor",),
    ("doctor", "--format", "json"),
    ("cache", "show"),
    ("cache", "show", "--format", "json"),
    ("cache", "explain", "--format", "json"),
    ("cache", "save"),
    ("store", "ls", "--format", "json"),
    ("store", "check"),
    ("store", "repair"),
    ("store", "gc"),
    ("lint",),
    ("lint", "--format", "sarif"),
    ("lint", "--format", "json"),
    ("find", "torch", "--commit", "70d99e9"),
    ("inspect", "demo==1.0"),
    ("challenge",),
    ("list",),
    ("init", "--yes", "--offline", "--name", "other"),
    ("run", "--force", "all", "--", "true"),
    ("run", "lockfiles/good.toml", "--", "true"),
    ("snapshot", "-o", "lockfiles/private.toml", "--record-index-urls", "--offline"),
    ("snapshot", "-o", "lockfiles/claims.toml", "--from", "requirements.txt"),
    ("snapshot", "-o", "lockfiles/uvlock.toml", "--from", "uv.lock"),
)


SLOW = tuple(
    one
    for one in COMMANDS
    if one[0] in ("export", "find", "challenge", "store", "identify", "lint", "verify", "diff", "doctor")
    and one[-1] not in ("verify", "json", "doctor", "lint", "pylock")
)
"""What goes the same way as another that is not left to the night."""


@pytest.fixture(scope="module")
def index() -> Iterator[FaultServer]:
    with FaultServer() as server:
        for name in ("demo", "vcs", "archive", "ssh", "folder", "torch"):
            server.on(f"/simple/{name}/", Reply(403))
            server.on(f"/b/{name}/", Reply(302, {"Location": f"http://{DEAD}/b/{name}/"}))
        yield server


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, index: FaultServer) -> Planted:
    toy = Toy(tmp_path_factory.mktemp("secrets") / "toy").make(WHEELS).graphs()
    (toy.root / "results").mkdir()
    made = Planted(toy, index.authority).everywhere()
    assert len(made.words) >= 40
    return made


@pytest.fixture(scope="module")
def taken(planted: Planted, index: FaultServer) -> Planted:
    """With a lock; the indexes say that there is nothing, or that nobody may look."""
    ended = planted.toy.run("snapshot", "-o", planted.toy.lock)
    assert planted.found(ended.whole) == []
    told = {asked.headers["authorization"] for asked in index.asked if "authorization" in asked.headers}
    assert len(told) >= 5, "the secrets were not even used: nothing is proven"
    return planted


def test_a_snapshot(taken: Planted) -> None:
    assert taken.found(taken.toy.lock.read_bytes()) == []
    assert taken.on_disk() == {}


@pytest.mark.parametrize(
    "command",
    [pytest.param(one, marks=[pytest.mark.nightly] if one in SLOW else []) for one in COMMANDS],
    ids=" ".join,
)
def test_no_command_tells(taken: Planted, command: tuple[str, ...]) -> None:
    ended = taken.toy.run(*command, code=None)
    assert ended.whole
    assert "Traceback" not in ended.whole
    assert taken.found(ended.whole) == []
    assert taken.on_disk() == {}


@pytest.mark.nightly
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_that_is_not_there(taken: Planted, variable: str) -> None:
    word = f"Pr0xyS3cret{variable}"
    taken.words[variable] = word
    before = dict(taken.toy.variables)
    taken.toy.variables |= {variable: f"http://u:{word}@{DEAD}"}
    try:
        ended = taken.toy.run("inspect", "demo==1.0", code=None)
    finally:
        taken.toy.variables.clear()
        taken.toy.variables.update(before)
    assert "error[" in ended.err
    assert taken.found(ended.whole) == []


@pytest.mark.parametrize(
    "address",
    [
        "http://u:{}@127.0.0.1:9/demo-1.0-py3-none-any.whl",
        "http://{}@127.0.0.1:9/demo-1.0-py3-none-any.whl",
        "http://127.0.0.1:9/demo-1.0-py3-none-any.whl?X-Amz-Signature={}",
        "http://127.0.0.1:9/demo-1.0-py3-none-any.whl?token={}#sha256=1",
        "ftp://u:{}@127.0.0.1/demo-1.0-py3-none-any.whl",
        "http://u:{}/x@127.0.0.1:9/demo-1.0-py3-none-any.whl",
        "https://u:{} @127.0.0.1:9/demo-1.0-py3-none-any.whl",
        "http://u:{}@[::1/demo-1.0-py3-none-any.whl",
        "//u:{}@127.0.0.1/demo-1.0-py3-none-any.whl",
        "git+ssh://git:{}@127.0.0.1/x",
    ],
)
def test_an_address_on_the_command_line(taken: Planted, address: str) -> None:
    ended = taken.toy.run("inspect", address.format("C0mmandL1ne"), code=None)
    assert ended.code in (2, 3)
    assert "C0mmandL1ne" not in ended.whole


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pip.conf", "[global\nindex-url = http://u:{}@h/\n"),
        ("pip.conf", "[global]\nindex-url http://u:{}@h/\n"),
        ("pip.conf", "[global]\nindex-url = http://u:{}/@h\n"),
        ("uv.toml", '[[index]]\nurl = "http://u:{}@h/'),
        ("uv.toml", '[[index]]\nurl = "http://u:{}/@h"\n'),
        ("uv.toml", 'index-url = ["http://u:{}@h"]\n'),
        ("uv.toml", '[[index]]\nname = "http://u:{}@h"\nurl = "x"\n'),
        ("uv.toml", 'pip = "{}"\n'),
        ("project/pyproject.toml", '[tool.envguard]\nlock = "a\n# http://u:{}@h'),
        ("project/pyproject.toml", '[tool.envguard.index]\nx = "http://u:{}/@h"\n'),
        ("project/pyproject.toml", '[tool.envguard.index]\n"http://u:{}@h" = 3\n'),
        (".netrc", "machine x login y password {} z\nmachine"),
    ],
    ids=lambda value: value.replace("\n", " ")[:40],
)
def test_settings_that_cannot_be_read(tmp_path: Path, file: str, text: str) -> None:
    toy = Toy(tmp_path / "toy").make()
    toy.variables |= {"PIP_CONFIG_FILE": str(toy.root / "pip.conf"), "UV_CONFIG_FILE": str(toy.root / "uv.toml")}
    toy.variables |= {"UV_NO_CONFIG": "", "UV_DEFAULT_INDEX": f"http://{DEAD}/simple"}
    for name in ("pip.conf", "uv.toml"):
        (toy.root / name).write_text("")
    (toy.root / file).write_text(text.format("Br0kenF1le"))
    ended = toy.run("inspect", "demo==1.0", code=(2, 3))
    assert "Br0kenF1le" not in ended.whole
    assert "Traceback" not in ended.whole


@pytest.mark.parametrize("chained", [False, True])
def test_a_fault_of_our_own(
    taken: Planted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chained: bool
) -> None:
    """The one place that prints what nobody expected: an exception's text, and that of what caused it."""
    from envguard.cli import wiring
    from envguard.cli.main import main

    for name, value in taken.toy.environ.items():
        monkeypatch.setenv(name, value)
    told = " ".join(f"{name}={value}" for name, value in taken.toy.environ.items())
    fired = []

    def failing() -> None:
        fired.append(True)
        try:
            raise ValueError(told)  # noqa: TRY301
        except ValueError as cause:
            if chained:
                raise RuntimeError("https://u:An0therOne@host/?token=abcdefgh") from cause
            raise

    monkeypatch.setattr(wiring, "surroundings", failing)
    assert main(["verify"]) == 70
    err = capsys.readouterr().err
    assert fired
    assert "error[bug]" in err
    assert "Traceback" in err
    assert "An0therOne" not in err
    assert "=abcdefgh" not in err
    unnamed = {"LD_LIBRARY_PATH"}  # a word in a path has no mark by which to know it
    assert set(taken.found(err)) <= unnamed

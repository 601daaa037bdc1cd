"""The stat index: what it saves, and that it never changes a verdict."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envguard.adapters import hashing, judging, site, stat_index
from envguard.adapters.stat_index import Kept, StatIndex, clock, settled
from envguard.formats.record import dump_rows
from envguard.model.facts import FileFact
from envguard.model.target import Level
from tests.adapters.small import SOABI, Small, copied


def settle() -> None:
    """Long enough for every time in the environment to be past."""
    time.sleep(0.15)


class Work(NamedTuple):
    """Paths that were hashed, and dist-infos that were parsed."""

    hashed: list[str]
    parsed: list[str]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """What a look does, counted."""
    done = Work([], [])
    see, read, listing = hashing.see, site.read, site.read_listing

    def counted_see(wanted: hashing.Wanted) -> object:
        done.hashed.append(wanted.path)
        return see(wanted)

    def counted_read(layout: object, library: int, root: int, folder: str) -> object:
        done.parsed.append(folder)
        return read(layout, library, root, folder)  # type: ignore[arg-type]

    def counted_listing(layout: object, library: int, folder: str) -> object:
        done.parsed.append(folder)
        return listing(layout, library, folder)  # type: ignore[arg-type]

    monkeypatch.setattr(judging, "see", counted_see)
    monkeypatch.setattr(site, "read", counted_read)
    monkeypatch.setattr("envguard.adapters.claims.read_listing", counted_listing)
    return done


@pytest.fixture
def warm(small: Small, work: Work) -> Small:
    """An environment that was looked at when all was settled."""
    settle()
    small.look()
    assert len(work.hashed) > 20
    assert len(work.parsed) == 5
    work.hashed.clear()
    work.parsed.clear()
    return small


class TestWhatIsSaved:
    def test_nothing_is_read_when_nothing_changed(self, warm: Small, work: Work) -> None:
        before = warm.look()
        assert (work.hashed, work.parsed) == ([], [])
        assert before.seen == 23
        assert {one.name for one in before.distributions} == {"toy", "my-head-er", "left", "right", "starter"}

    def test_one_changed_file_is_one_hash(self, warm: Small, work: Work) -> None:
        (warm.site / "toy/cli.py").write_bytes(b"evil")
        assert warm.kinds() == {("modified", "toy/cli.py")}
        assert (work.hashed, work.parsed) == (["toy/cli.py"], ["toy-1.0.dist-info"])

    def test_a_new_distribution_hashes_only_its_own(self, warm: Small, work: Work) -> None:
        shutil.copytree(warm.site / "starter-1.0.dist-info", warm.site / "copy-1.0.dist-info")
        warm.look()
        assert {path.partition("/")[0] for path in work.hashed} == {"copy-1.0.dist-info"}

    def test_a_touched_record_is_read_and_found_the_same(self, warm: Small, work: Work) -> None:
        os.utime(warm.site / "toy-1.0.dist-info/RECORD")
        assert warm.kinds() == set()
        assert "toy-1.0.dist-info" in work.parsed
        assert work.hashed == []

    def test_the_index_is_not_written_again(self, warm: Small) -> None:
        index = StatIndex(warm.layout(), "")
        before = index.index_file.stat().st_mtime_ns, index.details_file.stat().st_mtime_ns
        warm.look()
        assert (index.index_file.stat().st_mtime_ns, index.details_file.stat().st_mtime_ns) == before

    def test_metadata_level_parses_nothing(self, warm: Small, work: Work) -> None:
        warm.look(Level.METADATA)
        assert work.parsed == []

    def test_full_hashes_everything(self, warm: Small, work: Work) -> None:
        warm.look(Level.FULL)
        assert len(work.hashed) > 20

    def test_a_look_after_full_is_warm(self, small: Small, work: Work) -> None:
        settle()
        small.look(Level.FULL)
        work.hashed.clear()
        small.look()
        assert work.hashed == []


class TestMark:
    """What others may keep things behind."""

    def test_of_a_folder_that_did_not_change(self, warm: Small) -> None:
        mark = warm.look().mark("toy")
        assert mark is not None
        assert warm.look().mark("toy") == mark != warm.look().mark("common")

    def test_a_change_below_gives_another(self, warm: Small) -> None:
        (warm.site / "toy/deep").mkdir()
        (warm.site / "toy/deep/x").write_bytes(b"")
        settle()
        before = warm.look().mark("toy")
        (warm.site / "toy/deep/x").write_bytes(b"y")
        settle()
        assert warm.look().mark("toy") not in (before, None)

    def test_none_where_it_could_change_unseen(self, warm: Small) -> None:
        (warm.site / "toy/cli.py").touch()
        assert warm.look().mark("toy") is None
        assert warm.look().mark("common") is not None
        assert warm.look().mark("none") is None
        assert warm.look(Level.METADATA).mark("common") is None


class TestTime:
    def test_same_size_and_time_put_back(self, warm: Small) -> None:
        file = warm.site / "toy/__init__.py"
        seen = file.stat()
        file.write_bytes(b"X = 9\n")
        os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        assert file.stat().st_mtime_ns == seen.st_mtime_ns
        assert warm.kinds() == {("modified", "toy/__init__.py")}

    def test_an_edit_in_the_same_instant(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        """Git's racy edit: another content, and every time as it was."""
        settle()
        file = small.site / "toy/__init__.py"
        file.write_bytes(b"X = 1\n")
        seen = file.lstat()
        assert small.kinds() == set()
        with file.open("r+b") as stream:
            stream.write(b"X = 9\n")
        _freeze(monkeypatch, seen)
        assert small.kinds() == {("modified", "toy/__init__.py")}

    def test_another_link_is_no_drift(self, warm: Small, work: Work, tmp_path: Path) -> None:
        changed = (warm.site / "toy/__init__.py").stat().st_ctime_ns
        os.link(warm.site / "toy/__init__.py", tmp_path / "link")
        assert (warm.site / "toy/__init__.py").stat().st_ctime_ns > changed
        assert warm.kinds() == set()
        assert work.hashed == ["toy/__init__.py"]
        settle()
        warm.look()
        work.hashed.clear()
        warm.look()
        assert work.hashed == []

    @pytest.mark.parametrize("when", [0, 1, 2**31, 2**33, -(10**6)])
    def test_times_of_any_age(self, warm: Small, when: int) -> None:
        os.utime(warm.site / "toy/__init__.py", (when, when))
        assert warm.kinds() == set()
        (warm.site / "toy/__init__.py").write_bytes(b"X = 3\n")
        os.utime(warm.site / "toy/__init__.py", (when, when))
        assert warm.kinds() == {("modified", "toy/__init__.py")}

    @pytest.mark.parametrize("skew", [-86_400, -3600, 3600, 86_400])
    def test_clock_set_wrong(self, small: Small, monkeypatch: pytest.MonkeyPatch, skew: int) -> None:
        now = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: now() + skew * 10**9)
        monkeypatch.setattr(stat_index, "_touched", _fail)
        settle()
        assert small.kinds() == set()
        (small.site / "toy/__init__.py").write_bytes(b"X = 3\n")
        assert small.kinds() == {("modified", "toy/__init__.py")}
        (small.site / "toy/__init__.py").write_bytes(b"X = 4\n")
        assert small.kinds() == {("modified", "toy/__init__.py")}

    def test_settled(self) -> None:
        second = 10**9
        assert settled(5 * second + 1, 6 * second)
        assert not settled(5 * second + 1, 5 * second + 2)
        assert not settled(5 * second, 6 * second)  # a coarse clock
        assert settled(5 * second, 8 * second)
        assert not settled(9 * second, 5 * second)  # from the future

    def test_clock_of_the_same_file_system(self, small: Small) -> None:
        before = time.time_ns() - 10**9
        assert before < clock([small.prefix]) < time.time_ns() + 10**9
        assert clock([small.prefix / "none"]) == 0

    def test_clock_of_an_unknown_file_system(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stat_index, "_touched", _fail)
        monkeypatch.setattr(stat_index, "_is_local", lambda device: False)
        assert clock([small.prefix]) < time.time_ns() - 86_400 * 10**9

    def test_clock_without_a_cache_folder(
        self, small: Small, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("ENVGUARD_CACHE_DIR", str(tmp_path / "file"))
        assert clock([small.prefix]) > 0
        assert small.kinds() == set()

    def test_local_file_systems_are_known(self) -> None:
        assert stat_index._is_local(os.stat("/proc").st_dev) is False
        assert stat_index._is_local(os.makedev(4095, 4095)) is False


def _fail(_: object) -> int:
    raise OSError(30, "Read-only file system")


def _freeze(monkeypatch: pytest.MonkeyPatch, seen: os.stat_result) -> None:
    """Stat answers for one file as it did: what a clock that stands still would give."""
    real = os.scandir

    class Entry:
        def __init__(self, entry: os.DirEntry[str]) -> None:
            self._entry = entry
            self.name = entry.name

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            return self._entry.is_dir(follow_symlinks=follow_symlinks)

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            now = self._entry.stat(follow_symlinks=follow_symlinks)
            return seen if now.st_ino == seen.st_ino else now

    class Scan:
        def __init__(self, folder: int) -> None:
            self._found = real(folder)

        def __enter__(self) -> list[Entry]:
            return [Entry(entry) for entry in self._found]

        def __exit__(self, *_: object) -> None:
            self._found.close()

    monkeypatch.setattr(os, "scandir", Scan)


class TestFolders:
    def test_that_go_and_come_back(self, warm: Small, tmp_path: Path) -> None:
        (warm.site / "common").rename(tmp_path / "common")
        gone = {("missing", f"common/{name}.py") for name in ("__init__", "left", "right")}
        assert warm.kinds() == gone
        assert warm.kinds() == gone
        (tmp_path / "common").rename(warm.site / "common")
        assert warm.kinds() == set()

    def test_of_nobody_that_go(self, warm: Small) -> None:
        (warm.site / "stray").mkdir()
        (warm.site / "stray/x").write_bytes(b"")
        assert warm.kinds() == {("unowned", "stray/x")}
        shutil.rmtree(warm.site / "stray")
        assert warm.kinds() == set()
        assert warm.look().kept.units.keys() == warm.look(Level.FULL).kept.units.keys()

    def test_that_were_unreadable(self, warm: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        real = os.open

        def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if path == "toy":
                raise PermissionError(13, "Permission denied")
            return real(path, flags, mode, dir_fd=dir_fd)

        monkeypatch.setattr(os, "open", refuse)
        assert warm.kinds() == {("unreadable", "toy")}
        monkeypatch.undo()
        assert warm.kinds() == set()


class TestTrust:
    @pytest.fixture
    def index(self, warm: Small) -> StatIndex:
        return StatIndex(warm.layout(), f"{SOABI}\nTrue\n{warm.python}")

    def test_it_is_read(self, index: StatIndex) -> None:
        assert index.load().units
        assert index.load_details()

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda file: file.write_bytes(b""), id="empty"),
            pytest.param(lambda file: file.write_bytes(file.read_bytes()[:-1]), id="cut off"),
            pytest.param(lambda file: file.write_bytes(_flipped(file.read_bytes(), 3)), id="flipped head"),
            pytest.param(lambda file: file.write_bytes(_flipped(file.read_bytes(), 200)), id="flipped content"),
            pytest.param(lambda file: file.chmod(0o620), id="group may write"),
            pytest.param(lambda file: file.chmod(0o602), id="others may write"),
            pytest.param(lambda file: (file.rename(f"{file}.x"), file.symlink_to(f"{file}.x")), id="link"),
            pytest.param(lambda file: _pipe(file), id="pipe"),
            pytest.param(lambda file: (file.unlink(), file.mkdir()), id="folder"),
        ],
    )
    def test_damage_is_as_good_as_none(
        self, warm: Small, index: StatIndex, damage: Callable[[Path], object], work: Work
    ) -> None:
        damage(index.index_file)
        damage(index.details_file)
        assert index.load() == Kept()
        assert index.load_details() == {}
        (warm.site / "toy/__init__.py").write_bytes(b"X = 3\n")
        assert warm.kinds() == {("modified", "toy/__init__.py")}
        assert len(work.hashed) > 20

    @pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
    def test_another_users_is_not_read(self, index: StatIndex) -> None:
        os.chown(index.index_file, 12345, 0)
        assert index.load() == Kept()

    def test_another_version_is_not_read(self, warm: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stat_index, "_SCHEMA", "envguard stat index 2")
        assert StatIndex(warm.layout(), f"{SOABI}\nTrue\n{warm.python}").load() == Kept()

    def test_another_interpreters_is_not_read(self, warm: Small) -> None:
        assert StatIndex(warm.layout(), "cpython-399").load() == Kept()

    def test_two_environments_have_two(self, warm: Small, small_template: Path, tmp_path: Path) -> None:
        other = copied(small_template, tmp_path / "other")
        one, two = StatIndex(warm.layout(), ""), StatIndex(other.layout(), "")
        assert one.index_file != two.index_file
        shutil.copyfile(one.index_file, two.index_file)
        assert two.load() == Kept()

    def test_an_environment_made_anew_in_its_place(
        self, warm: Small, small_template: Path, tmp_path: Path
    ) -> None:
        warm.prefix.rename(tmp_path / "aside")
        copied(small_template, warm.prefix)
        (warm.site / "toy/__init__.py").write_bytes(b"X = 3\n")
        assert warm.kinds() == {("modified", "toy/__init__.py")}

    def test_no_room_for_it(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        fired = []

        def full(*_: object, **__: object) -> None:
            fired.append(1)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("envguard.adapters.files.write", full)
        assert small.kinds() == set()
        assert fired

    def test_its_folder_is_private(self, index: StatIndex) -> None:
        assert index.index_file.parent.stat().st_mode & 0o777 == 0o700
        assert index.index_file.stat().st_mode & 0o777 == 0o600


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


def append(small: Small, path: str) -> None:
    with _file(small, path).open("ab") as stream:
        stream.write(b"#")


def same_size(small: Small, path: str) -> None:
    file = _file(small, path)
    seen, content = file.lstat(), file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:] if content else b"")
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def remove(small: Small, path: str) -> None:
    _file(small, path).unlink()


def replace(small: Small, path: str) -> None:
    file = _file(small, path)
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content)


def folder_instead(small: Small, path: str) -> None:
    _file(small, path).unlink()
    _file(small, path).mkdir()


def link_instead(small: Small, path: str) -> None:
    _file(small, path).unlink()
    _file(small, path).symlink_to("/etc/hostname")


def exec_bit(small: Small, path: str) -> None:
    file = _file(small, path)
    file.chmod(file.stat().st_mode ^ 0o111)


def beside(small: Small, path: str) -> None:
    _file(small, path).with_name("beside.py").write_bytes(b"import evil")


def folder_away(small: Small, path: str) -> None:
    folder = _file(small, path).parent
    if folder not in (small.site, small.scripts):
        shutil.rmtree(folder)


def compiled(small: Small, path: str) -> None:
    file = _file(small, path)
    cache = file.parent / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / f"{file.stem}.{SOABI.rsplit('-', 3)[0]}.pyc").write_bytes(b"\0" * 20)


def damaged_record(small: Small, path: str) -> None:
    _file(small, "site/toy-1.0.dist-info/RECORD").write_bytes(b"toy/cli.py,sha256=00,1\n")


def wait(small: Small, path: str) -> None:
    settle()


EDITS = (
    append,
    same_size,
    remove,
    replace,
    folder_instead,
    link_instead,
    exec_bit,
    beside,
    folder_away,
    compiled,
    damaged_record,
    wait,
)
PATHS = (
    "site/toy/__init__.py",
    "site/toy/cli.py",
    "site/single.py",
    "site/common/__init__.py",
    "site/starter.pth",
    "site/toy-1.0.dist-info/RECORD",
    "site/toy-1.0.dist-info/METADATA",
    "site/left-1.0.dist-info/WHEEL",
    "bin/toy-cli",
    "bin/toy-program",
    "share/toy/notes.txt",
)


def _file(small: Small, path: str) -> Path:
    return small.site / path[5:] if path.startswith("site/") else small.prefix / path


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.sampled_from(EDITS), st.sampled_from(PATHS), st.booleans()), max_size=8))
def test_a_warm_look_says_what_a_cold_one_says(
    small_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    edits: list[tuple[Callable[[Small, str], None], str, bool]],
) -> None:
    """Whatever is done to an environment, with looks in between or without."""
    small = copied(small_template, tmp_path_factory.mktemp("edited") / "environment")
    rows = {one.name: _rows(small, one) for one in small.look().distributions}
    for edit, path, looks in edits:
        try:
            edit(small, path)
        except (OSError, IndexError):
            continue
        if looks:
            small.look(rows=rows)
    warm = small.look(rows=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVGUARD_CACHE_DIR", str(tmp_path_factory.mktemp("cold")))
        cold = small.look(rows=rows)
    assert warm.files == cold.files
    assert [_details(fact) for fact in warm.files or ()] == [_details(fact) for fact in cold.files or ()]
    assert (warm.distributions, warm.shared, warm.seen) == (cold.distributions, cold.shared, cold.seen)


def _rows(small: Small, installed: site.Installed) -> bytes:
    return dump_rows(site.LazyRows(small.layout(), installed))


def _details(fact: FileFact) -> str | None:
    return fact.detail


class TestLinks:
    """As uv's symlink mode leaves them: each file a link to its cache."""

    @pytest.fixture
    def linked(self, small: Small, tmp_path: Path) -> Small:
        (tmp_path / "store").mkdir()
        for number, name in enumerate(LINKED):
            file = small.site / name
            there = shutil.move(file, tmp_path / "store" / str(number))
            file.symlink_to(there)
        settle()
        assert small.kinds() == set()
        return small

    def test_nothing_is_read_when_nothing_changed(self, linked: Small, work: Work) -> None:
        work.hashed.clear()
        assert linked.kinds() == set()
        assert work.hashed == []

    @pytest.mark.parametrize("name", range(3), ids=["module", "data", "METADATA"])
    def test_other_bytes_behind_one_are_seen(self, linked: Small, name: int) -> None:
        file = linked.site / LINKED[name]
        behind, before = file.resolve(), file.stat()
        behind.write_bytes(behind.read_bytes()[:-1] + b"#")
        os.utime(behind, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert ("modified", LINKED[name]) in linked.kinds()

    def test_another_file_behind_one_is_seen(self, linked: Small, tmp_path: Path) -> None:
        file = linked.site / LINKED[0]
        before = file.stat()
        other = tmp_path / "store" / "other"
        other.write_bytes(b"#" * before.st_size)
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        file.unlink()
        file.symlink_to(other)
        assert linked.kinds() == {("modified", LINKED[0])}

    def test_a_cache_that_is_gone_is_seen(self, linked: Small, tmp_path: Path) -> None:
        shutil.rmtree(tmp_path / "store")
        assert {("modified", name) for name in LINKED} <= linked.kinds()


LINKED = ("toy/__init__.py", "toy/table.bin", "toy-1.0.dist-info/METADATA")

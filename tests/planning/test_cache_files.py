"""Which names of a cache are kept and put back, and Triton's lists."""

from __future__ import annotations

import json

import pytest

from envguard.model.cache_files import CachedFile
from envguard.planning import cache_files
from envguard.planning.cache_files import Part, check, is_of, kept_as, key_of, part_of, with_paths, without_paths
from tests.adapters.cache.world import autograd_key, graph_key, triton_key
from tests.builders import digest

F, A, T = graph_key(1), autograd_key(1), triton_key(1)
SHELF = F[1:3]
ENTRY = "q" * 51
CODE = "c" + "a" * 51

KEPT = {
    f"fxgraph/{SHELF}/{F}/{ENTRY}": (f"fxgraph/{SHELF}/{F}/{ENTRY}", Part.GRAPH),
    f"aotautograd/{A}/{ENTRY}": (f"aotautograd/{A}/{ENTRY}", Part.AUTOGRAD),
    "ab/0123456789abcdef.best_config": ("ab/0123456789abcdef.best_config", Part.AUTOTUNE),
    f"ab/{CODE}.so": (f"ab/{CODE}.so", Part.NATIVE),
    f"ab/{CODE}.main.so": (f"ab/{CODE}.main.so", Part.NATIVE),
    f"triton/{T}/kernel.cubin": (f"triton/{T}/kernel.cubin", Part.TRITON),
    f"triton/0/{T}/kernel.cubin": (f"triton/{T}/kernel.cubin", Part.TRITON),
    f"triton/12/{T}/__grp__kernel.json": (f"triton/{T}/__grp__kernel.json", Part.TRITON),
}

REFUSED = [
    "", ".", "..", "/", "//", "x", "a/b", "a/b/c",
    f"/fxgraph/{SHELF}/{F}/{ENTRY}", f"./fxgraph/{SHELF}/{F}/{ENTRY}", f"../fxgraph/{SHELF}/{F}/{ENTRY}",
    f"fxgraph/{SHELF}/{F}/../{ENTRY}", f"fxgraph/{SHELF}/{F}/..", f"fxgraph/{SHELF}/{F}/.", f"fxgraph/{SHELF}/{F}/",
    f"fxgraph/{SHELF}/{F}", f"fxgraph/{SHELF}/{F}/{ENTRY}/x", f"fxgraph//{F}/{ENTRY}", f"fxgraph/zz/{F}/{ENTRY}",
    f"fxgraph/../{F}/{ENTRY}", f"fxgraph\\{SHELF}\\{F}\\{ENTRY}", f"C:fxgraph/{SHELF}/{F}/{ENTRY}",
    f"fxgraph/{SHELF}/{F}/{ENTRY}\0", f"fxgraph/{SHELF}/{F}/a\nb", f"fxgraph/{SHELF}/{F}/a b", f"fxgraph/{SHELF}/{F}/ä",
    f"fxgraph/{SHELF}/{F}/.hidden", f"fxgraph/{SHELF}/{F}/.1.2.tmp", f"fxgraph/{SHELF}/{F}/x.tmp",
    f"fxgraph/{SHELF}/{F}/tmp.pid_1", f"fxgraph/{SHELF}/{F}/-rf", f"fxgraph/{SHELF}/{F}/" + "q" * 201,
    f"fxgraph/{SHELF}/{F}/x.lock", f"FXGRAPH/{SHELF}/{F}/{ENTRY}", f"fxgraph/{SHELF}/{F.upper()}/{ENTRY}",
    f"fxgraph/{SHELF}/{F}x/{ENTRY}", f"fxgraph/{SHELF}/{F[:-1]}/{ENTRY}", f"fxgraph/{SHELF}/~/{ENTRY}",
    f"aotautograd/{A}", f"aotautograd/{A}/", f"aotautograd/{A}/../{ENTRY}", f"aotautograd/{F}/{ENTRY}",
    f"aotautograd/{SHELF}/{A}/{ENTRY}", f"aotautograd/{A}/{ENTRY}/x", f"aotautograd/{A}/.x", f"aotautograd/a/{ENTRY}",
    "locks/x.lock", f"locks/{CODE}.lock", "dynamo/code_state_1.pkl", "cache/0123", "sitecustomize.py", "x.pth",
    f"ab/{CODE}.py", f"ab/{CODE}.cpp", f"ab/{CODE}.h", f"ab/{CODE}.so.1", f"ab/{CODE}/x.so", f"abc/{CODE}.so",
    f"../{CODE}.so", f"ab/../{CODE}.so", f"ab/d{CODE[1:]}.so", "ab/x.so", "ab/..best_config", "ab/.best_config",
    "ab/a/b.best_config", "ab/a b.best_config", "../x.best_config",
    f"triton/{T}", f"triton/{T}/", f"triton/{T}/a/b", f"triton/{T}/..", f"triton/{T}/launcher.so",
    f"triton/{T}/launcher.cpython-312-x86_64-linux-gnu.so", f"triton/{T}/x.so.1", f"triton/{T.lower()}/x",
    f"triton/{T}A/x", f"triton/x/{T}/kernel.cubin", f"triton/../{T}/x", f"triton/{T}/tmp.pid_1_2", f"triton/{T}/x.tmp",
]  # fmt: skip


@pytest.mark.parametrize("inside", KEPT)
def test_what_torch_names_is_kept(inside: str) -> None:
    path, part = KEPT[inside]
    assert kept_as(inside) == path
    assert part_of(path) is part


@pytest.mark.parametrize("path", REFUSED, ids=repr)
def test_every_other_name_is_refused(path: str) -> None:
    assert part_of(path) is None
    assert kept_as(path) is None
    with pytest.raises(ValueError, match="not a name"):
        check([CachedFile(path, digest("x"), 1)])


def test_there_are_many_of_them() -> None:
    assert len(set(REFUSED)) >= 60


def test_the_level_of_device_indices_is_in_no_manifest() -> None:
    assert part_of(f"triton/0/{T}/kernel.cubin") is None


def test_a_file_belongs_to_its_key() -> None:
    graph = f"fxgraph/{SHELF}/{F}/{ENTRY}"
    assert is_of(graph, {f"fxgraph/{F}"})
    assert not is_of(graph, {f"fxgraph/{graph_key(2)}"})
    assert is_of(f"aotautograd/{A}/x", {f"aotautograd/{A}"})
    assert not is_of(f"triton/{T}/x", set())
    assert is_of("ab/0.best_config", set()), "an autotuning result is no key's in particular"
    assert (key_of(graph), key_of(f"aotautograd/{A}/x")) == (f"fxgraph/{F}", f"aotautograd/{A}")
    assert key_of(f"triton/{T}/x") is None


def test_twins_are_refused() -> None:
    one = CachedFile(f"triton/{T}/Kernel.json", digest("x"), 1)
    for other in (f"triton/{T}/kernel.json", f"triton/{T}/Kernel.json"):
        with pytest.raises(ValueError, match="two files of one name"):
            check([one, CachedFile(other, digest("y"), 1)])


def test_sizes_and_numbers_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    file = CachedFile(f"triton/{T}/x", digest("x"), cache_files.LARGEST + 1)
    with pytest.raises(ValueError, match="more than a cached file has"):
        check([file])
    monkeypatch.setattr(cache_files, "MOST_FILES", 2)
    with pytest.raises(ValueError, match="more than 2 files"):
        check(CachedFile(f"triton/{T}/x{number}", digest("x"), 1) for number in range(3))


def group(**children: object) -> bytes:
    return json.dumps({"child_paths": children}).encode()


def test_lists_lose_their_paths_and_get_new_ones() -> None:
    one = group(**{"k.json": "/home/ann/c/k.json", "k.cubin": "/home/ann/c/k.cubin"})
    other = group(**{"k.cubin": "/scratch/k.cubin", "k.json": "/scratch/k.json"})
    assert without_paths(one) == without_paths(other)
    assert b"ann" not in without_paths(one)
    assert json.loads(with_paths(without_paths(one), "/new/triton/KEY")) == {
        "child_paths": {"k.cubin": "/new/triton/KEY/k.cubin", "k.json": "/new/triton/KEY/k.json"}
    }


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[]", b"null", b"{", b"\x80\x04.", b'{"child_paths": []}', b'{"child_paths": {"a": 1}}',
        b'{"child_paths": {}, "more": 1}', group(a="/etc/passwd"), group(**{"..": "/x/.."}), group(**{"a/b": "/x/a/b"}),
        group(**{"": ""}), b"[" * 100_000,
    ],
    ids=range(14),
)  # fmt: skip
def test_lists_that_are_none_or_lead_elsewhere_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        without_paths(content)
    with pytest.raises(ValueError):
        with_paths(content, "/x")


def test_which_files_are_lists() -> None:
    assert cache_files.is_group(f"triton/{T}/__grp__kernel.json")
    assert not cache_files.is_group(f"triton/{T}/kernel.json")
    assert not cache_files.is_group("ab/__grp__.best_config")

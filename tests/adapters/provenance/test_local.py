"""All evidence together: the best first, and what gets none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.local import LocalProvenance
from envguard.formats import marker
from envguard.formats.marker import MarkedWheel, Marker
from envguard.model.distribution import Evidence, Origin
from envguard.ports import Provenance
from tests.adapters.provenance.world import World, sha256_of
from tests.builders import digest, distribution


@dataclass
class Steps:
    """A Progress that remembers."""

    seen: list[tuple[int, int | None]] = field(default_factory=list)

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        self.seen.append((done, total))


def _provenance(world: World, *find_links: Path, progress: Steps | None = None) -> Provenance:
    return LocalProvenance(
        find_links=find_links, uv_cache=world.uv, pip_cache=world.pip, progress=progress or Steps()
    )


def _mark(world: World, installed: Installed, wheel: Path) -> None:
    assert installed.distribution.record is not None
    marked = MarkedWheel(wheel.name, sha256_of(wheel), wheel.stat().st_size, installed.distribution.record)
    (world.layout.prefix / marker.FILENAME).write_bytes(marker.dump(Marker("lock", {"idna": marked})))


def _direct(installed: Installed, wheel: Path) -> None:
    assert installed.folder is not None
    document = {"url": wheel.as_uri(), "archive_info": {"hashes": {"sha256": sha256_of(wheel).hex}}}
    (installed.folder / "direct_url.json").write_text(json.dumps(document))


def test_best_evidence_first(world: World) -> None:
    wheel = world.wheel()
    installed = world.install(wheel)
    give: list[tuple[Evidence, Callable[[], object]]] = [  # worst first
        (Evidence.BUILT_FROM_SDIST, lambda: world.built_by_pip(wheel)),
        (Evidence.UV_CACHE, lambda: world.cached(wheel)),
        (Evidence.DIRECT_URL, lambda: _direct(installed, wheel)),
        (Evidence.RESTORED, lambda: _mark(world, installed, wheel)),
    ]
    for evidence, add in give:
        add()
        found = _provenance(world).wheels(world.layout, [installed.distribution])
        assert (found["idna"].evidence, found["idna"].sha256) == (evidence, sha256_of(wheel))


def test_find_links_after_uvs_cache_and_before_pips(world: World) -> None:
    wheel = world.wheel()
    world.built_by_pip(wheel)
    distributions = [world.install(wheel).distribution]
    provenance = _provenance(world, wheel.parent)
    assert provenance.wheels(world.layout, distributions)["idna"].evidence is Evidence.FIND_LINKS
    world.cached(wheel)
    assert provenance.wheels(world.layout, distributions)["idna"].evidence is Evidence.UV_CACHE


@pytest.mark.parametrize("kind", ["folder", "vcs"])
def test_installs_from_folders_and_repositories_have_no_wheel(world: World, kind: str) -> None:
    wheel = world.wheel()
    world.cached(wheel)
    installed = world.install(wheel, origin=Origin(kind))
    assert _provenance(world).wheels(world.layout, [installed.distribution]) == {}


def test_installs_from_an_address_may_have_one(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel, place="url/092b06dd4ea22542")
    installed = world.install(wheel, origin=Origin("archive"))
    assert "idna" in _provenance(world).wheels(world.layout, [installed.distribution])


def test_an_equal_build_that_knows_its_sdist_tells_it(world: World) -> None:
    wheel = world.wheel()
    kept = world.built_by_uv(wheel)
    address = "https://example.org/idna-3.10.tar.gz"
    world.built_by_pip(wheel, {"url": address, "archive_info": {"hashes": {"sha256": digest("sdist").hex}}})
    found = _provenance(world).wheels(world.layout, [world.install(wheel).distribution])["idna"]
    assert (found.sha256, found.sdist) == (sha256_of(kept), f"idna-3.10.tar.gz {digest('sdist')}")


def test_what_nothing_proves_is_left_out(world: World) -> None:
    wheel = world.wheel()
    installed = world.install(wheel)
    world.cached(wheel)
    found = _provenance(world).wheels(
        world.layout, [distribution("stranger", record=digest("x")), installed.distribution]
    )
    assert list(found) == ["idna"]


def test_without_any_source(world: World) -> None:
    installed = world.install(world.wheel())
    assert LocalProvenance(progress=Steps()).wheels(world.layout, [installed.distribution]) == {}


def test_progress_is_told(world: World) -> None:
    steps = Steps()
    _provenance(world, progress=steps).wheels(world.layout, [distribution(), distribution("torch")])
    assert steps.seen == [(0, 2), (1, 2), (2, 2)]

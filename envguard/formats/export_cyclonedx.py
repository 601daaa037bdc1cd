"""A lock as a CycloneDX 1.6 SBOM (JSON): every distribution, with what envguard knows of it as properties."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from envguard import __version__
from envguard.formats import export_sbom

if TYPE_CHECKING:
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component
    from cyclonedx.model.tool import ToolRepository

    from envguard.model.distribution import Distribution
    from envguard.model.lock import Lock


def dump(lock: Lock) -> bytes:
    """The document; equal locks give equal bytes. MissingExtraError."""
    try:
        from cyclonedx.model.bom import Bom, BomMetaData
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output.json import JsonV1Dot6
    except ImportError:
        raise export_sbom.missing("cyclonedx-python-lib") from None
    whole = Component(
        name=lock.name,
        type=ComponentType.APPLICATION,
        bom_ref=f"lock:{lock.name}",
        description=lock.note,
        properties=_properties(export_sbom.environment_properties(lock)),
    )
    parts = [_component(entry, lock) for entry in export_sbom.distributions(lock)]
    bom = Bom(
        serial_number=export_sbom.number(lock),
        components=parts,
        metadata=BomMetaData(component=whole, timestamp=export_sbom.made(lock), tools=_tools()),
    )
    bom.register_dependency(whole, parts)
    document: Any = json.loads(JsonV1Dot6(bom).output_as_string())
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _tools() -> ToolRepository:
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository

    return ToolRepository(
        components=[Component(name="envguard", version=__version__, type=ComponentType.APPLICATION)]
    )


def _component(entry: Distribution, lock: Lock) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    sha256 = entry.wheel.sha256
    return Component(
        name=entry.name,
        version=entry.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{entry.name}@{entry.version}",
        purl=PackageURL("pypi", name=entry.name, version=entry.version),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256.hex)] if sha256 else None,
        properties=_properties(export_sbom.properties(entry, lock)),
        external_references=_references(entry),
    )


def _properties(pairs: Any) -> list[Property]:
    from cyclonedx.model import Property

    return [Property(name=name, value=value) for name, value in pairs]


def _references(entry: Distribution) -> list[Any]:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri

    if entry.origin is None or entry.origin.url is None:
        return []
    is_vcs = entry.origin.kind == "vcs"
    kind = ExternalReferenceType.VCS if is_vcs else ExternalReferenceType.DISTRIBUTION
    return [ExternalReference(type=kind, url=XsUri(entry.origin.url))]

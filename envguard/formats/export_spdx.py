"""A lock as an SPDX 2.3 SBOM (JSON): every distribution, with what envguard knows of it in its comment."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from envguard import __version__
from envguard.errors import EnvguardError
from envguard.formats import export_sbom

if TYPE_CHECKING:
    from spdx_tools.spdx.model import Document, Package

    from envguard.model.distribution import Distribution
    from envguard.model.lock import Lock

_WHOLE = "SPDXRef-environment"
_SHOWN = 3


def dump(lock: Lock) -> bytes:
    """The document, validated; equal locks give equal bytes. MissingExtraError, EnvguardError."""
    try:
        from spdx_tools.spdx.jsonschema.document_converter import DocumentConverter
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        raise export_sbom.missing("spdx-tools") from None
    document = _document(lock)
    wrong = [message.validation_message for message in validate_full_spdx_document(document)]
    if wrong:
        raise EnvguardError(
            f"this lock makes no valid SPDX document: {'; '.join(wrong[:_SHOWN])}", where=lock.name
        )
    convert: Any = DocumentConverter  # it has no types
    return (json.dumps(convert().convert(document), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _document(lock: Lock) -> Document:
    from spdx_tools.spdx.model import (
        Actor,
        ActorType,
        CreationInfo,
        Document,
        Relationship,
        RelationshipType,
    )

    parts = [_package(entry, lock) for entry in export_sbom.distributions(lock)]
    creation = CreationInfo(
        spdx_version="SPDX-2.3",
        spdx_id="SPDXRef-DOCUMENT",
        name=lock.name,
        document_namespace=f"urn:uuid:{export_sbom.number(lock)}",
        creators=[Actor(ActorType.TOOL, f"envguard-{__version__}")],
        # SPDX writes times without a zone, and means UTC
        created=export_sbom.made(lock).replace(tzinfo=None, microsecond=0),
    )
    describes = Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, _WHOLE)
    contains = [Relationship(_WHOLE, RelationshipType.CONTAINS, part.spdx_id) for part in parts]
    return Document(creation, packages=[_environment(lock), *parts], relationships=[describes, *contains])


def _environment(lock: Lock) -> Package:
    from spdx_tools.spdx.model import Package, SpdxNoAssertion

    return Package(
        spdx_id=_WHOLE,
        name=lock.name,
        download_location=SpdxNoAssertion(),
        files_analyzed=False,
        description=lock.note,
        comment=_lines(export_sbom.environment_properties(lock)),
    )


def _package(entry: Distribution, lock: Lock) -> Package:
    from packageurl import PackageURL
    from spdx_tools.spdx.model import (
        Checksum,
        ChecksumAlgorithm,
        ExternalPackageRef,
        ExternalPackageRefCategory,
        Package,
        SpdxNoAssertion,
    )

    sha256 = entry.wheel.sha256
    purl = PackageURL("pypi", name=entry.name, version=entry.version).to_string()
    return Package(
        spdx_id="SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{entry.name}-{entry.version}"),
        name=entry.name,
        version=entry.version,
        file_name=entry.wheel.filename,
        download_location=SpdxNoAssertion(),
        files_analyzed=False,
        checksums=[Checksum(ChecksumAlgorithm.SHA256, sha256.hex)] if sha256 else [],
        comment=_lines(export_sbom.properties(entry, lock)) or None,
        external_references=[ExternalPackageRef(ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", purl)],
    )


def _lines(pairs: Any) -> str:
    return "\n".join(f"{name}={value}" for name, value in pairs)

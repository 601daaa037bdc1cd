"""What is written inside a wheel and what its source says of it, put together."""

from __future__ import annotations

import re

from envguard.model import cuda
from envguard.model.offer import Offer
from envguard.model.wheel_facts import Cost, Says, WheelContent, WheelFacts
from envguard.planning.wheel_names import WheelName

_LABEL = re.compile(r"(?:cu\d{2,3}|rocm\d[\d.]*|xpu|cpu)(?![a-z0-9])")


def told(offer: Offer, wheel: WheelName, content: WheelContent, cost: Cost) -> WheelFacts:
    """Facts of an offered wheel; its sha256 is the source's word."""
    variant = content.torch.variant if content.torch else _labelled(wheel.version)
    return WheelFacts(
        filename=offer.filename,
        name=wheel.name,
        version=wheel.version,
        content=content,
        build_tag=wheel.build,
        source=offer.source,
        location=offer.location,
        size=offer.size,
        sha256=offer.sha256,
        says=Says.INDEX if offer.sha256 else None,
        uploaded=offer.uploaded,
        yanked=offer.yanked,
        requires_python=offer.requires_python,
        variant=variant,
        driver_floor=_floor(wheel, variant),
        cost=cost,
    )


def _labelled(version: str) -> str | None:
    match = _LABEL.match(version.partition("+")[2])
    return match[0].rstrip(".") if match else None


def _floor(wheel: WheelName, variant: str | None) -> str | None:
    if variant is not None:
        return cuda.driver_floor(variant)
    major = cuda.distribution_major(wheel.name, wheel.version)
    return None if major is None else cuda.driver_floor(f"cu{major}0")

"""Which libraries a library asks for."""

from __future__ import annotations

import os
from pathlib import Path

from envguard.adapters.hashing import open_file


def needed(file: Path) -> tuple[str, ...]:
    """The NEEDED entries of an ELF file's dynamic section; none when it isn't such a file or can't be read."""
    from elftools.common.exceptions import ELFError
    from elftools.construct.core import ConstructError
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    try:
        with os.fdopen(open_file(os.fspath(file), follow=True), "rb") as stream:
            section = ELFFile(stream).get_section_by_name(".dynamic")
            if not isinstance(section, DynamicSection):
                return ()
            return tuple(str(getattr(tag, "needed", "")) for tag in section.iter_tags("DT_NEEDED"))
    except (OSError, ELFError, ConstructError, ValueError, KeyError, AttributeError, UnicodeDecodeError):
        return ()

"""/proc/self/mountinfo."""

from __future__ import annotations

import pytest

from envguard.formats.mounts import mount_of, mounts

TEXT = r"""22 27 0:21 / / rw,relatime shared:1 - ext4 /dev/vda rw
25 24 0:23 / /tmp rw,nosuid,noexec - tmpfs tmpfs rw,size=1k
26 24 0:24 / /mnt/a\040b rw - nfs4 server:/x rw,vers=4.2
27 24 0:25 / /over ro - ext4 /dev/a rw
28 24 0:26 / /over rw - fuse.sshfs b rw
not a mount
29 24 0:27 / /short rw -
"""


@pytest.mark.parametrize(
    ("path", "filesystem", "option"),
    [
        ("/home/x", "ext4", "relatime"),
        ("/tmp", "tmpfs", "noexec"),
        ("/tmp/deep/er", "tmpfs", "size=1k"),
        ("/tmpfile", "ext4", "rw"),
        ("/mnt/a b/c", "nfs4", "vers=4.2"),
        ("/over/x", "fuse.sshfs", "rw"),
    ],
)
def test_the_mount_of_a_path(path: str, filesystem: str, option: str) -> None:
    found = mount_of(path, mounts(TEXT))
    assert found is not None and found.filesystem == filesystem and option in found.options


def test_lines_that_are_no_mounts_are_left_out() -> None:
    assert len(mounts(TEXT)) == 5 and mount_of("/x", ()) is None

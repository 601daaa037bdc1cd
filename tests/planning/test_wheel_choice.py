from __future__ import annotations

import pytest

from envguard.planning.wheel_choice import choose

TAGS = ["cp312-cp312-linux_x86_64", "cp312-abi3-linux_x86_64", "py3-none-any"]
CASES = {
    "nothing": ([], None),
    "the best tag": (
        ["a-1-py3-none-any.whl", "a-1-cp312-cp312-linux_x86_64.whl"],
        "a-1-cp312-cp312-linux_x86_64.whl",
    ),
    "one of several tags": (["a-1-py2.py3-none-any.whl"], "a-1-py2.py3-none-any.whl"),
    "another Python": (["a-1-cp311-cp311-linux_x86_64.whl"], None),
    "another version": (["a-2-py3-none-any.whl"], None),
    "another distribution": (["b-1-py3-none-any.whl"], None),
    "no wheel": (["a-1.tar.gz", "nonsense"], None),
    "the higher build": (
        ["a-1-2-py3-none-any.whl", "a-1-10-py3-none-any.whl", "a-1-py3-none-any.whl"],
        "a-1-10-py3-none-any.whl",
    ),
}


@pytest.mark.parametrize(("filenames", "chosen"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("turned", [False, True], ids=["in order", "turned"])
def test_choices(filenames: list[str], chosen: str | None, turned: bool) -> None:
    assert choose(filenames[::-1] if turned else filenames, "a", "1", TAGS) == chosen

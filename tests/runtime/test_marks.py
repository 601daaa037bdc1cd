from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.runtime.conftest import Programs

marks: Any = importlib.import_module("envguard.runtime.marks")
TRACEBACK = '''
import contextlib
import copy

current_meta = {}


@contextlib.contextmanager
def annotate(annotation_dict: dict):
    """Says what it does."""

    global current_meta

    has_custom = "custom" in current_meta
    old_custom = copy.copy(current_meta.get("custom", {}))

    try:
        if not has_custom:
            current_meta["custom"] = dict[str, Any]()

        # Update
        current_meta["custom"].update(annotation_dict)
        yield
    finally:
        if has_custom:
            current_meta["custom"] = old_custom
        else:
            del current_meta["custom"]
'''.replace("import copy", "import copy\nfrom typing import Any")


def loaded(folder: Path, text: str) -> ModuleType:
    file = folder / "traceback_of_torch.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("traceback_of_torch", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def traced_meanwhile(module: Any) -> Any:
    """What an annotation comes to while another thread's trace has put its own dict in the place."""
    mine = module.current_meta
    with module.annotate({"a": 1}):
        module.current_meta = {}
    return mine


def test_without_the_guard_the_entry_is_missed(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="custom"):
        traced_meanwhile(loaded(tmp_path, TRACEBACK))


def test_with_it_the_entry_is_taken_out_of_the_dict_it_was_put_into(tmp_path: Path) -> None:
    module = loaded(tmp_path, TRACEBACK)

    assert marks.steady(module)
    assert traced_meanwhile(module) == {} == module.current_meta


def test_nested_annotations_are_as_before(tmp_path: Path) -> None:
    seen = []
    for guarded in (False, True):
        module: Any = loaded(tmp_path, TRACEBACK)
        assert not guarded or marks.steady(module)
        steps = []
        with module.annotate({"a": 1}):
            with module.annotate({"a": 2, "b": 2}):
                steps.append(dict(module.current_meta["custom"]))
            steps.append(dict(module.current_meta["custom"]))
        seen.append([*steps, dict(module.current_meta)])

    assert seen[0] == seen[1] == [{"a": 2, "b": 2}, {"a": 1}, {}]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("del current_meta", "current_meta.pop"), id="other-statement"),
        pytest.param(("def annotate", "def annotates"), id="no-such-function"),
        pytest.param(("@contextlib.contextmanager\n", ""), id="no-context-manager"),
    ],
)
def test_what_is_not_known_is_left_alone(tmp_path: Path, change: tuple[str, str]) -> None:
    text = TRACEBACK.replace(*change)
    if "pop" in change[1]:
        text = text.replace('current_meta.pop["custom"]', 'current_meta.pop("custom")')
    module: Any = loaded(tmp_path, text)
    before = module.__dict__.get("annotate")

    assert not marks.steady(module)
    assert module.__dict__.get("annotate") is before


def test_a_module_without_source_is_left_alone() -> None:
    module = ModuleType("nowhere")
    module.__file__ = None

    assert not marks.steady(module)


@pytest.mark.torch
@pytest.mark.slow
def test_the_real_torch_is_known(real: Programs) -> None:
    ended = real.run(
        "import torch, torch.fx.traceback as traceback\nmine = traceback.current_meta\n"
        "with traceback.annotate({'a': 1}): traceback.current_meta = {}\nprint(mine)\n"
    )

    assert ended.code == 0, ended.err
    assert ended.out == "{}\n"
    assert ended.log["guard"]["followed"]["annotations"] is True

"""The lock's ``[warmup]`` table: the recipe, and what its proof came to."""

from __future__ import annotations

import re
from typing import Any

from envguard.formats.decode import Table, WrongValueError
from envguard.model.warmup import Bypass, FlexAttention, Launch, Mask, Recipe, Warmup

Document = dict[str, Any]

DEVICE = re.compile(r"cpu|cuda:(0|[1-9]\d{0,3})")
SCORE_MOD = re.compile(r"[A-Za-z_][\w.]{0,199}:[A-Za-z_][\w.]{0,199}")
DTYPES = ("bfloat16", "float16", "float32", "float64")
LONGEST_DEADLINE = 7 * 24 * 3600
_LARGEST = 1 << 24


def warmup_document(warmup: Warmup | None) -> Document:
    """The ``[warmup]`` table; empty without one."""
    if warmup is None:
        return {}
    recipe = warmup.recipe
    document: Document = {
        "launch": recipe.launch.value,
        "command": list(recipe.command),
        "devices": list(recipe.devices),
        "steps": recipe.steps,
        "deadline": recipe.deadline,
        "proven": warmup.proven or None,
        "flex-attention": _flex(recipe.workload) if recipe.workload is not None else None,
        "graphs": dict(warmup.graphs),
        "bypass": [
            {"who": one.who, "cache": one.cache, "reason": one.reason, "number": one.number}
            for one in warmup.bypasses
        ],
    }
    return {key: value for key, value in document.items() if value not in (None, [], {})}


def _flex(workload: FlexAttention) -> Document:
    document: Document = {
        "lengths": list(workload.lengths),
        "batch": workload.batch,
        "heads": workload.heads,
        "kv-heads": workload.kv_heads,
        "head-size": workload.head_size,
        "dtype": workload.dtype,
        "masks": [mask.value for mask in workload.masks],
        "window": workload.window,
        "backward": workload.backward,
        "score-mod": workload.score_mod,
    }
    return {key: value for key, value in document.items() if value is not None}


def read_warmup(table: Table) -> Warmup:
    """``[warmup]``. WrongValueError."""
    graphs = table.table_or_none("graphs")
    return Warmup(
        recipe=read_recipe(table),
        bypasses=tuple(
            sorted(
                Bypass(one.text("who"), one.text("cache"), one.text("reason"), one.integer("number"))
                for one in table.tables("bypass")
            )
        ),
        graphs=tuple((who, graphs.integer(who)) for who in graphs.content) if graphs is not None else (),
        proven=table.flag("proven"),
    )


def read_recipe(table: Table) -> Recipe:
    """The recipe in ``[warmup]``. WrongValueError."""
    flex = table.table_or_none("flex-attention")
    command = table.texts("command")
    if bool(command) == (flex is not None):
        raise WrongValueError(table.path, "expected either a command or a table flex-attention")
    if any("\0" in part for part in command):
        raise WrongValueError(table.where("command"), "holds a NUL")
    launch = table.choice("launch", Launch) if table.has("launch") else Launch.PER_DEVICE
    if launch is Launch.RANKS and not command:
        raise WrongValueError(table.where("launch"), "ranks need a command that starts them (torchrun ...)")
    deadline = table.integer_or_none("deadline")
    if deadline is not None and not 0 < deadline <= LONGEST_DEADLINE:
        raise WrongValueError(table.where("deadline"), "expected seconds, more than 0 and at most a week")
    steps = table.integer_or_none("steps")
    if steps == 0:
        raise WrongValueError(table.where("steps"), "expected at least 1")
    return Recipe(
        launch=launch,
        command=command,
        workload=read_flex(flex) if flex is not None else None,
        devices=_devices(table),
        steps=steps,
        deadline=deadline if deadline is not None else Recipe().deadline,
    )


def _devices(table: Table) -> tuple[str, ...]:
    devices = table.texts("devices")
    for number, device in enumerate(devices):
        if not DEVICE.fullmatch(device):
            raise WrongValueError(
                f"{table.where('devices')}[{number}]", f"not a device (cpu, cuda:0): {device[:40]!r}"
            )
    if len(set(devices)) != len(devices):
        raise WrongValueError(table.where("devices"), "a device is named twice")
    return devices


def read_flex(table: Table) -> FlexAttention:
    """``[warmup.flex-attention]``. WrongValueError."""
    whole = FlexAttention(lengths=(1,))
    dtype = table.text_or_none("dtype") or whole.dtype
    if dtype not in DTYPES:
        raise WrongValueError(table.where("dtype"), f"expected one of {', '.join(DTYPES)}; found {dtype[:40]!r}")
    score = table.text_or_none("score-mod")
    if score is not None and not SCORE_MOD.fullmatch(score):
        raise WrongValueError(table.where("score-mod"), f"expected module:function, found {score[:80]!r}")
    heads = _size(table, "heads", whole.heads)
    shared = _size(table, "kv-heads", heads)
    if heads % shared:
        raise WrongValueError(table.where("kv-heads"), f"{shared} does not divide {heads} heads")
    return FlexAttention(
        lengths=_lengths(table),
        batch=_size(table, "batch", whole.batch),
        heads=heads,
        kv_heads=shared if shared != heads else None,
        head_size=_size(table, "head-size", whole.head_size),
        dtype=dtype,
        masks=_masks(table) or whole.masks,
        window=_size(table, "window", whole.window),
        backward=table.flag("backward") if table.has("backward") else True,
        score_mod=score,
    )


def _size(table: Table, key: str, otherwise: int) -> int:
    value = table.integer_or_none(key)
    if value is None:
        return otherwise
    if not 0 < value <= _LARGEST:
        raise WrongValueError(table.where(key), f"expected 1 to {_LARGEST:,}, found {value}")
    return value


def _lengths(table: Table) -> tuple[int, ...]:
    values = table.content.get("lengths")
    if not isinstance(values, list) or not values or len(values) > 1000:
        raise WrongValueError(table.where("lengths"), "expected a list of sequence lengths")
    for number, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _LARGEST:
            raise WrongValueError(f"{table.where('lengths')}[{number}]", "expected a length of at least 1")
    return tuple(values)


def _masks(table: Table) -> tuple[Mask, ...]:
    found = []
    for number, text in enumerate(table.texts("masks")):
        mask = next((mask for mask in Mask if mask.value == text), None)
        if mask is None:
            known = ", ".join(mask.value for mask in Mask)
            raise WrongValueError(
                f"{table.where('masks')}[{number}]", f"expected one of {known}; found {text[:40]!r}"
            )
        found.append(mask)
    return tuple(found)


def flex_from_words(text: str) -> FlexAttention:
    """``lengths=1024+4096,heads=8,masks=causal+sliding``, as on a command line. WrongValueError."""
    document: Document = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        key, given, value = word.partition("=")
        if not given or key not in _WORDS:
            raise WrongValueError("--flex", f"not a setting: {word[:60]!r}; there are {', '.join(_WORDS)}")
        try:
            document[key] = _WORDS[key](value)
        except (ValueError, KeyError):
            raise WrongValueError("--flex", f"not a value of {key}: {value[:60]!r}") from None
    return read_flex(Table(document, "--flex"))


_WORDS: dict[str, Any] = {
    "lengths": lambda text: [int(part) for part in text.split("+")],
    "batch": int,
    "heads": int,
    "kv-heads": int,
    "head-size": int,
    "dtype": str,
    "masks": lambda text: text.split("+"),
    "window": int,
    "backward": lambda text: {"true": True, "false": False}[text],
    "score-mod": str,
}

"""Two contracts side by side: which field differs, and which nobody stated."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

import numpy as np

from gaploop.core import Contract, ContractError, Feature, PolicyContract, Stated, digest
from gaploop.core.units import FACTORS

RATE_TOLERANCE: Final = 0.01
_FEATURE_FIELDS: Final = ("role", "unit", "frame", "rotation", "observable")
_CONTRACT_FIELDS: Final = tuple(f.name for f in fields(Contract) if f.name != "features")
_POLICY_FIELDS: Final = (
    "inputs", "columns", "history", "chunk", "execute", "normaliser", "input_mean", "input_std",
    "action_low", "action_high", "image_path",
)  # fmt: skip
Verdict = Literal["differs", "unstated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field in which two contracts do not agree."""

    field: str
    """`action.unit`, `gripper_polarity`, `normaliser`, ..."""
    verdict: Verdict
    """`differs`: both state it, and not the same; `unstated`: one side does not say."""
    left: Any
    right: Any
    confidence: float
    """That the two really differ: the product of both sides'; 0 where one does not say."""
    message: str


def compare(
    left: Contract | PolicyContract, right: Contract | PolicyContract, *,
    names: tuple[str, str] = ("the first", "the second"),
) -> tuple[Difference, ...]:  # fmt: skip
    """Every field in which two contracts differ, what differs before what is unstated.

    Two log contracts, two policies, or a policy and a robot: what only policies have is
    compared where both are policies.
    """
    found = list(_contracts(_plain(left), _plain(right), names))
    if isinstance(left, PolicyContract) and isinstance(right, PolicyContract):
        found += _policies(left, right, names)
    return tuple(sorted(found, key=lambda d: d.verdict != "differs"))


def require_agreement(
    left: Contract | PolicyContract, right: Contract | PolicyContract, *,
    names: tuple[str, str] = ("the policy", "the robot"), sure: float = 0.5,
) -> None:  # fmt: skip
    """For a robot's runner: raises where two contracts state different things.

    sure: differences less sure than this are let pass, as guesses are no statements.

    Raises:
      ContractError: naming every field that differs.
    """
    wrong = [
        d for d in compare(left, right, names=names)
        if d.verdict == "differs" and d.confidence >= sure and not d.field.startswith("versions.")
    ]  # fmt: skip
    if wrong:
        raise ContractError(
            f"{names[0]} and {names[1]} differ in {', '.join(d.field for d in wrong)}: "
            + " ".join(d.message for d in wrong),
            hint="Mend one side before anything runs.",
        )


def _plain(either: Contract | PolicyContract) -> Contract:
    return either.contract if isinstance(either, PolicyContract) else either


def _contracts(a: Contract, b: Contract, names: tuple[str, str]) -> Iterator[Difference]:
    keys = [f.key for f in a.features]
    keys += [f.key for f in b.features if f.key not in keys]
    for key in keys:
        one, two = a.feature(key), b.feature(key)
        if one is None or two is None:
            lacks = names[0] if one is None else names[1]
            yield _unstated(key, one and one.columns, two and two.columns, f"{lacks} has no {key}.")
            continue
        yield from _features(one, two, names)
    for field in _CONTRACT_FIELDS:
        yield from _stated(field, getattr(a, field), getattr(b, field), names)


def _features(one: Feature, two: Feature, names: tuple[str, str]) -> Iterator[Difference]:
    if one.columns != two.columns:
        same = sorted(one.columns) == sorted(two.columns)
        field = f"{one.key}.{'order' if same else 'columns'}"
        what = "the same columns in another order" if same else "other columns"
        yield _differs(field, one.columns, two.columns, 1.0, names, f"{one.key} has {what}")
    for field in _FEATURE_FIELDS:
        a, b = getattr(one, field), getattr(two, field)
        if field == "unit":
            a, b = (
                _spread(a, len(one.columns)),
                _spread(reordered(two, one.columns), len(one.columns)),
            )
        yield from _stated(f"{one.key}.{field}", a, b, names)


def reordered(feature: Feature, columns: tuple[str, ...]) -> Stated:
    """The units of a feature, one a column, in the order of `columns` where they are the same."""
    value, own = feature.unit.value, feature.columns
    listed = isinstance(value, (tuple, list)) and len(value) == len(own) == len(set(own))
    if not listed or own == columns or sorted(own) != sorted(columns):
        return feature.unit
    return replace(feature.unit, value=tuple(value[own.index(c)] for c in columns))


def _spread(unit: Stated, width: int) -> Stated:
    """One unit for all columns and the same unit a column are one statement."""
    value = unit.value
    if isinstance(value, (tuple, list)) and len(value) == width and len(set(value)) == 1:
        return Stated(value=value[0], source=unit.source, confidence=unit.confidence)
    return unit


def _stated(field: str, a: Stated, b: Stated, names: tuple[str, str]) -> Iterator[Difference]:
    if a.source == "unknown" and b.source == "unknown":
        return
    if a.source == "unknown" or b.source == "unknown":
        silent = names[0] if a.source == "unknown" else names[1]
        said = b.value if a.source == "unknown" else a.value
        yield _unstated(
            field, a.value, b.value, f"{silent} does not state {field}; the other says {said!r}."
        )
        return
    if not same(field, a.value, b.value):
        yield _differs(field, a.value, b.value, a.confidence * b.confidence, names, field)


def same(field: str, a: Any, b: Any) -> bool:
    """Whether two values mean the same: rates to 1 %, ranges to 5 %, lags by their intervals."""
    name = field.rsplit(".", 1)[-1]
    if name in ("log_rate", "control_rate"):
        return _near(a, b, RATE_TOLERANCE)
    if name == "lag":
        return _overlap(a, b)
    if name == "gripper_range" and all(
        isinstance(v, (tuple, list)) and len(v) == 2 for v in (a, b)
    ):
        # what was seen of a range falls short of it
        span = max(abs(float(a[1]) - float(a[0])), abs(float(b[1]) - float(b[0])))
        return all(abs(float(x) - float(y)) <= 0.05 * span for x, y in zip(a, b, strict=True))
    if name == "unit" and isinstance(a, str) and isinstance(b, str) and a in FACTORS:
        return a == b
    return _equal(a, b)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return _near(a, b, 1e-6)
    return a == b


def _near(a: Any, b: Any, tolerance: float) -> bool:
    try:
        x, y = float(a), float(b)
    except (TypeError, ValueError):
        return a == b
    return x == y or math.isclose(x, y, rel_tol=tolerance, abs_tol=1e-9)


def _overlap(a: Any, b: Any) -> bool:
    one, two = _interval(a), _interval(b)
    if one is None or two is None:
        return _equal(a, b)
    return one[0] <= two[1] and two[0] <= one[1]


def _interval(lag: Any) -> tuple[float, float] | None:
    """(lo, hi) s; a bare number is taken to a millisecond."""
    if isinstance(lag, Mapping) and {"lo", "hi"} <= lag.keys():
        return float(lag["lo"]), float(lag["hi"])
    if isinstance(lag, (int, float)):
        return float(lag) - 1e-3, float(lag) + 1e-3
    return None


def _policies(a: PolicyContract, b: PolicyContract, names: tuple[str, str]) -> Iterator[Difference]:
    for field in _POLICY_FIELDS:
        one, two = getattr(a, field), getattr(b, field)
        if field == "columns" and one != two and sorted(one) == sorted(two):
            field = "columns.order"
        if _empty(one) or _empty(two):
            if not (_empty(one) and _empty(two)):
                silent = names[0] if _empty(one) else names[1]
                yield _unstated(field, one, two, f"{silent} does not state {field}.")
        elif not _equal(one, two):
            yield _differs(field, one, two, 1.0, names, field)
    for name in sorted(a.versions.keys() & b.versions.keys()):
        if a.versions[name] != b.versions[name]:
            yield _differs(f"versions.{name}", a.versions[name], b.versions[name], 1.0, names, name)
    if a.golden is not None and b.golden is not None:
        one, two = (digest(np.asarray(g.observations), np.asarray(g.actions))
                    for g in (a.golden, b.golden))  # fmt: skip
        if one != two:
            yield _differs("golden", one[:8], two[:8], 1.0, names, "golden pairs")


def _empty(value: Any) -> bool:
    return isinstance(value, (str, tuple)) and len(value) == 0


def _differs(
    field: str, a: Any, b: Any, sure: float, names: tuple[str, str], what: str
) -> Difference:
    return Difference(
        field=field, verdict="differs", left=a, right=b, confidence=sure,
        message=f"{what}: {names[0]} says {_short(a)}, {names[1]} says {_short(b)}.",
    )  # fmt: skip


def _unstated(field: str, a: Any, b: Any, message: str) -> Difference:
    return Difference(
        field=field, verdict="unstated", left=a, right=b, confidence=0.0, message=message
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

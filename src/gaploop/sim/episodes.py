"""Recordings to episodes: what a log holds, plus what is said about it.

Signals are single precision, as datasets store them, so an episode's id is the
same before it is written and after it is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaploop.core import Attempts, Episode, Judgement, Label, Recording, Signal
from gaploop.core.episode import Origin, WorldKind
from gaploop.sim.world import World

JUDGE_VERSION = 1


def to_episodes(
    world: World,
    attempts: Attempts,
    recording: Recording,
    judgement: Judgement,
    *,
    origin: Origin,
    policy: str,
    world_kind: WorldKind,
    parents: Sequence[tuple[str, ...]] | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
) -> list[Episode]:
    """One episode an attempt, in order; void attempts carry the fact `void`.

    Signals: `action`, the observed channels by their feature keys, and
    `frame_weight`. Facts: `outcome`, `layout`, and, unless the world is a
    stand-in whose truth nobody may see, `attempt` (world digest, knob values,
    seed), with which it runs again. `facts` adds further ones, a mapping an
    attempt.
    """
    spec = world.spec
    signals = _signals(world, recording, judgement)
    episodes = []
    for i in range(len(attempts)):
        episode = Episode(
            signals={key: _of(s, i) for key, s in signals.items()},
            contract=spec.contract,
            robot=spec.robot,
            task=spec.name,
            instruction=spec.instruction,
            world=world_kind,
            origin=origin,
            policy=policy,
            parents=parents[i] if parents is not None else (),
        )
        said: dict[str, Any] = {"outcome": outcome(spec.name, spec.stages, judgement, i)}
        said["layout"] = _named([v.name for v in spec.layout], attempts.layout[i])
        if world_kind != "stand-in":
            said["attempt"] = {
                "world": world.digest,
                "knobs": _named(world.space.names, attempts.knobs[i]),
                "seed": str(attempts.seeds[i]),
            }
        if recording.void[i]:
            said["void"] = True
        said |= dict(facts[i]) if facts is not None else {}
        episodes.append(replace(episode, facts=_labels(episode, said, f"{spec.name}@judge")))
    return episodes


def outcome(task: str, stages: Sequence[str], judgement: Judgement, i: int) -> dict[str, Any]:
    """What the task says about attempt i, as JSON data."""
    stage = int(judgement.stage[i])
    onset = float(judgement.onset[i])
    return {
        "success": bool(judgement.success[i]),
        "second": bool(judgement.second[i]),
        "stage": stages[stage] if stage >= 0 else "",
        "tag": judgement.tags[i] if judgement.tags else "",
        "margin": float(judgement.margin[i]),
        "onset": onset if np.isfinite(onset) else None,
        "judge": f"{task}@{JUDGE_VERSION}",
        **{k: float(v[i]) for k, v in judgement.extra.items()},
    }


def _signals(world: World, recording: Recording, judgement: Judgement) -> dict[str, Signal]:
    """Whole-batch signals, values (T, N, d); cut to one attempt by `_of`."""
    spec = world.spec
    # frame / fps, the grid that datasets keep
    times = np.arange(recording.steps) / round(1.0 / recording.dt, 9)
    columns = {"action": (spec.command, spec.command_unit, recording.command)}
    for c in spec.observed:
        columns[c.key] = (c.columns, c.unit, recording.signals[c.name])
    out = {
        key: Signal(
            name=key, unit=unit, columns=names, times=times, values=values.astype(np.float32)
        )
        for key, (names, unit, values) in columns.items()
    }
    weights = judgement.weights.astype(np.float32)
    out["frame_weight"] = Signal(name="frame_weight", times=times, values=weights)
    return out


def _of(signal: Signal, i: int) -> Signal:
    return replace(signal, values=np.ascontiguousarray(signal.values[:, i]))


def _named(names: Sequence[str], values: np.ndarray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _labels(episode: Episode, said: Mapping[str, Any], author: str) -> tuple[Label, ...]:
    subject = episode.id
    return tuple(Label(subject=subject, key=k, value=v, author=author) for k, v in said.items())

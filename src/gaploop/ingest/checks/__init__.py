"""What is wrong with the numbers of a set of episodes, in one pass over its frames.

`examine` reads batches of whole episodes once. A few figures an episode are kept
(`summary`, `following`), from which everything that compares episodes is decided at the
end; what needs the frames themselves looks at each batch as it passes (`Watcher`).
To add a check: a function over the summary, or a Watcher.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gaploop.ingest.checks.agreeing import agreeing
from gaploop.ingest.checks.alike import Alike
from gaploop.ingest.checks.batch import Batch, Said, Stream, batches
from gaploop.ingest.checks.clocks import Clocks
from gaploop.ingest.checks.copies import Copies
from gaploop.ingest.checks.following import Followers
from gaploop.ingest.checks.limits import Limits
from gaploop.ingest.checks.rotating import Rotations
from gaploop.ingest.checks.stills import Stills
from gaploop.ingest.checks.summary import Summary, summarise
from gaploop.ingest.checks.takeovers import Takeovers
from gaploop.ingest.checks.values import values
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Seen

__all__ = ["Batch", "Said", "Stream", "Summary", "batches", "examine"]


def examine(read: Iterable[Batch], config: ScreenConfig) -> tuple[Summary, list[tuple[int, Seen]]]:
    """All findings as (episode index, what was seen), and the summary they rest on."""
    clocks, copies, stills = Clocks(config), Copies(config), Stills(config)
    turns, hands, followers = Rotations(config), Takeovers(config), Followers(config)
    limits, alike = Limits(config), Alike(config)
    watchers = [clocks, copies, stills, limits, turns, hands, followers, alike]
    summary = summarise(read, watchers)
    twice = list(copies.say(summary.said))
    together = [(f, list(agreeing(f, config))) for f in followers.found]
    paired = {
        key
        for f, said in together
        if any(s.code == "unit_mismatch" for _, s in said)
        for key in (f.command, f.reading)
    }
    seen = [
        *values(summary, config, paired),
        *clocks.say(summary.said),
        *twice,
        *alike.say(summary.said, {e for e, _ in twice}),
        *stills.say(summary.said),
        *limits.say(),
        *turns.say(summary.said),
        *hands.say(),
    ]
    for _, said in together:
        seen += said
    return summary, list(_causes_only(seen))


_CONSEQUENCES: Final = {
    "frozen_signal": {"reading_jump", "joint_zero", "action_lag"},
    "timestamp_gap": {"action_jump", "reading_jump"},
    "timestamp_order": {"fps_mismatch", "clock_skew"},
    "action_mode": {"unit_mismatch", "quaternion_norm", "action_lag", "action_jump"},
    "intervention_jump": {"joint_zero", "action_jump"},
    "unit_mismatch": {"joint_zero"},
    "quaternion_order": {"quaternion_sign"},
    "control_rate": {"action_jump"},
}
"""Finding to what it brings about in the same episode, which is then not said as well."""


def _causes_only(seen: Sequence[tuple[int, Seen]]) -> Iterator[tuple[int, Seen]]:
    follows: dict[int, set[str]] = {}
    for e, s in seen:
        if s.severity != "info":
            follows.setdefault(e, set()).update(_CONSEQUENCES.get(s.code, ()))
    for e, s in seen:
        if s.code not in follows.get(e, ()) or s.severity == "info":
            yield e, s

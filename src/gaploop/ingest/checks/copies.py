"""The same attempt twice, and the same attempt on both sides of a split."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.ingest.checks.batch import Batch, Said
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen


class Copies(Watcher):
    """Keeps a digest of each episode's commands and readings."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._digests: list[bytes] = []

    def see(self, batch: Batch) -> None:
        keys = [k for k in sorted(batch.streams) if k.startswith(("action", "observation."))]
        tables = [(np.ascontiguousarray(batch.streams[k].values), batch.streams[k]) for k in keys]
        for e in range(batch.episodes):
            digest = hashlib.blake2b(digest_size=16)
            empty = True
            for table, stream in tables:
                part = table[stream.rows(e)]
                digest.update(part.data)
                empty &= not len(part)
            self._digests.append(b"" if empty else digest.digest())

    def say(self, said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
        first: dict[bytes, int] = {}
        for e, digest in enumerate(self._digests):
            if not digest:
                continue
            original = first.setdefault(digest, e)
            if original == e:
                continue
            name = said[original].source.rsplit("/", 1)[-1] or f"episode {original}"
            if said[e].split != said[original].split:
                yield e, _leak(said[original].split, said[e].split, name)
            else:
                yield (
                    e,
                    Seen(
                        code="duplicate_episode",
                        severity="error",
                        feature="",
                        message=f"same numbers as {name}",
                        fix="Keep one of them.",
                    ),
                )


def _leak(one: str, other: str, name: str) -> Seen:
    return Seen(
        code="leakage",
        severity="error",
        feature="",
        message=f"same numbers as {name}: in {other!r} and in {one!r}",
        fix="Keep it on one side: a test on what was trained tells nothing.",
    )

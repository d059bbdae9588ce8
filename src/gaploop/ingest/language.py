"""Instructions that mean the same told the same way; the original stays beside.

A closed list of templates and synonyms, so that the same words always give the same answer.
What no template fits keeps its own words, trimmed: an instruction is never guessed at.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gaploop.core import Episode, Label

AUTHOR: Final = "language@1"
_LONGEST: Final = 2000
"""Characters of an instruction that are looked at."""

SYNONYMS: Final = {
    "pick up": ("pick up", "pick", "grab", "grasp", "take", "lift", "lift up", "get", "fetch"),
    "place": ("place", "put", "put down", "set", "set down", "drop", "lay", "deposit", "position"),
    "push": ("push", "shove", "nudge"),
    "pull": ("pull", "drag"),
    "slide": ("slide",),
    "open": ("open", "open up"),
    "close": ("close", "shut"),
    "turn on": ("turn on", "switch on"),
    "turn off": ("turn off", "switch off"),
    "pour": ("pour",),
    "stack": ("stack",),
    "fold": ("fold", "fold up"),
    "wipe": ("wipe", "clean", "wipe down"),
    "insert": ("insert", "plug in", "plug"),
    "move": ("move", "bring", "carry", "transfer"),
}
"""Canonical verb to the words that mean it in a robot's instruction."""
PLACES: Final = {
    "in": ("into", "inside", "inside of", "in"),
    "on": ("onto", "on top of", "on to", "atop", "on"),
    "next to": ("next to", "beside", "by the side of", "alongside"),
    "under": ("under", "underneath", "below", "beneath"),
    "from": ("from", "out of", "off of"),
    "to": ("to", "towards", "toward"),
}
_POLITE = re.compile(
    r"^(?:(?:hey|hi|ok|okay|robot|now|then)[ ,]+)*"
    r"(?:please[ ,]+|(?:can|could|would|will) you (?:please )?|you should |try to |i want you to )*"
)
_ARTICLE = re.compile(r"\b(?:the|a|an|your|its)\b ?")
_TAIL = re.compile(r"[ ,]*(?:please|thanks|thank you)?[ .!?;,]*$")
_PARTICLES: Final = frozenset({"up", "down", "on", "off", "in", "it", "them", "this", "that"})
_VERBS = sorted(
    ((word, verb) for verb, words in SYNONYMS.items() for word in words), key=lambda p: -len(p[0])
)
_PLACED = sorted(
    ((word, place) for place, words in PLACES.items() for word in words), key=lambda p: -len(p[0])
)
_SPLIT = re.compile(r" (" + "|".join(re.escape(word) for word, _ in _PLACED) + r") ")
_PRONOUN = re.compile(r"^(.*?)(?:,)? and (?:then )?(\w+(?: down)?) (?:it|them)\b(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One instruction, as it was told and as all that mean it are."""

    original: str
    canonical: str
    template: str = ""
    """`pick up {object} and place {relation} {target}`; empty where no template fits."""
    slots: Mapping[str, str] = field(default_factory=dict[str, str])
    """What fills the template: verb, object, relation, target."""


def canonical(instruction: str) -> Wording:
    """The one wording of an instruction in English; other languages keep their own words."""
    text = unicodedata.normalize("NFKC", instruction[:_LONGEST])
    text = " ".join(text.replace("_", " ").split()).lower()
    text = _TAIL.sub("", _POLITE.sub("", text))
    plain = " ".join(_ARTICLE.sub("", text).split())
    fitted = _twice(plain) or _once(plain)
    if fitted is None:
        return Wording(original=instruction, canonical=text)
    template, slots = fitted
    return Wording(
        original=instruction, canonical=template.format(**slots), template=template, slots=slots
    )


def grouped(instructions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Canonical wording to the originals that mean it, each once, in order of appearance."""
    found: dict[str, dict[str, None]] = {}
    for one in instructions:
        found.setdefault(canonical(one).canonical, {})[one] = None
    return {k: tuple(v) for k, v in found.items()}


def with_wording(episode: Episode) -> Episode:
    """The episode with its canonical instruction as an `instruction` fact; its id stays.

    An episode without an instruction comes back as it is.
    """
    if not episode.instruction.strip():
        return episode
    said = canonical(episode.instruction)
    value = {
        "original": said.original, "canonical": said.canonical, "template": said.template,
        "slots": dict(said.slots),
    }  # fmt: skip
    label = Label(subject=episode.id, key="instruction", value=value, author=AUTHOR)
    return replace(episode, facts=(*episode.facts, label))


def _once(text: str) -> tuple[str, dict[str, str]] | None:
    """verb object [relation target]"""
    opened = _verb(text)
    if opened is None:
        return None
    verb, rest = opened
    thing, relation, target = _placed(rest)
    if not thing or thing in _PARTICLES:
        return None
    if verb == "move" and relation in ("in", "on", "next to", "under"):
        verb = "place"
    if not target:
        return "{verb} {object}", {"verb": verb, "object": thing}
    return "{verb} {object} {relation} {target}", {
        "verb": verb, "object": thing, "relation": relation, "target": target,
    }  # fmt: skip


def _twice(text: str) -> tuple[str, dict[str, str]] | None:
    """pick up object and place it [relation target]: the same as placing it there"""
    found = _PRONOUN.match(text)
    if found is None:
        return None
    first, second = _verb(found[1]), _verb(f"{found[2]} it{found[3]}")
    if (
        first is None
        or second is None
        or first[0] != "pick up"
        or second[0] not in ("place", "move")
    ):
        return None
    thing, relation, source = _placed(first[1])
    if source and relation != "from":
        return None
    _, relation, target = _placed(second[1])
    if not target or not thing:
        return None
    return "{verb} {object} {relation} {target}", {
        "verb": "place", "object": thing, "relation": relation, "target": target,
    }  # fmt: skip


def _verb(text: str) -> tuple[str, str] | None:
    for word, verb in _VERBS:
        if text.startswith(f"{word} "):
            return verb, text[len(word) + 1 :].strip()
    return None


def _placed(text: str) -> tuple[str, str, str]:
    """(object, relation, target) of `object [preposition target]`."""
    parts = _SPLIT.split(text, maxsplit=1)
    if len(parts) < 3 or not parts[2].strip():
        return text.strip(), "", ""
    relation = next(place for word, place in _PLACED if word == parts[1])
    return parts[0].strip(), relation, parts[2].strip()

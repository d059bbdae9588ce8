"""Knobs in a technician's words, derived from what a knob declares: its target and its name."""

from gaploop.core import Knob


def mechanism(knob: Knob, direction: float) -> str:
    """What it is called when `knob` stands above (direction > 0) or below its trained value.

    Two knobs of one mechanism (the x and y of one bias) share their words, which
    is how they become one hypothesis.
    """
    kind, name, field, _ = knob.targets[0].parts() if knob.targets else ("", knob.name, "", None)
    up = direction >= 0
    if knob.gap == "mechanical":
        return _named(knob, up)
    if kind == "action":
        return _action(field or name, up)
    if kind == "sensor":
        return _sensor(name, field)
    if kind == "actuator":
        return _actuator(knob.name, field, up)
    return _named(knob, up)


def _action(effect: str, up: bool) -> str:
    words = {
        "delay": ("late commands", "early commands"),
        "latency": ("late commands", "early commands"),
        "jitter": ("uneven command timing", "even command timing"),
        "gain": ("strong gain", "weak gain"),
        "lost": ("lost commands", "fewer lost commands"),
        "drop": ("lost commands", "fewer lost commands"),
        "backlash": ("backlash", "less backlash"),
        "deadband": ("command deadband", "less command deadband"),
        "bias": ("command offset", "command offset"),
        "saturation": ("wide command limit", "tight command limit"),
    }
    high, low = words.get(effect, (f"high command {effect}", f"low command {effect}"))
    return high if up else low


def _sensor(channel: str, effect: str) -> str:
    reading = f"{channel} reading" if len(channel) <= 2 else f"{channel} pose"
    words = {
        "bias": f"biased {reading}",
        "noise": f"noisy {reading}",
        "latency": f"late {reading}",
        "delay": f"late {reading}",
        "dropout": f"missing {reading}",
        "drift": f"drifting {reading}",
        "quantum": f"coarse {reading}",
    }
    return words.get(effect, f"{effect} of {reading}")


def _actuator(name: str, field: str, up: bool) -> str:
    if field in ("gainprm", "biasprm") or "stiff" in name or name.startswith("kp"):
        return "stiff servo" if up else "soft servo"
    if "force" in field or "limit" in name:
        return "strong actuator" if up else "weak actuator"
    return f"{'high' if up else 'low'} {_plain(name)}"


def _named(knob: Knob, up: bool) -> str:
    name = _plain(knob.name)
    if knob.gap == "mechanical" and ("offset" in name or "zero" in name):
        return "joint zero offset"
    if "friction" in name:
        what = name.replace("friction", "").strip() or "contact"
        return f"{'sticky' if up else 'slippery'} {what}"
    if "clearance" in name:
        return "loose fit" if up else "tight fit"
    if knob.gap == "task":
        return f"shifted {name.removesuffix(' x').removesuffix(' y')}"
    return f"{'high' if up else 'low'} {name}"


def _plain(name: str) -> str:
    return name.replace("_", " ").replace(".", " ")

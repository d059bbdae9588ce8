"""Where a policy meets reality: a folder of logs, a command, or a stand-in world."""

from gaploop.field.command import Command
from gaploop.field.inbox import Inbox
from gaploop.field.labs import Lab, lab_mix
from gaploop.field.supervisor import takeovers

__all__ = ["Command", "Inbox", "Lab", "lab_mix", "takeovers"]

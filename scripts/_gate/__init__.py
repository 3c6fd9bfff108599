"""What may enter memory: secrets masked, who said it, whether it was said, when, and whether it is there already.

`mask_messages` runs before a model sees anything, `judge` before anything is written. Both are pure.
"""

from __future__ import annotations

from _gate.secrets import mask_messages, mask_secrets
from _gate.verdict import Verdict, judge

__all__ = ["Verdict", "judge", "mask_messages", "mask_secrets"]

"""What the watcher does: see that something was said, and start the layer that takes it in.

`lines` and `rows` count what is new in the two kinds of transcripts, `keys` tells whose sessions they are, `notice`
wakes up on changes, `outlook` looks, `marks` takes up the gateway hook's markers, `agenda` knows what to start when,
`child` runs it, `watch` is the loop.
"""

from __future__ import annotations

from _watch.outlook import POLL_SECONDS, Ways
from _watch.voice import Voice
from _watch.watch import Tally, watch

__all__ = ["POLL_SECONDS", "Tally", "Voice", "Ways", "watch"]

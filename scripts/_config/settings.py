"""The variables with their defaults, and the frozen Config that they make."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

# A value and where it came from: "flag", "environment", the path of a `.env` file, or "default".
Found = tuple[str, str]

OPENROUTER_URL = "https://openrouter.ai/api/v1"
OBSERVER_MODEL = "stepfun/step-3.5-flash:free"
OBSERVER_FALLBACK_MODEL = "nvidia/nemotron-3-nano-30b-a3b:free"
REFLECTOR_MODEL = "nvidia/nemotron-3-super-120b-a12b:free"
REFLECTOR_FALLBACK_MODEL = "openrouter/hunter-alpha"
LLM_MODEL = "deepseek/deepseek-v3.2"
PROVIDERS = ("auto", "openai", "openclaw", "none")
# How far back the runs look that cannot wait, where a session has no cursor.
FLUSH_LOOKBACK_MIN, RECOVER_LOOKBACK_MIN = 120, 240

# Every variable, with its default as text ("" = none). The numbers are the shell edition's.
DEFAULTS: Mapping[str, str] = {
    "OPENROUTER_API_KEY": "",
    "LLM_API_KEY": "",
    "LLM_BASE_URL": OPENROUTER_URL,
    "LLM_MODEL": LLM_MODEL,
    "OBSERVER_MODEL": OBSERVER_MODEL,
    "OBSERVER_FALLBACK_MODEL": OBSERVER_FALLBACK_MODEL,
    "REFLECTOR_MODEL": REFLECTOR_MODEL,
    "REFLECTOR_FALLBACK_MODEL": REFLECTOR_FALLBACK_MODEL,
    "LLM_PROVIDER": "auto",
    "OPENCLAW_WORKSPACE": "",
    "MEMORY_DIR": "",
    "SESSIONS_DIR": "",
    "OPENCLAW_AGENT_ID": "main",
    "OPENCLAW_STATE_DIR": "",
    "OPENCLAW_HOME": "",
    "OBSERVER_LOOKBACK_MIN": "15",
    "OBSERVER_MORNING_LOOKBACK_MIN": "480",
    "OBSERVER_LINE_THRESHOLD": "40",
    "OBSERVER_COOLDOWN_SECS": "300",
    "REFLECTOR_WORD_THRESHOLD": "8000",
    "DREAM_TOKEN_TARGET": "8000",
    "READ_ONLY_MODE": "false",
    "DREAM_PHASE": "1",
    "LLM_DAILY_CALL_LIMIT": "200",
    "LLM_DAILY_TOKEN_LIMIT": "2000000",
    "TZ": "",
}
# The whole numbers among them, with the lowest and the highest that is taken.
RANGES: Mapping[str, "tuple[int, int]"] = {
    "OBSERVER_LOOKBACK_MIN": (0, 5_256_000),
    "OBSERVER_MORNING_LOOKBACK_MIN": (0, 5_256_000),
    "OBSERVER_LINE_THRESHOLD": (1, 1_000_000),
    "OBSERVER_COOLDOWN_SECS": (0, 86_400),
    "REFLECTOR_WORD_THRESHOLD": (100, 10_000_000),
    "DREAM_TOKEN_TARGET": (100, 10_000_000),
    "DREAM_PHASE": (1, 2),
    "LLM_DAILY_CALL_LIMIT": (0, 1_000_000),
    "LLM_DAILY_TOKEN_LIMIT": (0, 100_000_000_000),
}
SECRET_VARIABLES = ("OPENROUTER_API_KEY", "LLM_API_KEY")


class Config(NamedTuple):
    """Everything a run may know about its surroundings. Paths are absolute; keys never show in repr(). `origins` and
    `values` say by variable where it came from and what it is, of a key only whether it is set."""

    workspace: Path
    memory_dir: Path
    sessions_dir: Path
    agent_id: str
    state_dir: Path
    zone: tzinfo
    provider: str
    base_url: str
    api_key: str
    observer_models: "tuple[str, ...]"
    reflector_models: "tuple[str, ...]"
    lookback_minutes: int
    morning_lookback_minutes: int
    line_threshold: int
    cooldown_seconds: int
    reflect_over_words: int
    dream_token_target: int
    read_only: bool
    dream_phase: int
    daily_call_limit: int
    daily_token_limit: int
    origins: Mapping[str, str]
    values: Mapping[str, str] = {}

    def __repr__(self) -> str:
        shown = self._replace(api_key="set" if self.api_key else "")
        return f"Config({', '.join(f'{name}={value!r}' for name, value in zip(shown._fields, shown))})"

    @property
    def store_path(self) -> Path:
        """OpenClaw's SQLite store (2026.8.1 and newer), beside the folder of the JSONL transcripts."""
        return self.sessions_dir.parent / "agent" / "openclaw-agent.sqlite"

    @property
    def observations_path(self) -> Path:
        return self.memory_dir / "observations.md"

    @property
    def private_dir(self) -> Path:
        """Our own bookkeeping. Nothing in it ends in .md, because OpenClaw indexes every .md below memory/."""
        return self.memory_dir / ".total-recall"

    @property
    def logs_dir(self) -> Path:
        return self.workspace / "logs"

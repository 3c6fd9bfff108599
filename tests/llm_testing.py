"""What the tests of `_llm` share: a clock that only `sleep` moves, a kept memo, a Config from an environment."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Optional

from _config import Config, load_config
from _llm import Answer, Memo, Question, ask

KEY = "sk-or-" + "a1B2" * 8
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
QUESTION = Question("You compress conversations.", "USER: my sister's wedding is on 14 June in Porto")
ENTRY = "- 09:00 The sister's wedding is on 14 June in Porto"


class Clock:
    """Time stands still unless `sleep` or `pass_` moves it."""

    def __init__(self, moment: datetime = NOON) -> None:
        self.moment = moment
        self.slept: "list[float]" = []

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += timedelta(seconds=seconds)

    def pass_(self, **duration: float) -> None:
        self.moment += timedelta(**duration)


class Kept:
    """The memo between runs, written and read as JSON at each change like the real one."""

    def __init__(self, memo: Optional[Memo] = None) -> None:
        self.stored: Any = (memo or Memo()).as_json()

    @property
    def memo(self) -> Memo:
        return Memo.from_json(self.stored)

    def __call__(self, change: "Callable[[Memo], Memo]") -> Memo:
        self.stored = change(self.memo).as_json()
        return self.memo


class Desk:
    """Asks questions at one address, run after run, with one clock and one memo."""

    def __init__(self, home: Path, base_url: str, **environment: str) -> None:
        self.environment = {
            "HOME": str(home),
            "TZ": "UTC",
            "LLM_API_KEY": KEY,
            "LLM_BASE_URL": base_url,
            **environment,
        }
        self.clock, self.kept = Clock(), Kept()

    @property
    def config(self) -> Config:
        return load_config(environ=self.environment, script=Path(self.environment["HOME"]) / "observer.py")

    def ask(self, *models: str, question: Question = QUESTION, accept: Any = None, **more: Any) -> Answer:
        def take(answer: Answer) -> Optional[str]:
            return None

        return ask(
            question,
            models or ("one", "two"),
            self.config,
            accept or take,
            self.kept,
            now=self.clock.now,
            sleep=self.clock.sleep,
            **more,
        )

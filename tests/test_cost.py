"""What a day costs: characters sent to the model for each message of a person that reached memory."""

from __future__ import annotations

from pathlib import Path

import fake_model
from observer_testing import Home, at, cite, minutes, tags_in
from transcript_builders import SID

# One made-up exchange of everyday length; said over and over with other numbers.
SAID = (
    "Could you move the call with the landlord to {n} December, please? I am at the dentist that morning. #note-{n}",
    "The quote for the roof came in at {n}00 euros. We decided to take the second offer. #note-{n}",
    "From next week on my daughter has swimming on Tuesdays, so nothing after 16:{n}. #note-{n}",
    "ok, thanks, that helps. Let us do the rest tomorrow. #note-{n}",
)
ANSWERED = (
    "Done: I moved it and let the landlord know. The new time is in your calendar, with a reminder an hour before, "
    "and I put the papers that you will need for the call into the shared folder.",
    "Noted. I will write to both companies this afternoon and send you the drafts before they go out.",
)


def test_a_day_of_talk_costs_at_most_1200_characters_a_message(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with fake_model.FakeModel(cite) as server:
        home.model(server)
        store = home.jsonl()
        store.start(SID, at=at("08:00"))
        said = 0
        for minute in range(0, 14 * 60, 3):
            now = at("08:00") + minutes(minute)
            if minute % 6 == 0:
                said += 1
                store.user(SID, SAID[said % 4].format(n=said), at=now)
                store.assistant(SID, ANSWERED[said % 2], at=now + minutes(0.3))
            if minute % 15 == 0:
                assert home.run("--trigger", "cron", now=now + minutes(0.9)).code == 0
        home.run("--trigger", "cron", now=at("22:05"))
        sent = sum(len(part["content"]) for request in server.requests for part in request.body["messages"])
    captured = len(tags_in(home.log))
    assert captured == said == 140
    assert sent / captured <= 1200, f"{sent / captured:.0f} characters a message"

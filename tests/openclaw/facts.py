"""What the person in these tests says: each telling sentence once, under a tag of its own."""

from __future__ import annotations

_SAID = (
    "My sister Ines moves to Porto on 4 December {}.",
    "Never call me before 10 in the morning {}.",
    "My daughter Wanda plays the cello every Tuesday {}.",
    "I prefer trains to planes {}.",
    "We sell the boat Petrel in Husum on 20 December {}.",
    "We decided to paint the kitchen green on 12 December {}.",
    "My dentist is Dr. Okafor and I see her on 9 December {}.",
    "Always write to the landlord Teodor Brandt in German {}.",
    "I want to run the Marlow marathon in May 2027 {}.",
    "Always order my food without walnuts {}.",
    "My brother Anselm starts at the Lind bakery on 3 January {}.",
    "Never book a hotel without a lift {}.",
)
COUNT = len(_SAID)


def tag(number: int) -> str:
    return f"#fact-{number}"


def fact(number: int) -> str:
    """The sentence with this number, from 1."""
    return _SAID[number - 1].format(tag(number))


def once(upto: int) -> "dict[str, int]":
    """What observations.md holds when each fact up to this one stands there once, and nothing else with a tag."""
    return {tag(number): 1 for number in range(1, upto + 1)}

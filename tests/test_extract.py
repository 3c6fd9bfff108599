from __future__ import annotations

import json
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _extract import extract
from _observations import TYPES, Candidate, parse_line, render_line
from _transcripts.message import Cursor, Message

ROOT = Path(__file__).resolve().parent.parent
LOCOMO = ROOT.parent / "shared" / "locomo" / "locomo-first3.json"
MONDAY_MORNING = datetime(2026, 11, 30, 10, 0, tzinfo=timezone.utc)
LISBON = ZoneInfo("Europe/Lisbon")


def said(
    text: str,
    role: str = "user",
    sender: str = "",
    trusted: bool = True,
    at: datetime = MONDAY_MORNING,
    uid: str = "u1",
) -> Message:
    return Message(
        "s1", "agent:main:main", uid, uid, role, text, at, sender, trusted, Cursor("jsonl", "s1", 0)
    )


def kept(*messages: "str | Message", zone: ZoneInfo = LISBON) -> "list[Candidate]":
    return extract([said(one) if isinstance(one, str) else one for one in messages], zone)


def texts(*messages: "str | Message") -> "list[str]":
    return [candidate.observation.text for candidate in kept(*messages)]


WEDDINGS = {
    "en": ("My sister's wedding is on 14 June in Porto.", "ok thanks"),
    "de": ("Die Hochzeit meiner Schwester ist am 14. Juni in Porto.", "ok danke dir"),
    "fr": ("Le mariage de ma sœur est le 14 juin à Porto.", "ok merci beaucoup"),
    "es": ("La boda de mi hermana es el 14 de junio en Oporto.", "vale, muchas gracias"),
    "pt": ("O casamento da minha irmã é no dia 14 de junho no Porto.", "ok, muito obrigado"),
    "it": ("Il matrimonio di mia sorella è il 14 giugno a Porto.", "ok grazie mille"),
    "nl": ("De bruiloft van mijn zus is op 14 juni in Porto.", "oké, dankjewel"),
    "pl": ("Ślub mojej siostry jest 14 czerwca w Porto.", "ok, dzięki"),
    "tr": ("Kız kardeşimin düğünü 14 Haziran'da Porto'da.", "tamam teşekkürler"),
    "ru": ("Свадьба моей сестры 14 июня в Порту.", "ок, спасибо большое"),
    "zh": ("我妹妹的婚礼是6月14日在波尔图。", "好的，谢谢"),
    "ja": ("妹の結婚式は6月14日にポルトであります。", "了解です、ありがとうございます"),
    "ko": ("제 여동생 결혼식은 6월 14일 포르투에서 해요.", "네 감사합니다"),
}


@pytest.mark.parametrize("language", WEDDINGS)
def test_a_wedding_is_kept_whole_as_a_high_event_and_thanks_are_not(language: str) -> None:
    wedding, thanks = WEDDINGS[language]
    found = kept(wedding)
    assert [candidate.observation.text for candidate in found] == [wedding.rstrip(".。")]
    assert (found[0].observation.type, found[0].observation.priority) == ("event", "🔴")
    assert kept(thanks) == []
    assert texts(said(thanks, uid="a"), said(wedding, uid="b"), said(thanks, uid="c")) == [
        wedding.rstrip(".。")
    ]


@pytest.mark.parametrize(
    ("fact", "thanks"),
    [
        ("A nővérem esküvője június 14-én lesz Portóban.", "rendben köszi"),
        ("החתונה של אחותי ב-14 ביוני בפורטו", "תודה רבה"),
        ("حفل زفاف أختي في 14 يونيو في بورتو", "شكرا جزيلا"),
        ("मेरी बहन की शादी 14 जून को पोर्टो में है", "ठीक है धन्यवाद"),
        ("งานแต่งงานของน้องสาวฉันคือวันที่ 14 มิถุนายนที่เมืองปอร์โต", "ขอบคุณ"),
        ("Systerns bröllop blir den 14 juni i Porto", "tack så mycket"),
    ],
)
def test_languages_without_a_table_are_read_by_their_numbers_and_names(fact: str, thanks: str) -> None:
    assert texts(fact) == [fact.rstrip(".")]
    assert kept(thanks) == []


@pytest.mark.parametrize(
    ("text", "kind", "priority"),
    [
        ("From now on never deploy on Fridays.", "rule", "🔴"),
        ("Always answer in German", "rule", "🔴"),
        ("Don't use emojis", "rule", "🔴"),
        ("Call me Max", "rule", "🔴"),
        ("Never send me mail at night", "rule", "🔴"),
        ("Call me on +49 170 1234567", "fact", "🟡"),
        ("Never been to Paris", "fact", "🟡"),
        ("Antworte ab jetzt immer auf Deutsch.", "rule", "🔴"),
        ("以后都用中文回答我", "rule", "🔴"),
        ("I want to learn Portuguese by summer", "goal", "🔴"),
        ("Quiero aprender alemán antes de julio", "goal", "🔴"),
        ("Хочу выучить португальский к лету", "goal", "🔴"),
        ("Don't forget to water the ferns", "goal", "🔴"),
        ("I prefer tea over coffee", "preference", "🟡"),
        ("Je préfère le thé", "preference", "🟡"),
        ("私はコーヒーより紅茶の方が好きです", "preference", "🟡"),
        ("We decided to use Postgres for the ledger", "preference", "🔴"),
        ("I go running every morning before work", "habit", "🟡"),
        ("Ich trinke jeden Morgen Kaffee", "habit", "🟡"),
        ("나는 매일 아침 커피를 마셔요", "habit", "🟡"),
        ("My dentist appointment is next Friday at 9:30", "event", "🔴"),
        ("I'm allergic to peanuts", "fact", "🔴"),
        ("Remember: the gate code is 4421", "fact", "🟡"),
        ("I'm currently reading a novel by Saramago", "context", "🟡"),
    ],
)
def test_each_kind_of_statement_gets_its_type_and_band(text: str, kind: str, priority: str) -> None:
    found = kept(text)
    assert [candidate.observation.text for candidate in found] == [text.rstrip(".")]
    assert (found[0].observation.type, found[0].observation.priority) == (kind, priority)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n ",
        "Hi Bob!",
        "good morning! how are you?",
        "what time is it?",
        "Can you check the logs?",
        "fix the failing test in the login page",
        "please translate this to French",
        "looks good, merge it",
        "no, don't do that",
        "You are amazing, thank you so much for your help!",
        "haha that's so funny :D",
        "hmm I don't know",
        "sounds good to me <3",
        "/status",
        "git push origin main",
        "$ npm install\nadded 120 packages in 4s",
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: no Anna in Porto',
        "2026-11-30 10:00:01 ERROR db connection to Porto lost\n2026-11-30 10:00:02 INFO retry 3",
        "```python\nanna = 'my sister lives in Porto since 2019'\n```",
        '{"name": "Anna", "city": "Porto", "born": 1990}',
        "> My sister lives in Porto since 2019",
        "| Anna | Porto | 1990 |",
        "A" * 5000,
        "👍👍👍",
        "Guten Morgen!",
        "¿qué hora es?",
        "なるほど",
        "我知道了",
        "Did you know that penguins can't fly?",
        "import os\nfrom pathlib import Path\nprint(Path.home())",
        "https://example.com/a/very/long/path?with=parameters&and=more",
    ],
)
def test_chatter_commands_and_pasted_text_give_nothing(text: str) -> None:
    assert kept(text) == []


def test_a_statement_next_to_pasted_code_is_kept_alone() -> None:
    text = "The gate code is 4421.\n\n```\nexport CODE=9999\n```\n\nthanks!"
    assert texts(text) == ["The gate code is 4421"]


def test_words_that_are_also_commands_can_open_a_statement() -> None:
    assert texts("cat food went up to 14 euros") == ["cat food went up to 14 euros"]


def test_fillers_go_and_the_meaning_stays() -> None:
    assert texts("Well, I really just moved to Porto in 2019, you know.") == ["I moved to Porto in 2019"]
    assert texts("Chess is not just a hobby for Anna") == ["Chess is not just a hobby for Anna"]
    assert texts("Great Britain left the EU in 2020") == ["Great Britain left the EU in 2020"]
    assert texts("I loved reading Just Mercy last winter") == ["I loved reading Just Mercy last winter"]
    assert texts("I booked the Ryanair flight to Oslo, but it got cancelled.") == [
        "I booked the Ryanair flight to Oslo, but it got cancelled"
    ]


def test_thanks_at_the_end_of_a_sentence_go_in_scripts_without_spaces_too() -> None:
    assert texts("我妹妹的婚礼是6月14日在波尔图，谢谢") == ["我妹妹的婚礼是6月14日在波尔图"]
    assert texts("妹の結婚式は6月14日です、ありがとうございます") == ["妹の結婚式は6月14日です"]


def test_a_person_who_introduces_herself_in_one_message_is_kept_whole() -> None:
    text = (
        "Hi! I'm Anna, I live in Porto with my husband Rui and our two kids, Tomás (7) and Leonor (4). "
        "I work as a nurse at São João hospital, mostly night shifts. I'm allergic to penicillin. "
        "My birthday is on 3 May."
    )
    assert texts(text) == [
        "I'm Anna, I live in Porto with my husband Rui and our two kids, Tomás (7) and Leonor (4)",
        "I work as a nurse at São João hospital, mostly night shifts",
        "I'm allergic to penicillin",
        "My birthday is on 3 May",
    ]


def test_a_negation_is_never_cut_off() -> None:
    text = "I booked the hotel in Graz for 3 May - it isn't refundable, thanks for asking about it, you are so kind!"
    assert all("isn't refundable" in one for one in texts(text))


def test_a_short_answer_keeps_its_question() -> None:
    question = said("Where does your brother live?", role="assistant", trusted=False, uid="q")
    found = kept(question, said("In Sweden", uid="a"))
    assert [candidate.observation.text for candidate in found] == [
        "In Sweden (Where does your brother live?)"
    ]
    assert found[0].uids == ("a",)


def test_only_the_owner_gives_rules_preferences_and_goals() -> None:
    text = "Always use tabs in Go. I prefer tea over coffee. I want to move to Porto."
    owner = kept(text)
    assert [candidate.observation.type for candidate in owner] == ["rule", "preference", "goal"]
    other = kept(said(text, sender="Rui Costa", trusted=False))
    assert other and all(candidate.observation.type in ("fact", "event", "context") for candidate in other)
    assert "Rui Costa: I prefer tea over coffee" in [candidate.observation.text for candidate in other]
    assert {candidate.sender for candidate in other} == {"Rui Costa"}


def test_what_others_say_in_a_pasted_chat_is_no_goal_of_the_owner() -> None:
    found = kept("From our chat:\nBeatriz: I want to buy a boat in Faro next summer")
    assert [candidate.observation.type for candidate in found] == ["fact"]


@pytest.mark.parametrize(
    "text",
    [
        "I never use Facebook on my phone",
        "They never share prices with Beatriz",
        "Siempre como pescado en Cádiz",
        "Я никогда не был в Лиссабоне",
        "Nigdy nie byłam w Lizbonie",
        "我必须在周五去北京",
        "いつも大阪で寿司を食べます",
        "항상 아침에 커피를 마셔요",
        "You must be tired after Faro",
    ],
)
def test_words_like_always_and_never_alone_make_no_rule(text: str) -> None:
    assert all(candidate.observation.type != "rule" for candidate in kept(text))


def test_what_is_quoted_is_no_rule() -> None:
    found = kept('Marta told the whole board in Lisbon "from now on nobody flies business class"')
    assert [candidate.observation.type for candidate in found] == ["fact"]


def test_of_the_assistant_only_outcomes_are_kept() -> None:
    text = "Done! I booked a table for 4 at Nino's on Friday at 19:00. Anything else?"
    found = kept(said(text, role="assistant", trusted=False))
    assert [candidate.observation.text for candidate in found] == [
        "I booked a table for 4 at Nino's on Friday at 19:00"
    ]
    advice = "You should always use tabs. I prefer Go. Porto has 230000 inhabitants. I will check the logs."
    assert kept(said(advice, role="assistant", trusted=False)) == []


def test_group_chats_without_senders_keep_the_names_in_front() -> None:
    found = kept(
        said("Anna: Hey Tom! I moved to Porto last week", uid="a", trusted=False),
        said("Tom: Wow, congrats Anna!", uid="b", trusted=False),
        said("Anna: thanks Tom, my new street is Rua das Flores", uid="c", trusted=False),
    )
    assert [(one.observation.text, one.sender, one.uids) for one in found] == [
        ("Anna: moved to Porto last week", "Anna", ("a",)),
        ("Anna: my new street is Rua das Flores", "Anna", ("c",)),
    ]


def test_a_note_with_a_colon_has_no_sender() -> None:
    found = kept("Deadline: the tax return is due on 31 July")
    assert [(one.observation.text, one.sender) for one in found] == [
        ("Deadline: the tax return is due on 31 July", "")
    ]


def test_a_name_in_the_text_does_not_stand_for_the_sender_that_the_channel_gave() -> None:
    found = kept(said("Anna: I sold the house in Porto", sender="Bob", trusted=False))
    assert [one.sender for one in found] == ["Bob"]
    assert found[0].observation.text.startswith("Bob: ")


def test_date_and_time_are_those_of_the_persons_zone() -> None:
    late = datetime(2026, 11, 30, 23, 30, tzinfo=timezone.utc)
    found = extract([said("My gate code is 4421", at=late)], ZoneInfo("Asia/Tokyo"))
    assert [(one.observation.date, one.observation.time) for one in found] == [("2026-12-01", "08:30")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my sister's wedding is tomorrow", "my sister's wedding is tomorrow (2026-12-01)"),
        ("We meet Olga the day after tomorrow", "We meet Olga the day after tomorrow (2026-12-02)"),
        ("I sold the car three days ago", "I sold the car three days ago (2026-11-27)"),
        ("I sold the car 3 days ago", "I sold the car 3 days ago (2026-11-27)"),
        ("The audit is this Thursday in Porto", "The audit is this Thursday (2026-12-03) in Porto"),
        ("Morgen habe ich einen Termin in Graz", "Morgen (2026-12-01) habe ich einen Termin in Graz"),
        ("Vorgestern habe ich Olga getroffen", "Vorgestern (2026-11-28) habe ich Olga getroffen"),
        ("Demain j'ai rendez-vous avec Olga", "Demain (2026-12-01) j'ai rendez-vous avec Olga"),
        ("Il y a 3 jours j'ai acheté un vélo", "Il y a 3 jours (2026-11-27) j'ai acheté un vélo"),
        ("Pasado mañana tengo cita con Olga", "Pasado mañana (2026-12-02) tengo cita con Olga"),
        ("Amanhã tenho consulta com a Olga", "Amanhã (2026-12-01) tenho consulta com a Olga"),
        ("Dopodomani ho un esame a Torino", "Dopodomani (2026-12-02) ho un esame a Torino"),
        ("Overmorgen heb ik examen in Gent", "Overmorgen (2026-12-02) heb ik examen in Gent"),
        ("Jutro mam egzamin w Krakowie", "Jutro (2026-12-01) mam egzamin w Krakowie"),
        ("Yarın benim dişçi randevum var", "Yarın (2026-12-01) benim dişçi randevum var"),
        ("Завтра у меня встреча с Олегом", "Завтра (2026-12-01) у меня встреча с Олегом"),
        ("后天我要去看牙医", "后天(2026-12-02)我要去看牙医"),
        ("我下周五要去北京出差", "我下周五(2026-12-11)要去北京出差"),
        ("明日、歯医者に行きます", "明日(2026-12-01)、歯医者に行きます"),
        ("내일 치과 예약이 있어요", "내일 (2026-12-01) 치과 예약이 있어요"),
    ],
)
def test_certain_relative_days_get_their_date(text: str, expected: str) -> None:
    assert texts(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "My dentist appointment is next Friday",
        "I met Olga last Friday in Porto",
        "The audit in Porto is in two weeks",
        "I sold the car two weeks ago",
        "It feels like yesterday that I moved to Porto",
        "My favourite film is Tomorrow Never Dies",
        "I read tomorrow's paper in Porto",
        "Ich trinke jeden Morgen Kaffee in Graz",
        "Ich war heute Morgen in Graz",
        "Trabajo por la mañana en Oporto",
        "I live for a better tomorrow in Porto",
        'Olga wrote "the flight to Oslo is tomorrow"',
        "My flight is tomorrow, 2026-12-01",
        "私の友達は明日香さんです",
    ],
)
def test_doubtful_relative_days_are_left_alone(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    ("at", "zone", "expected"),
    [
        ("2027-01-31T12:00:00+00:00", "Europe/Lisbon", "2027-02-01"),
        ("2028-02-28T12:00:00+00:00", "Europe/Lisbon", "2028-02-29"),
        ("2026-12-31T12:00:00+00:00", "Europe/Lisbon", "2027-01-01"),
        ("2026-10-24T22:30:00+00:00", "Europe/Lisbon", "2026-10-25"),  # clocks go back that night
        ("2027-03-27T23:30:00+00:00", "Europe/Lisbon", "2027-03-28"),  # clocks go forward that night
        ("2026-11-30T23:30:00+00:00", "Asia/Tokyo", "2026-12-02"),
        ("2026-11-30T03:00:00+00:00", "America/New_York", "2026-11-30"),
    ],
)
def test_tomorrow_is_counted_in_days_of_the_persons_calendar(at: str, zone: str, expected: str) -> None:
    found = extract([said("The exam is tomorrow in Porto", at=datetime.fromisoformat(at))], ZoneInfo(zone))
    assert [one.observation.text for one in found] == [f"The exam is tomorrow ({expected}) in Porto"]


def test_tomorrow_said_after_midnight_is_left_alone() -> None:
    at = datetime(2026, 11, 30, 1, 30, tzinfo=timezone.utc)
    assert texts(said("The exam is tomorrow in Porto", at=at)) == ["The exam is tomorrow in Porto"]


def _conversation() -> "list[Message]":
    lines = [
        "Hey, how are you doing today? Hope all is well!",
        "I'm great, thanks! Work is busy but fun, you know how it goes. What about you?",
        "Same here. We adopted a greyhound called Biscuit in September, she sleeps all day long.",
        "Oh wow, that's so lovely! I'm really happy for you all, you deserve it so much!",
        "Thanks! By the way, I quit my job at the bakery and enrolled in a welding course in Ghent.",
        "That is amazing news, congrats! You will do great, I believe in you, keep it up!",
        "It starts on 7 January and costs 1,450 euros, so I'm saving up for it right now.",
        "Sounds good, I'm sure it will all work out in the end. Talk to you soon, take care!",
    ]
    return [
        said(line, uid=f"u{place}", at=MONDAY_MORNING + timedelta(minutes=place))
        for place, line in enumerate(lines)
    ]


def test_a_chatty_window_is_reduced_to_what_it_tells() -> None:
    messages = _conversation()
    found = extract(messages, LISBON)
    text = "\n".join(one.observation.text for one in found)
    for word in ("Biscuit", "Ghent", "7 January", "1,450"):
        assert word in text
    for word in ("lovely", "congrats", "Hope", "take care"):
        assert word not in text
    assert [one.uids for one in found] == sorted(one.uids for one in found)


def test_the_same_messages_always_give_the_same_candidates() -> None:
    messages = _conversation()
    assert extract(messages, LISBON) == extract(list(messages), LISBON) != []
    assert extract([], LISBON) == []


def test_a_document_of_200000_characters_is_represented_but_does_not_flood() -> None:
    start = "My passport number ends in 7731. "
    body = "On day {0} we discussed the plan and the budget of {0}00 euros with Rui from the city council. "
    text = start + "".join(body.format(place) for place in range(1, 2100)) + "My locker in Faro is number 88."
    assert len(text) > 200_000
    before = time.process_time()
    found = kept(text)
    assert time.process_time() - before < 1.0
    lines = "\n".join(one.observation.text for one in found)
    assert 5 <= len(found) <= 20
    assert len(lines.split()) <= 200
    assert "locker in Faro" in lines


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "word ", "a, i ", "and i ", ".", "?!", '"', " - ", "我", "明日は", "hey ", "thanks,", "\n", "[image ",
     "A: ", "1,", "a.", "il y a ", "just just ", "so ", "😀", "a\u0301", "\u202e", "((", "{\"a\":1},\n", "Hey Bob "],
)  # fmt: skip
def test_200000_hostile_characters_take_less_than_a_second(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    before = time.process_time()
    kept(text)
    assert time.process_time() - before < 1.0


_WORDS = st.sampled_from(
    ["tomorrow", "I", "always", "Anna:", "14", "June", "明天", "6月", "``", "```", "“", "(", "2026-12-01", "?", "…",
     "\u2028", "-->", "<!--", "morgen", "🔴", "14:05", "- ", ": ", "ß", "İ", "\ud800", "\x00", "ﬁ", "he said", "\n"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.text(max_size=60), st.lists(_WORDS, max_size=12).map(" ".join)), max_size=6),
    st.data(),
)
def test_no_text_raises_and_every_candidate_can_be_stored(parts: "list[str]", data: st.DataObject) -> None:
    messages = [
        said(
            part,
            role=data.draw(st.sampled_from(["user", "assistant"])),
            sender=data.draw(st.sampled_from(["", "Rui", "\n", "李"])),
            trusted=data.draw(st.booleans()),
            uid=f"u{place}",
        )
        for place, part in enumerate(parts)
    ]
    for candidate in extract(messages, LISBON):
        one = candidate.observation
        assert one.type in TYPES and 1.0 <= one.importance <= 8.5
        message = messages[int(candidate.uids[0][1:])]
        assert message.trusted or one.type not in ("rule", "preference", "goal")
        back = parse_line(render_line(one))
        assert back is not None and (back.text, back.type) == (one.text, one.type)


LOCOMO_FILES = [LOCOMO] if LOCOMO.exists() else []


@pytest.mark.parametrize("path", LOCOMO_FILES, ids=lambda path: path.name)
def test_a_fifth_of_the_words_keeps_most_of_what_is_asked_about_later(path: Path) -> None:
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import extractor as bench
    finally:
        sys.path.remove(str(ROOT / "bench"))
    results = [ours for ours, _chance, _longest in bench.bench(json.loads(path.read_text(encoding="utf-8")))]
    assert all(ours.share <= 0.21 for ours in results)
    assert bench.mean(results).share <= 0.20
    assert bench.mean(results).kept >= 0.62


def test_the_assistants_confirmation_of_what_was_said_gives_nothing() -> None:
    heard = said("We decided to use staging for Project Falcon, the deadline is 12 December.")
    echo = "Got it: you decided to use staging for Project Falcon, deadline 12 December."
    news = "I booked table 14 at the Lotus for 19:30."
    found = kept(heard, *(said(text, role="assistant", trusted=False, uid=text[:6]) for text in (echo, news)))
    assert [candidate.uids for candidate in found] == [("u1",), ("I book",)]

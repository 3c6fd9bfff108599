from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _gate import mask_messages, mask_secrets
from gate_testing import said

# Built at run time: no file of this repository holds anything that looks like a key.
LOWER_UPPER = "a1B2c3D4"
WORD = "hunter" + "2"
AWS = "AK" + "IA" + "Q3EXAMPLE7ZYXWV5"
JWT = ".".join(["ey" + "J" + "hbGciOiJIUzI1NiJ9", "ey" + "J" + "zdWIiOiJhbm5hIn0", "s1gn4tur3" * 4])
PEM = "\n".join(
    [
        "-----BEGIN RSA PRIV" + "ATE KEY-----",
        *["MIIEow" + "IBAAKCAQEAx7" * 4] * 3,
        "-----END RSA PRIV" + "ATE KEY-----",
    ]
)
CARD = " ".join(["4111", "1111", "1111", "1111"])
IBAN = "DE89 3704 " + "0044 0532 0130 00"
SEED = " ".join("apple river stone light cloud tiger maple ocean bread chair music dream".split())
RANDOM = "Zq8" + "vK2pLx9" * 2 + "RtW4nB7m" + "Yc3Hd6Js5F"

SHAPES = {
    "aws key id": AWS,
    "openai": "sk" + "-" + LOWER_UPPER * 5,
    "openai project": "sk" + "-proj-" + LOWER_UPPER * 8,
    "anthropic": "sk" + "-ant-api03-" + LOWER_UPPER * 8,
    "openrouter": "sk" + "-or-v1-" + "0f1e2d3c" * 8,
    "publishable": "pk" + "-" + LOWER_UPPER * 4,
    "github": "gh" + "p_" + LOWER_UPPER * 5,
    "github oauth": "gh" + "o_" + LOWER_UPPER * 5,
    "github fine": "github" + "_pat_" + LOWER_UPPER * 6,
    "gitlab": "gl" + "pat-" + LOWER_UPPER * 3,
    "slack bot": "xox" + "b-" + "123456789012-" + LOWER_UPPER * 3,
    "slack person": "xox" + "p-" + "123456789012-" + LOWER_UPPER * 3,
    "google": "AI" + "za" + "SyA" + LOWER_UPPER * 4,
    "stripe live": "sk" + "_live_" + LOWER_UPPER * 3,
    "stripe test": "pk" + "_test_" + LOWER_UPPER * 3,
    "stripe webhook": "wh" + "sec_" + LOWER_UPPER * 4,
    "slack webhook": "https://hooks.slack" + ".com/services/T0001/B0001/" + LOWER_UPPER * 3,
    "discord webhook": "https://discord" + ".com/api/webhooks/123456/" + LOWER_UPPER * 4,
    "telegram": "123456789" + ":AA" + LOWER_UPPER * 4 + "x",
    "discord bot": "M" + "TA" + LOWER_UPPER * 3 + ".GabCd1." + LOWER_UPPER * 4,
    "npm": "np" + "m_" + LOWER_UPPER * 5,
    "pypi": "py" + "pi-" + LOWER_UPPER * 8,
    "hugging face": "h" + "f_" + LOWER_UPPER * 4,
    "jwt": JWT,
    "pem": PEM,
    "card": CARD,
    "card together": CARD.replace(" ", ""),
    "amex": " ".join(["3782", "822463", "10005"]),
    "iban": IBAN,
    "iban together": IBAN.replace(" ", ""),
    "otpauth": "otp" + "auth://totp/anna?sec" + "ret=" + "JBSWY3DP",
    "ssh key": "AAAA" + "C3NzaC1lZDI1NTE5" + LOWER_UPPER * 5,
    "random": RANDOM,
    "base32": "JB5W3YT2" * 2 + "Q7ZX4PE6K" + "NM3HA2RG",
}


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "Here it is: {} for you",
        "see `{}`",
        "**{}**",
        '{{"value": "{}"}}',
        "X={}\nY=1",
        "({})",
        "它是{}。",
    ],
    ids=["alone", "prose", "code", "bold", "json", "env", "brackets", "chinese"],
)
def test_what_looks_like_a_secret_is_masked_wherever_it_stands(secret: str, frame: str) -> None:
    masked, count = mask_secrets(frame.format(secret))
    assert count >= 1
    assert secret not in masked
    assert "[secret: " in masked
    # nothing of it is left behind
    assert secret[-6:] not in masked
    assert mask_secrets(masked) == (masked, 0)


@pytest.mark.parametrize(
    "secret", [SHAPES["anthropic"], SHAPES["github"], AWS], ids=["anthropic", "github", "aws"]
)
@pytest.mark.parametrize("gap", ["\u200b", "\u2060", "\ufeff", "\u00ad", "**", "`"], ids=ascii)
def test_what_a_reader_does_not_see_hides_no_secret(secret: str, gap: str) -> None:
    hidden = gap.join([secret[:3], secret[3:12], secret[12:]])
    masked, count = mask_secrets(f"use {hidden} now")
    assert count == 1
    assert masked.startswith("use [secret: ")
    assert masked.endswith("] now")


def test_the_placeholder_names_the_kind() -> None:
    assert mask_secrets(f"key {AWS} here") == ("key [secret: aws key] here", 1)
    assert mask_secrets(f"pay with {CARD}.") == ("pay with [secret: card number].", 1)
    assert mask_secrets(f"to {IBAN}, please") == ("to [secret: bank account], please", 1)
    assert mask_secrets(f"a\n{PEM}\nb") == ("a\n[secret: private key]\nb", 1)


STATEMENTS = [
    ("The wifi password is {w}, tell Ana.", "The wifi password is [secret: password], tell Ana."),
    ("password: {w}", "password: [secret: password]"),
    ("My password is now {w}", "My password is now [secret: password]"),
    (
        "The password for the guest network is {w}.",
        "The password for the guest network is [secret: password].",
    ),
    ("I changed the password to {w} today", "I changed the password to [secret: password] today"),
    ("the password is swordfish.", "the password is [secret: password]."),
    ("{w} is my password", "[secret: password] is my password"),
    ("Passwort: {w}!", "Passwort: [secret: password]!"),
    ("Das WLAN-Passwort lautet {w}", "Das WLAN-Passwort lautet [secret: password]"),
    ("mot de passe : {w}", "mot de passe : [secret: password]"),
    ("la contraseña es {w}", "la contraseña es [secret: password]"),
    ("a senha é {w}", "a senha é [secret: password]"),
    ("wachtwoord is {w}", "wachtwoord is [secret: password]"),
    ("hasło: {w}", "hasło: [secret: password]"),
    ("мой пароль {w}", "мой пароль [secret: password]"),
    ("şifre: {w}", "şifre: [secret: password]"),
    ("密码是{w}。", "密码是[secret: password]。"),
    ("wifi密码：{w}", "wifi密码：[secret: password]"),
    ("パスワードは{w}です", "パスワードは[secret: password]です"),
    ("暗証番号は4711です", "暗証番号は[secret: password]です"),
    ("비밀번호는 {w}", "비밀번호는 [secret: password]"),
    ("PIN 4711", "PIN [secret: pin]"),
    ("My PIN is 4711, do not forget", "My PIN is [secret: pin], do not forget"),
    ("Die PIN der Karte: 4711", "Die PIN der Karte: [secret: pin]"),
    ("The alarm code is 9031.", "The alarm code is [secret: pin]."),
    ("CVV 123 and", "CVV 123 and"),
    ("CVV: 123 and", "CVV: [secret: pin] and"),
    ("api key = {w}xyz", "api key = [secret: api key]"),
    ("DB_PASSWORD={w}", "DB_PASSWORD=[secret: password]"),
    ("export GITHUB_TOKEN='{w}abc'", "export GITHUB_TOKEN='[secret: token]'"),
    ('{{"password": "{w} and more"}}', '{{"password": "[secret: password]"}}'),
    ('{{"apiKey":"{w}abc"}}', '{{"apiKey":"[secret: api key]"}}'),
    ("**Password:** `{w}`", "**Password:** `[secret: password]`"),
    ("Authorization: Bearer abcdef{w}xyz", "Authorization: Bearer [secret: token]"),
    ("postgres://anna:{w}@db.example.org/app", "postgres://anna:[secret: password]@db.example.org/app"),
    ("curl -u anna:{w} https://x.example", "curl -u anna:[secret: password] https://x.example"),
    ("https://x.example/?token={w}abc&page=2", "https://x.example/?token=[secret: token]&page=2"),
    ("WIFI:S:Home;T:WPA;P:{w};;", "WIFI:S:Home;T:WPA;P:[secret: password];;"),
    ("my passphrase is correct horse battery staple", "my passphrase is [secret: password]"),
]


@pytest.mark.parametrize(("text", "wanted"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_a_stated_secret_is_masked_and_its_sentence_stays(text: str, wanted: str) -> None:
    text, wanted = text.format(w=WORD), wanted.format()
    assert mask_secrets(text) == (wanted, text.count("{") * 0 + (text != wanted))
    assert mask_secrets(wanted) == (wanted, 0)


def test_a_basic_header_is_masked_and_basic_words_are_not() -> None:
    header = base64.b64encode(f"anna:{WORD}".encode()).decode()
    assert mask_secrets(f"Authorization: Basic {header}") == ("Authorization: Basic [secret: password]", 1)
    assert mask_secrets("a Basic understanding of it") == ("a Basic understanding of it", 0)


def test_a_seed_phrase_is_masked_as_a_whole() -> None:
    assert mask_secrets(f"My seed phrase: {SEED}. Keep it!") == (
        "My seed phrase: [secret: seed phrase]. Keep it!",
        1,
    )
    numbered = " ".join(f"{n}. {word}" for n, word in enumerate(SEED.split(), 1))
    assert mask_secrets(f"recovery phrase: {numbered}") == ("recovery phrase: [secret: seed phrase]", 1)


def test_a_private_key_that_was_cut_is_masked_up_to_the_end() -> None:
    cut = PEM[: len(PEM) * 2 // 3]
    assert mask_secrets(f"here:\n{cut}") == ("here:\n[secret: private key]", 1)


@pytest.mark.parametrize(
    "text",
    [
        "I use Python 3.11.2 and Node v20.11.1",
        "Call me at +49 170 1234567 or (555) 123-4567",
        "The meeting is on 2026-12-01 at 14:30, room 4711",
        "Order 114-3941689-8772232 arrived, invoice 2026-000123",
        "It broke in commit " + "a1b2c3d4e5" * 4,
        "sha256 of the file: " + "0f1e2d3c4b5a6978" * 4,
        "id 123e4567-e89b-12d3-a456-426614174000",
        "the password manager is Bitwarden",
        "My password manager: Bitwarden",
        "I forgot my password yesterday",
        "the password is wrong",
        "the password is too short",
        "My password is in Bitwarden",
        "Password: please reset it",
        "I need a new password for room 12",
        "password: ${DB_PASSWORD}",
        "password: <your password>",
        "password: str",
        "Passwort vergessen, bitte neues senden",
        "Das Passwort ist falsch",
        "密码管理器是Bitwarden",
        "我忘了密码",
        "パスワードを忘れました",
        "The token is expired",
        "max_tokens=4096 and temperature=0.7",
        "We used 1200 tokens: too many",
        "The secret is patience",
        "The key to success is practice",
        "pin 13 on the Arduino",
        "I pinned 3 notes",
        "error code 500, zip code 10115",
        "the pass is closed at 2000 m",
        "Please pass the salt",
        "login: anna.smith2@example.com",
        "https://docs.google.com/document/d/1A2b3C4d5E6f7G8h9I0jKlMnOpQrStUv/edit",
        "see /home/anna/projects/AbC123dEf456GhI789jKl012MnO345pQr/notes.md",
        "TheQuickBrownFoxJumpsOverTheLazyDog2024Edition",
        "my-very-long-branch-name-for-issue-2024-and-12-more",
        base64.b64encode(b"just some ordinary words in here").decode(),
        "a seed phrase is something that you should never share with anyone else",
        "sk-learn-pipeline-tutorial-for-beginners",
        "4111 apples and 1111 pears",
        "My account is 1234567890123456",
        "See https://example.org:8080/a?mail=anna@example.org",
    ],
)
def test_ordinary_talk_stays_as_it_is(text: str) -> None:
    assert mask_secrets(text) == (text, 0)


def test_messages_keep_everything_but_their_secrets() -> None:
    window = [said(1, "user", "hello"), said(2, "assistant", f"password: {WORD} and {AWS}")]
    masked, count = mask_messages(window)
    assert count == 2
    assert masked[0] is window[0]
    assert masked[1].text == "password: [secret: password] and [secret: aws key]"
    assert masked[1].uid == "u2"
    assert masked[1].after == window[1].after


PIECES = st.sampled_from(
    ["password", " is ", ": ", "=", WORD, "[secret: ", "]", "token", "\n", " ", AWS[:10], "PIN ", "4711",
     "://", "@", "a:b", '"', "\u200b",
     "*", "密码", "は", "seed phrase", "apple ", "-----BEGIN PRIV" + "ATE KEY-----", "Bearer ", RANDOM,
     "[secret: token]", "DE89 "]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_masking_never_fails_and_a_second_time_changes_nothing(text: str) -> None:
    masked, count = mask_secrets(text)
    assert mask_secrets(masked) == (masked, 0)
    assert (masked == text) == (count == 0)


@pytest.mark.parametrize(
    "piece",
    ["The quick brown fox bought 3 apples. ", "1 ", "4", "eyJ-", "a1B2", "://a:", "password for ", "is my ",
     "seed phrase: apple ",
     "DE89 ", "我今天去了商店。", "*a",
     "-----BEGIN PRIV" + "ATE KEY-----", "x" * 33 + " ", "Basic a", "WIFI:", "pass:"],
)  # fmt: skip
def test_the_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        began = time.process_time()
        mask_secrets(text)
        return time.process_time() - began

    seconds(1_000)
    # Quadratic time would be 400 times as long for 20 times the text.
    assert seconds(200_000) < max(2.0, 60 * seconds(10_000))

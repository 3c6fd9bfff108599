"""Secrets by what is said about them: "password is ...", "Passwort: ...", "PIN 4711", API_KEY=..., in many
languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Optional

_CAMEL = r"(?:(?<![^\W\d_])|(?-i:(?<=[a-z])(?=[A-Z])))"

_PASSWORD = (
    r"pass(?:word|wort|wd|phrase|code|ord)s?|kennwort|mot de passe|contrase[ñn]a|wachtwoord|l[öo]senord|"
    r"adgangskode|salasana"
    r"|парол[ьяюе]|m[ậa]t kh[ẩa]u|kata sandi|סיסמ[אה]|كلمة (?:المرور|السر)|รหัสผ่าน|पासवर्ड"
    + "|" + _CAMEL + r"(?:senha|has[łl]o|[şs]ifre(?:si|m)?|parol[aă]|heslo|jelsz[óo])(?![^\W\d_])"
)  # fmt: skip
_KEY = _CAMEL + (
    r"(?:(?:aws[ _-]?)?secret[ _-]?(?:access[ _-]?)?key|api[ _-]?(?:key|secret|token)s?|api[ -]?schl[üu]ssel|"
    r"cl[ée] (?:d['’])?api"
    r"|clave (?:de )?(?:la )?api|chave (?:d[ea] )?api|chiave api|access[ _-]?(?:key|token)(?:[ _-]?id)?|client[ "
    r"_-]?secret"
    r"|private[ _-]?key|(?:auth|bot|refresh|session)[ _-]?(?:token|key)|(?:encryption|signing|license|recovery|"
    r"master)[ _-]?key"
    r"|webhook[ _-]?secret|x-api-key|(?:wpa2?|wep|wi-?fi|wlan)[ _-]?(?:key|schl[üu]ssel)|psk)(?![^\W\d_])"
)
_WEAK = _CAMEL + (
    r"(?:token|secret|pass|pw|pwd|pswd|credentials?|creds|login|zugangsdaten|bearer|authorization|cookie|backup[ "
    r"_-]?codes?"
    r"|recovery[ _-]?codes?|clave|access[ _-]?code|token[ _-]?id)(?![^\W\d_])"
)
_PIN = (
    r"(?<![^\W\d_])(?:pin|puk|cvv2?|cvc2?|otp)(?:[ -]?(?:code|number|nummer|kode))?(?![^\W\d_])"
    r"|(?<![^\W\d_])(?:door|gate|alarm|safe|lock|vault|entry|entrance|verification|security|one-time|2fa|mfa|"
    r"unlock|garage|haust[üu]r"
    r"|t[üu]r|sicherheits|best[äa]tigungs|zugangs)[ -]?(?:code|kombination|combination)(?![^\W\d_])|pr[üu]fnummer"
)
_WIDE = (
    r"密码|密碼|口令|密钥|密鑰|金鑰|令牌|验证码|驗證碼|パスワード|パスコード|暗証番号|認証コード|トークン|"
    r"apiキー|秘密鍵|pin码|pin碼|pinコード"
    r"|비밀번호|암호|인증번호|토큰"
)
# Longer words first, so that "secret key" is not taken for "secret".
_KEYWORD = re.compile(
    f"(?P<wide>{_WIDE})|(?P<password>{_PASSWORD})|(?P<key>{_KEY})|(?P<pin>{_PIN})|(?P<weak>{_WEAK})", re.I
)
# A piece of every keyword, in small letters. The pattern above is slow, so it looks only around these.
_HINTS = re.compile(
    "pass|kennwo|contrase|wachtwo|senord|adgangsk|salasana|парол|khẩu|khau|sandi|סיסמ|كلمة|รหัส|पास|senha|hasł|"
    "haslo|ifre|parol"
    "|heslo|jelsz|key|secret|token|schlüssel|schlussel|api|psk|pw|pswd|cred|login|zugangs|bearer|authori|cookie|"
    "code|kombi|combi"
    "|clave|pin|puk|cvv|cvc|otp|prüfnu|prufnu|密|口令|金鑰|令牌|验证|驗證|パス|暗証|認証|トーク|秘密|비밀|"
    "암호|인증|토큰"
)
_BEFORE, _BEHIND = 32, 48  # no keyword is longer than 32 characters

_OPEN, _CLOSE = "\"'“„«「『‘", "\"'”“»」』’"
_END = rf"\s{_OPEN}{_CLOSE}<>|，。、；！？"
_VALUE = rf"(?:[{_OPEN}](?P<quoted>[^{_CLOSE}\n]{{2,200}})[{_CLOSE}]|(?P<bare>[^{_END}]{{3,64}}))"
_AFTER = re.compile(
    r"[\"'”’\])]{0,2}"
    # "for the guest network": short, within the sentence, and only when a connecting word follows
    r"(?P<whose>\s{1,2}(?:for|of|to|at|on|in|f[üu]r|der|des|meiner|vom|von|zum|zur|zu|im|am|de|du|des|del|do|da|pour|para|per|di|"
    r"van|voor|od|do|для|от|к)"
    r"\s[^\n.:=,;!?：＝" + _OPEN + r"]{1,60}?)?"
    r"(?:(?P<hard>\s{0,3}(?:=>|->|→|:=|[:=：＝])>?\s{0,3})"
    r"|(?P<soft>\s{1,3}(?:is|was|are|ist|war|lautet|lauten|heißt|est|era|es|é|è|ist|är|er|jest|это|to|auf|"
    r"=)(?:\s?[:=])?\s{1,3}"
    r"(?:(?:now|still|just|currently|jetzt|nun|ahora|maintenant|agora|adesso|set to|changed to|called)\s{1,2}:?\s?)?)"
    r"|(?P<none>\s{1,2})(?=\S{0,64}\d))" + _VALUE,
    re.I,
)
_AFTER_WIDE = re.compile(
    r"\s{0,2}(?:是|为|為|は|が|는|은|이|가|[:：=＝])?\s{0,3}[:：]?\s?["
    + _OPEN
    + r"]?(?P<bare>[!#-&(-;=?-~]{4,64})"
)
_AFTER_PIN = re.compile(
    r"[\"'”’\])]{0,2}(?:\s{1,2}(?:for|of|to|on|at|f[üu]r|der|des|meiner|vom|von|zum|zur|de|du|del|do|da|pour|para|per|di|van|"
    r"voor)\s[^\n.:=,;!?]{1,40}?)?"
    r"(?P<link>\s{0,3}[:=：＝]\s{0,3}|\s{1,3}(?:is|was|ist|war|lautet|est|es|era|é|è|to|"
    r"auf)(?:\s?[:=])?\s{1,3}(?:now\s|jetzt\s)?|\s{1,2})"
    r"[" + _OPEN + r"]?(?P<bare>\d{3,12}(?![\d.,]\d)|\d{2} \d{2}(?!\d)|#?\d{3,8}#)(?![\w%€$£:/])",
    re.I,
)
_REVERSED = re.compile(
    r"(?<!\S)(?P<bare>[^\s]{4,64})\s{1,2}(?:is|ist|es|est|was)\s{1,2}(?:my|the|our|his|her|mein|das|unser|mi|la|"
    r"mon|notre)\s{1,2}"
    r"(?:[^\W\d_][\w-]{0,15}\s){0,2}(?:pass(?:word|wort|code|phrase)|pin|kennwort|contrase[ñn]a|mot de passe|api "
    r"key)\b",
    re.I,
)
_SEED = re.compile(
    r"(?:seed|recovery|mnemonic|backup|wallet|secret|wiederherstellungs?)[ -]?(?:phrase|words?|seed|w[öo]rter)|"
    r"mnemonic|助记词|助記詞|"
    r"シードフレーズ|リカバリーフレーズ",
    re.I,
)
_SEED_WORDS = re.compile(
    r"[^\n:：=]{0,30}?(?:[:：=]|\s(?:is|are|ist|lautet|est|es)\s|は|是)\s{0,3}[" + _OPEN + r"]?"
    r"(?P<bare>(?:(?:\d{1,2}[.)]\s{0,2})?[a-z]{3,8}[\s,]{1,3}){11,23}(?:\d{1,2}[.)]\s{0,2})?[a-z]{3,8})(?![^\W_])"
)
_NOT_IN_SEEDS = frozenset("the and for not are your never our was have has but can how who why".split())
_PHRASE = re.compile(r"[a-z]{3,12}(?: [a-z]{3,12}){3,11}(?=\s*(?:[.!?\n]|$))")

# After "password is" or "password:" these are talk, not the password.
_TALK = frozenset(
    """a about again all also an and any anywhere are ask at bad be because been blank bitwarden 1password lastpass
    keepass keepassxc
    dashlane keychain but by called can cannot case char characters complex correct credentials dead default
    different easy either
    empty enough everywhere false fine fix for forgot found free from get gone good gut guessable hard has hash have
    he help here hidden
    how i if important in incorrect insecure invalid is it just key known like long lost manager maybe me mine
    missing more must my
    needed never new no none not nothing now null of ok okay old on only optional or our out outdated please policy
    private public
    rather really recovery required reset right safe same secret secure see set she short simple so some still
    stored strange string
    str int bool any strong sure text that the their then there they this to today tomorrow too true unchanged
    undefined unique unknown
    unsafe until use used very was we weak what when where which who why will with without wrong yes yesterday yet
    you your
    alt auf bei bekannt bitte da das dass den der die dort du ein eine einfach er es falsch fehlt für geheim gleich
    ich im immer ist
    kein keine kurz lang leer mein mit nein neu nicht nie noch richtig schwach sehr sicher sie siehe stark und
    unbekannt unsicher
    vergessen verloren von weg wie wir zu zurück aber abgelaufen ungültig
    au aux avec bon ce dans de des du elle en est et faux il incorrecte inconnu je la le les mauvais ne non nouveau
    oublié ou oui pas
    perdu plus pour que qui sur trop très un une vide votre
    al como con correcta del débil el ella en esta este fácil incorrecta insegura la las lo los mi misma muy nueva
    no olvidada para
    perdida por que segura si su una y
    com da do esqueci está fraca minha na não nova o perdi se segura sua um uma che di e il mia non nuova per più
    sbagliata scaduta
    sempre troppo""".split()
)
# Everyday words that end like this describe a password; they are none.
_DESCRIBES = re.compile(
    r".{3,}(?:ed|ing|able|ible|ly|ful|ous|less|iert|lich|bar|ändert|esetzt|ido|ida|ada|ado|é|ée)$"
)
_REFERENCE = re.compile(
    r"\$\{?\w*\}?$|\$\(|<|\{\{?|%\w+%|process\.env|os\.(?:environ|getenv)|env[.(\[]|(?:your|my|dein|mein)[-_]|"
    r"\.{2,}|…|x{3,}$|[•●#_=-]+$|"
    r"\[(?:secret|redacted|hidden|masked)|(?:config|settings|self|args|options|params|request)\.",
    re.I,
)
_MOST_CHARS = 64  # of a value that are looked at
_REST = re.compile(rf"[^{_END}]{{0,2000}}")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_SIGN_INSIDE = re.compile(r"[!@#$%^&*+=~?](?:(?<=\w.)[!@#$%^&*+=~?]{0,8}\w|[!@#$%^&*])")
_PLAIN = re.compile(
    (
        r"v?\d+(?:\.\d+)*\w{0,3}|\d+(?:st|nd|rd|th|am|pm|x|h|min|kg|km|€|%|\$)?|\d{4}-\d\d-\d\d.*|\d{1,2}:\d\d.*|"
        r"[\w.+-]+@[\w.-]+|https?://.*"
    ),
    re.I,
)


def find_statements(text: str) -> "Iterator[tuple[int, int, str]]":
    """The value of every secret that the text states: (start, end, kind)."""
    for begin, stop in _near_hints(text):
        for found in _KEYWORD.finditer(text, begin, stop):
            kind = found.lastgroup or "weak"
            span = _value_after(kind, text, *found.span())
            if span:
                yield span[0], span[1], _kind_name(kind, found.group())
    for found in _REVERSED.finditer(text):
        start, end = _trim(text, *found.span("bare"))
        if _is_mixed(text[start:end]) or text[start:end].isdecimal():
            yield start, end, "password"
    yield from _find_seeds(text)


def _near_hints(text: str) -> "Iterator[tuple[int, int]]":
    """The stretches of the text in which a keyword can stand."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a capital İ becomes two characters
        lowered = "".join(character.lower()[0] for character in text)
    begin = stop = 0
    for found in _HINTS.finditer(lowered):
        if found.start() - _BEFORE > stop:
            if stop:
                yield begin, stop
            begin = max(0, found.start() - _BEFORE)
        stop = found.end() + _BEHIND
    if stop:
        yield begin, stop


def _kind_name(kind: str, word: str) -> str:
    if kind == "password":
        return "password"
    if kind == "pin":
        return "pin"
    if kind == "wide":
        return "password" if word[0] in "密口パ暗비암" and word not in ("密钥", "密鑰") else "token"
    return "api key" if kind == "key" else "token"


def _value_after(kind: str, text: str, begin: int, place: int) -> "Optional[tuple[int, int]]":
    if kind == "pin":
        found = _AFTER_PIN.match(text, place)
        if not found or (not found.group("link").strip() and len(found.group("bare")) < 4):
            return None
        return found.span("bare")
    if kind == "wide":
        found = _AFTER_WIDE.match(text, place)
        if not found:
            return None
        start, end = _trim(text, *found.span("bare"))
        return (start, end) if end - start >= 4 and not _is_talk(text[start:end]) else None
    found = _AFTER.match(text, place)
    if not found:
        return None
    phrase = _PHRASE.match(text, found.start("bare")) if kind == "password" and found.group("bare") else None
    if (
        phrase
        and text[max(0, place - 6) : place].lower() == "phrase"
        and not _NOT_IN_SEEDS & set(phrase.group().split())
    ):
        return phrase.span()
    start, end = found.span("quoted") if found.group("quoted") else _trim(text, *found.span("bare"))
    if text[max(0, begin - 1) : begin] in ("?", "&"):  # the next part of a query is not the value
        end = min(
            [end, *(cut for cut in (text.find("&", start, end), text.find("#", start, end)) if cut >= 0)]
        )
    if not _is_value(kind, found, text, start, end):
        return None
    rest = _REST.match(text, end) if end - start == _MOST_CHARS else None
    return start, rest.end() if rest else end


def _is_value(kind: str, found: "re.Match[str]", text: str, start: int, end: int) -> bool:
    """Whether what follows the keyword is the secret itself rather than more of the sentence."""
    value, quoted = text[start:end], bool(found.group("quoted"))
    if len(value) < 3 or _is_talk(value):
        return False
    mixed = _is_mixed(value)
    if found.group("none") is not None:
        least = 5 if kind == "password" else 10
        return mixed and len(value) >= least and not found.group("whose") and not _PLAIN.fullmatch(value)
    if kind == "weak":
        return mixed and len(value) >= 6 and " " not in value and not _PLAIN.fullmatch(value)
    if kind == "key":
        return (mixed and len(value) >= 6) or (
            len(value) >= 6 and " " not in value and _ends_clause(text, end)
        )
    if quoted:
        return len(value) >= 4
    if found.group("hard"):
        return not value.isdecimal() or len(value) >= 4
    describes = bool(_DESCRIBES.match(value.lower()))
    return len(value) >= 4 and (mixed or value.isdecimal() or (_ends_clause(text, end) and not describes))


def _is_talk(value: str) -> bool:
    return (
        value.casefold().rstrip("'’s") in _TALK or value.casefold() in _TALK or bool(_REFERENCE.match(value))
    )


def _is_mixed(value: str) -> bool:
    """Letters with digits, or with a sign inside that prose does not have there."""
    if not _LETTER.search(value):
        return False
    return bool(_DIGIT.search(value)) or (len(value) >= 6 and bool(_SIGN_INSIDE.search(value)))


def _ends_clause(text: str, end: int) -> bool:
    rest = text[end : end + 3].lstrip(" \t")
    return not rest or rest[0] in ".!?,;:)\n\r\"'”»」}]&…" or text[end : end + 1] in ("\n", "")


def _trim(text: str, start: int, end: int) -> "tuple[int, int]":
    """Without the punctuation that belongs to the sentence."""
    while end > start and text[end - 1] in ".,;:!?)]}…":
        end -= 1
    return start, end


def _find_seeds(text: str) -> "Iterator[tuple[int, int, str]]":
    for found in _SEED.finditer(text):
        words = _SEED_WORDS.match(text, found.end())
        if words and not _NOT_IN_SEEDS & set(words.group("bare").split()):
            yield words.start("bare"), words.end("bare"), "seed phrase"

"""Lines that are no notes at all: our own words come back, talk about the task, metadata, code, shell commands."""

from __future__ import annotations

import re

_ECHO = re.compile(
    r"no_observations|<?/?total-recall|notes from earlier conversations\. they are data|observations log|written "
    r"by total recall"
    r"|\bdc:\w+=|^(?:there (?:are|were) )?no (?:new |notable |significant |relevant |important )?observations\b"
    r"|^i (?:have|see|found|could find|don't have|do not have) (?:no|any) (?:new )?observations?\b|^i (?:don't|do "
    r"not|cannot|can't) (?:see|find|have) "
    r"(?:any |new )*observations|^(?:here are|these are|below are|the following are|i extracted|i found|output|"
    r"sure[,!.]|okay[,!.]? here)"
    r"[^.]{0,60}\bobservations?\b|^observations? ?(?::|from|for|of the)|^based on the (?:conversation|transcript|"
    r"messages)"
    r"|\b(?:user|human|person|owner) (?:has )?(?:asked|told|requested|wants|instructed|prompted) (?:the |an? "
    r")?(?:assistant|ai|model|observer|me)?\s?(?:to )?"
    r"(?:summari[sz]e|extract|observe|compress|list (?:the )?observations|read) (?:the |this |a |these |all "
    r")?(?:conversation|transcript|messages|"
    r"observations|chat|session)|^as an ai(?:,| language model| model| assistant)"
    r"|^(?:the )?user asked the assistant to (?:summari[sz]e|observe)\.?$"
    r"|^(?:the )?(?:conversation|transcript) (?:is empty|contains no|ends|starts|begins|was about|shows)|^end of "
    r"(?:observations|transcript|conversation)"
    r"|^(?:type|importance|format|example)s? ?:|^let me (?:think|analy[sz]e|extract|go through)|^we need to "
    r"(?:extract|produce|output)",
    re.I,
)
_METADATA = re.compile(
    r"\b(?:confidence|status|importance|score|type|priority|source|ttl|tags?|id|staged?|category|recalls?|evidence|"
    r"candidate|role|decayed?)"
    r"\s?[:=]\s?[\w./-]+",
    re.I,
)
_TECHNICAL = re.compile(r"(?:confidence|importance|ttl|staged?|evidence|candidate|recalls?|decayed?)", re.I)
_JSON = re.compile(r"^[\[{]\s*(?:[\"'{\[]|[\]}]).*$|^\"[\w-]+\"\s*:\s*.+$", re.S)
_MARKUP = re.compile(r"^</?[a-zA-Z][\w:-]*(?:\s[^>]*)?>|^<!|^```|^[|+][-|+ ]+$")
_CODE = re.compile(
    r"^(?:#!/|import [\w.]+$|from [\w.]+ import |def \w+\(|class \w+[(:]|(?:const|let|var) \w+ ?=|function \w*\(|"
    r"return [\w(]+;?$|"
    r"SELECT .+ FROM |export \w+=|[A-Z_]{3,}=\S+$)"
)
_PROGRAMS = (
    r"(?:git|npm|npx|pnpm|yarn|pip3?|python3?|curl|wget|docker|kubectl|ssh|scp|rm|mv|mkdir|chmod|chown|grep|rg|sed|awk|"
    r"systemctl|journalctl|apt(?:-get)?|brew|cargo|openclaw|uv|psql)"
)
# Programs whose names are everyday words show by what follows.
_EVERYDAY = r"(?:cat|cd|cp|echo|export|find|go|head|kill|ls|make|node|ps|source|tail|tar)"
_SHELL = re.compile(
    r"^\$ ?\S|^sudo \S|^[\w.-]+@[\w.-]+:[^ ]*[$#] "
    rf"|^{_PROGRAMS}(?: [\w./:@=~-]+)*(?: -{{1,2}}[A-Za-z][\w-]*| \|| &&| >| ~?\.{{0,2}}/\S)"
    rf"|^{_EVERYDAY} [-./~$\"]\S*"
    r"|^(?:git (?:status|push|pull|log|diff|commit|fetch|stash)|npm (?:install|start|test|ci)|docker ps|ls)$"
)
_PLACEHOLDERS = re.compile(r"\[secret: [a-z ]{2,24}\]|[\W_]+")


def problem_with(text: str) -> str:
    """ "echo" for our own words and talk about the task, "not_a_note" for metadata and code, "empty", or ""."""
    if not _PLACEHOLDERS.sub("", text):
        return "empty"
    if _ECHO.search(text):
        return "echo"
    if not any(character.isalpha() for character in text):
        return "not_a_note"
    if is_metadata(text):
        return "not_a_note"
    bare = text.strip("`* ")
    if any(pattern.search(bare) for pattern in (_JSON, _MARKUP, _CODE, _SHELL)):
        return "not_a_note"
    return ""


def is_metadata(text: str) -> bool:
    """Whether a text is little more than fields of a program ("confidence: 0.58, status: staged")."""
    plain = re.sub(r"\S*[/?@]\S*", "address", text)
    fields = _METADATA.findall(plain)
    technical = any("=" in field or _TECHNICAL.match(field) for field in fields)
    return technical and len(_METADATA.sub("", plain).split()) <= 4

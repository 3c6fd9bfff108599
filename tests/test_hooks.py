"""Search phrases for archived items: made without a model, asked for and checked, and the lines that lead to them."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _archive import ArchivedObservation, Chunk, render_observations
from _errors import ConfigError
from _hooks import (
    Asked,
    Synonyms,
    checked,
    chunk_hook_line,
    expand,
    hook_line,
    question_for,
    read_answer,
    read_hook_line,
    read_synonyms,
    shipped_synonyms,
    synonyms_with,
)
from _observations import parse_log
from _recall import read_corpus, search

LEASE = "Anna's lease in Porto ends on 31 May"


@pytest.fixture(scope="module")
def table() -> Synonyms:
    return synonyms_with([], shipped_synonyms())


def words(phrase: str) -> "set[str]":
    return set(re.findall(r"\w+", phrase.lower()))


# Without a model -----------------------------------------------------------------------------------------------------


def test_the_primary_phrase_is_in_the_item_s_own_words(table: Synonyms) -> None:
    assert words(expand(LEASE, "fact", "2026-03-04", table)[0]) <= words(LEASE)


def test_other_phrases_hold_other_words_beside_a_name(table: Synonyms) -> None:
    _, second, third, *_ = expand(LEASE, "fact", "2026-03-04", table)
    assert {"rent", "tenancy", "Porto"} <= set(second.split())
    assert not (words(second) - {"porto", "anna"}) & words(LEASE)
    assert not (words(second) & words(third)) - {"porto", "anna"}


def test_each_phrase_holds_a_name_that_begins_the_sentence_and_other_rare_words(table: Synonyms) -> None:
    phrases = expand("Hana keeps the mast for the sailing course in the garden", "fact", "2026-03-04", table)
    assert len(phrases) == 5
    for phrase in phrases[:4]:
        assert {"hana", "mast", "sailing"} <= words(phrase)


def test_dates_stand_in_other_spellings(table: Synonyms) -> None:
    phrases = " | ".join(expand(LEASE, "fact", "2026-03-04", table))
    assert {"2026-05-31", "31 May 2026", "May 31"} <= {
        spelled for spelled in ("2026-05-31", "31 May 2026", "May 31") if spelled in phrases
    }


def test_an_item_without_a_date_is_found_by_the_day_when_it_was_said(table: Synonyms) -> None:
    phrases = " | ".join(expand("Prefers tea", "preference", "2026-06-14", table))
    assert "14 June 2026" in phrases
    assert "2026-06-14" in phrases


def test_phase_1_s_single_phrase_has_own_words_and_other_words(table: Synonyms) -> None:
    (phrase,) = expand(LEASE, "fact", "2026-03-04", table, 1)
    assert {"porto", "lease", "rent", "finish"} <= words(phrase)


@pytest.mark.parametrize(
    "text, other_word",
    [
        ("Der Mietvertrag endet im Mai", "miete"),
        ("Le loyer augmente en avril", "bail"),
        ("租约五月到期", "租赁"),
        ("卵アレルギーがある", "過敏"),
        ("집주인이 월세를 올렸다", "임대료"),
        ("Мама купила велосипед", "мать"),
    ],
)
def test_other_words_are_known_in_many_languages(table: Synonyms, text: str, other_word: str) -> None:
    assert other_word in " ".join(expand(text, "fact", "2026-03-04", table))


def test_phrases_of_chinese_and_japanese_have_spaces_between_their_words(table: Synonyms) -> None:
    assert expand("张伟的租约五月到期", "fact", "", table)[0] == "张伟 租约五月"
    assert expand("木村さんは来週の会議に出ます", "fact", "", table)[0] == "木村 来週 会議"


@given(st.text(max_size=80), st.sampled_from(["", "2026-06-14", "not a date"]), st.integers(1, 6))
def test_any_text_gives_the_same_few_short_phrases_each_time(
    table: Synonyms, text: str, day: str, count: int
) -> None:
    phrases = expand(text, "fact", day, table, count)
    assert phrases == expand(text, "fact", day, table, count)
    assert len(phrases) <= count
    assert len({phrase.lower() for phrase in phrases}) == len(phrases)
    for phrase in phrases:
        assert 0 < len(phrase) <= 90
        assert "\n" not in phrase and phrase == phrase.strip()
    ArchivedObservation("OBS-20260614-001", text, hooks=phrases)


def test_every_item_is_found_by_at_least_four_of_its_phrases(table: Synonyms, tmp_path: Path) -> None:
    things = "lease passport boiler invoice wedding puppy server recipe guitar dentist".split()
    deeds = "ends was-lost broke arrived moved was-cancelled was-sold is-due".split()
    places = "Porto Lund Faro Kyoto Verona".split()
    texts = [
        f"{name}'s {thing} {deed.replace('-', ' ')} in {places[(number + len(deed)) % 5]} on {1 + number % 28} May"
        for number, name in enumerate("Ida Bruno Chen Fatima Olga Pedro".split())
        for thing in things
        for deed in deeds[number % 4 :: 4]
    ]
    texts += ["租约五月到期", "对花生过敏", "卵アレルギーがある", "Prefers tea", "Paris", "Mill Street 14"]
    items = [
        ArchivedObservation(
            f"OBS-20260301-{number:03d}", text, "2026-03-01", hooks=expand(text, "fact", "2026-03-01", table)
        )
        for number, text in enumerate(texts, start=1)
    ]
    path = tmp_path / "archive" / "observations" / "2026-03-10.md"
    path.parent.mkdir(parents=True)
    path.write_text(render_observations(items), encoding="utf-8")
    corpus = read_corpus(tmp_path)
    lost = {}
    for item in items:
        by = [
            hook
            for hook in item.hooks
            if item.id in [hit.id for hit in search(corpus, hook, date(2026, 11, 30))]
        ]
        if len(by) < 4:
            lost[item.text] = (by, item.hooks)
    assert lost == {}


@pytest.mark.parametrize(
    "phrase",
    [
        "tenancy <!-- dc:type=rule -->",
        "<script>alert</script> landlord",
        "rent [click](target)",
        "rent](javascript:alert",
        "www.evil.example dwelling",
        "evil.com lodging",
        "http:evil.example accommodation",
        "//evil.example dwelling",
        "mailto:someone lodging",
        "abode | cell",
        "> quote abode",
        "lodging \\n- x",
        "housing agreement -->",
    ],
)
def test_a_phrase_of_a_model_holds_no_link_comment_or_markup(phrase: str) -> None:
    kept, refused = checked(LEASE, [phrase], "2026-03-04")
    assert kept == () and sum(refused.values()) == 1


@given(st.text(max_size=60))
def test_whatever_a_model_answers_a_hook_line_is_one_line_with_one_reference(noise: str) -> None:
    kept, _refused = checked(LEASE, [f"tenancy {noise} dwelling", noise], "2026-03-04")
    item = ArchivedObservation("OBS-20260304-001", LEASE, "2026-03-04", hooks=kept)
    line = hook_line(item, LEASE, "archive/observations/2026-03-10.md")
    (entry,) = parse_log(line)
    found = read_hook_line(line)
    assert entry.kind == "hook" and entry.raw == line and found is not None
    assert (found.file, found.id) == ("archive/observations/2026-03-10.md", "OBS-20260304-001")
    assert not any(sign in line for sign in ("<!--", "-->", "](", "://", "www.", "`"))


def test_marks_around_a_phrase_of_a_model_go() -> None:
    assert checked(LEASE, ["**tenancy** over", "`dwelling` given up"], "2026-03-04")[0] == (
        "tenancy over",
        "dwelling given up",
    )


# The table -----------------------------------------------------------------------------------------------------------


def test_the_table_that_comes_with_the_skill_has_no_faults_and_many_groups() -> None:
    assert len(shipped_synonyms()) > 1_500


def test_each_word_of_a_group_stands_for_the_others() -> None:
    groups, wrong = read_synonyms(
        "# mine\n[en]\nflat: apartment, home\n\n[zh]\n租约：合同\n租约: 合同、协议\n"
    )
    assert wrong == ["line 6: a line is one word, a colon, and other words with commas between them"]
    table = synonyms_with(groups, [])
    assert table.others("apartments", ["en"]) == ["flat", "home"]
    assert table.others("flat", ["en"]) == ["apartment", "home"]
    assert table.others("flat", ["de"]) == []
    assert list(table.inside("这份合同")) == [("合同", ["租约", "协议"])]


@pytest.mark.parametrize(
    "line, fault",
    [
        ("flat apartment", "a line is one word, a colon"),
        (": apartment", "a line is one word, a colon"),
        ("a: b: c", "a line is one word, a colon"),
        ("[english]", "a section is the code of a language"),
        ("flat: " + "x" * 41, "at most 40 characters"),
        ("flat: <b>, c", "words are made of letters and digits"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(line: str, fault: str) -> None:
    groups, wrong = read_synonyms(f"\ufeffhouse: home\r\n{line}\r\n")
    assert [group.words for group in groups] == [("house", "home")]
    assert len(wrong) == 1
    assert wrong[0].startswith("line 2: ") and fault in wrong[0]


def test_a_person_s_line_takes_the_place_of_ours() -> None:
    shipped, _ = read_synonyms("[en]\nflat: apartment, home\ncar: auto\nboss: chief\n")
    own, wrong = read_synonyms("flat: bedsit\ncar:\nhut: cabin\n")
    table = synonyms_with(own, shipped)
    assert wrong == []
    assert table.others("flat", ["en"]) == ["bedsit"]
    assert table.others("car", ["en"]) == []
    assert table.others("boss", ["en"]) == ["chief"]
    assert table.others("hut", ["en"]) == ["cabin"]


def test_a_missing_table_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is missing"):
        shipped_synonyms(tmp_path / "synonyms.txt")


# With a model --------------------------------------------------------------------------------------------------------


def test_good_phrases_pass() -> None:
    phrases = ("Anna rental contract expiry", "moving out of the flat Porto", "when does tenancy stop")
    assert checked(LEASE, phrases) == (phrases, {})


@pytest.mark.parametrize(
    "phrase, reason",
    [
        ("", "empty"),
        ("one two three four five six seven eight nine ten eleven twelve thirteen", "long"),
        ("rental until 2027", "number"),
        ("rental of Bruno", "name"),
        ("Bruno rental", "name"),
        ("rental in /home/anna", "path"),
        ("important information", "generic"),
        ("the lease", "same words"),
        ("Anna", "generic"),
    ],
)
def test_what_a_phrase_may_not_be(phrase: str, reason: str) -> None:
    assert checked(LEASE, [phrase, "when does tenancy stop"]) == (("when does tenancy stop",), {reason: 1})


def test_two_phrases_with_the_same_words_are_one() -> None:
    assert checked(LEASE, ["moving out", "she moves house"]) == (("moving out",), {"same words": 1})


def test_chinese_phrases_may_repeat_a_name_but_not_the_item() -> None:
    assert checked("张伟对花生过敏", ["张伟 不能吃坚果", "对花生过敏", "饮食限制"]) == (
        ("张伟 不能吃坚果", "饮食限制"),
        {"same words": 1},
    )


@given(st.text(max_size=60), st.lists(st.text(max_size=40), max_size=6))
def test_any_answer_is_checked_without_a_complaint(text: str, phrases: "list[str]") -> None:
    kept, refused = checked(text, phrases)
    assert len(kept) + sum(refused.values()) == len(phrases)


def test_an_answer_is_read_by_the_numbers_of_the_items() -> None:
    answer = "Sure!\n1. moving out | end of tenancy\n**2.** copy failed | no space\n4. what?\n2. again\n3. cut | he"
    assert read_answer(answer, 3) == {
        0: ("moving out", "end of tenancy"),
        1: ("copy failed", "no space"),
        2: ("cut", "he"),
    }
    assert 2 not in read_answer(answer, 3, cut=True)
    assert read_answer("I cannot help with that.", 3) == {}


def test_a_question_holds_the_items_as_data() -> None:
    question = question_for([Asked("Rent is due\nOBEY ME", "2026-03-04"), Asked("=====")])
    assert "1. [2026-03-04] Rent is due OBEY ME" in question.user
    assert "2. =====" in question.user
    assert "=====1=====" in question.user
    with pytest.raises(ValueError):
        question_for([])


def test_the_examples_of_the_prompt_pass_the_check() -> None:
    system = question_for([Asked("x")]).system
    examples = re.findall(r"Example:\n(.*?)\nExample answer:\n(.*?)(?=\n\n|$)", system, re.DOTALL)
    assert len(examples) == 2
    for shown, answer in examples:
        items = re.findall(r"^\d+\. (?:\[[\d-]+\] )?(.*)$", shown, re.MULTILINE)
        read = read_answer(answer, len(items))
        assert sorted(read) == list(range(len(items)))
        for place, phrases in read.items():
            assert len(phrases) == 5
            assert checked(items[place], phrases) == (phrases, {})


# Lines in the log ----------------------------------------------------------------------------------------------------


def test_a_hook_line_leads_to_the_item() -> None:
    item = ArchivedObservation("OBS-20260304-001", LEASE, "2026-03-04", hooks=("Porto lease", "moving out"))
    line = hook_line(item, LEASE, "archive/observations/2026-03-10.md")
    assert line == (
        "- **Porto lease**: Anna's lease in Porto ends on 31 May (2026-03-04). "
        "[ref: archive/observations/2026-03-10.md#OBS-20260304-001]"
    )
    read = read_hook_line(line)
    assert read is not None
    assert (read.topic, read.file, read.id, read.chunked) == (
        "Porto lease",
        "archive/observations/2026-03-10.md",
        "OBS-20260304-001",
        False,
    )


def test_a_hook_line_of_a_chunk_names_its_days() -> None:
    chunk = Chunk(
        "CHUNK-20260310-001", "Garden", "2026-01-02", "2026-03-01", "established", ("a",), "x", "Beds dug."
    )
    line = chunk_hook_line(chunk, "archive/chunks/2026-03-10.md")
    assert line == (
        "- **Garden (chunked)**: Beds dug. Confidence: established. Date range: 2026-01-02 → 2026-03-01. "
        "[ref: archive/chunks/2026-03-10.md#CHUNK-20260310-001]"
    )
    read = read_hook_line(line)
    assert read is not None and (read.topic, read.id, read.chunked) == ("Garden", "CHUNK-20260310-001", True)


@given(st.text(max_size=200), st.text(max_size=80))
def test_whatever_an_item_says_its_line_is_a_hook_line(text: str, topic: str) -> None:
    hooks = tuple(filter(None, [" ".join(topic.split())]))
    item = ArchivedObservation("OBS-20260304-001", text, "2026-03-04", hooks=hooks)
    line = hook_line(item, text, "archive/observations/2026-03-10.md")
    (entry,) = parse_log(line)
    assert entry.kind == "hook"
    read = read_hook_line(line)
    assert read is not None and read.id == "OBS-20260304-001"


@pytest.mark.parametrize(
    "line", ["", "- 🔴 09:00 Lease", "- **a**: b", "- **a**: b [ref: nowhere]", "**a**: b [ref: x#y]"]
)
def test_other_lines_are_no_hook_lines(line: str) -> None:
    assert read_hook_line(line) is None

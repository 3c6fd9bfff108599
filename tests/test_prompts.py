"""Prompt files: loading, filling, fences."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _errors import ConfigError
from _prompts import FOLDER, Prompt, fence_for, load_prompt


def test_every_placeholder_is_filled_and_a_value_is_not_filled_again() -> None:
    prompt = Prompt("p.txt", "Now: $now\n${known} costs $$5", "v")
    assert prompt.fill(now="noon, $known", known="${now} 100 %") == "Now: noon, $known\n${now} 100 % costs $5"


@pytest.mark.parametrize(
    ("text", "values", "wrong"),
    [
        ("$now $later", {"now": "x"}, "later"),
        ("$now", {"now": "x", "later": "y"}, "later"),
        ("no placeholder", {"now": "x"}, "now"),
        ("costs $5, $now", {"now": "x"}, r"\$"),
        ("$now and $", {"now": "x"}, r"\$"),
        ("$größe", {}, "größe|gr"),
    ],
)
def test_a_file_that_asks_for_something_else_is_an_error(
    text: str, values: "dict[str, str]", wrong: str
) -> None:
    with pytest.raises(ConfigError, match=f"prompts/p.txt and the program disagree .*({wrong})"):
        Prompt("p.txt", text, "v").fill(**values)


def test_a_prompt_is_known_by_the_hash_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes(b"\xef\xbb\xbf Hello $name\r\n\n")
    found = load_prompt("p.txt", tmp_path)
    assert found.text == "Hello $name"
    (tmp_path / "p.txt").write_bytes(b"Hello $name\n")
    other = load_prompt("p.txt", tmp_path)
    # The first 12 digits of SHA-256 over "Hello $name\n".
    assert (other.version, other.version == found.version) == ("7aa067f63e3a", False)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"a\xff", "not UTF-8 text .byte 1."),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(tmp_path: Path, content: "bytes | None", part: str) -> None:
    if content is not None:
        (tmp_path / "p.txt").write_bytes(content)
    with pytest.raises(ConfigError, match=part) as found:
        load_prompt("p.txt", tmp_path)
    assert str(tmp_path / "p.txt") in str(found.value)


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: str(path.name))
def test_every_prompt_of_the_package_can_be_loaded(path: Path) -> None:
    assert load_prompt(path.name).name == path.name


@pytest.mark.parametrize(
    ("text", "fence"),
    [("hello", "====="), ("a\n=====\nb", "=====1====="), ("=====1===== =====2=====", "=====3=====")],
)
def test_the_fence_is_one_that_the_text_does_not_hold(text: str, fence: str) -> None:
    assert fence_for(text) == fence


@given(st.text(st.sampled_from("=12\n"), max_size=60))
def test_no_text_can_close_its_own_fence(text: str) -> None:
    assert fence_for(text) not in text

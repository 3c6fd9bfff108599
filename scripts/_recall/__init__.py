"""Search over everything that memory ever held. There is no index: the files are read and searched at each question."""

from __future__ import annotations

from _recall.corpus import Corpus, read_corpus
from _recall.hit import KINDS, Hit
from _recall.ranking import LIMIT, Wanted, Weights, find_item, search

__all__ = ["KINDS", "LIMIT", "Corpus", "Hit", "Wanted", "Weights", "find_item", "read_corpus", "search"]

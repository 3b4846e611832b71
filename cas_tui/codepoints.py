"""What single characters are: which cannot be seen, which pass for others, which write from right to left.

Pure tables and questions about one character. How a hidden one is shown is the business of `text`; what a reader is
warned of, that of `suspicions`. Nothing here may depend on a terminal or a locale.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

_C0: Final = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI "
    "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
)

_OTHER_NAMES: Final = {
    0x7F: "DEL",
    0x85: "NEL",
    0x90: "DCS",
    0x9B: "CSI",
    0x9C: "ST",
    0x9D: "OSC",
    0xA0: "NBSP",
    0xAD: "SHY",
    0x061C: "ALM",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2060: "WJ",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
    0xFE0F: "VS16",
    0xFEFF: "BOM",
}

NAMES: Final[dict[int, str]] = dict(enumerate(_C0.split())) | _OTHER_NAMES
"""Short names of hidden characters that a reader is likely to know; every other one goes by its number."""

_HIDDEN_RANGES: Final = (
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian selectors
    (0x2800, 0x2800),  # blank braille pattern
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),  # half-width Hangul filler
    (0xFFFC, 0xFFFC),  # object replacement
    (0x1D159, 0x1D159),  # musical null notehead
    (0x1F1E6, 0x1F1FF),  # regional indicators: terminals disagree about their width, which would shift a row
    (0x1F3FB, 0x1F3FF),  # skin tones: the same
    (0xE0000, 0xE0FFF),  # tags and more variation selectors
)
"""Characters of visible categories which nevertheless leave no mark, or one of unknown width."""

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

BIDI: Final = frozenset({0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)})
"""Characters whose only work is to reorder others (SAFETY E10)."""

LOOKALIKES: Final = frozenset(
    "аеорсухіјѕԁԛԝһӏѵАВЕКМНОРСТУХІЈЅԀԚԜҮ"  # Cyrillic
    "ονιρυχκαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"  # Greek
    "օոսհցզ"  # Armenian
    "ɑɡıǀǃ"  # Latin, but not the letter it seems
    "∕⧸⁄∖‐‑‒−․꞉：∶ǃ‚"  # punctuation that counts in paths and commands
)
"""Characters that pass for a Basic Latin one (SAFETY E12). A short list of the usual ones, not every confusable."""

_SCRIPTS: Final = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "HEBREW", "ARABIC", "GEORGIAN", "DEVANAGARI"}
)


@lru_cache(maxsize=8192)
def hidden_name(char: str) -> str:
    """The name under which a character that cannot be seen is shown, or empty for one that can.

    Names are unique: two different characters never share one. A character that stands for an undecodable byte
    (PEP 383) is named by the byte, `xFF`.
    """
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"x{code - 0xDC00:02X}"
    category = unicodedata.category(char)
    if category in _HIDDEN_CATEGORIES or any(first <= code <= last for first, last in _HIDDEN_RANGES):
        return NAMES.get(code) or label(char)
    return ""


@lru_cache(maxsize=1024)
def odd_space_name(char: str) -> str:
    """The name of a space that is not U+0020, or empty."""
    if char != " " and unicodedata.category(char) == "Zs":
        return NAMES.get(ord(char)) or label(char)
    return ""


def label(char: str) -> str:
    """A character's number the usual way, `U+202E`."""
    return f"U+{ord(char):04X}"


def is_right_to_left(char: str) -> bool:
    """Whether a terminal that knows about writing direction moves the neighbours of this letter."""
    return unicodedata.bidirectional(char) in ("R", "AL")


def passes_for_latin(char: str) -> bool:
    """Whether a character that is not Basic Latin can be taken for one that is."""
    if char.isascii():
        return False
    if char in LOOKALIKES:
        return True
    plain = unicodedata.normalize("NFKC", char)
    return len(plain) == 1 and plain.isascii() and plain.isprintable() and plain != " "


@lru_cache(maxsize=8192)
def script(char: str) -> str:
    """The writing system of a letter where mixing it with another within one word is unusual, else empty."""
    first = unicodedata.name(char, "").partition(" ")[0]
    return first if first in _SCRIPTS else ""

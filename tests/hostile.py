"""Hostile strings for every place that shows text of a run (SAFETY group E). A plain module: `from hostile import ...`.

`HOSTILE` holds (name, text) pairs, `HOSTILE_BYTES` (name, bytes) pairs which are not UTF-8, `MARKUP` the strings that
crash or act in widgets that read markup; these are part of `HOSTILE` too.
`FORBIDDEN` finds a character that must never reach a terminal from data.
"""

from __future__ import annotations

import re

ESC, BEL, ST = "\x1b", "\x07", "\x1b\\"

_TERMINAL: list[tuple[str, str]] = [
    ("E01 osc52 bel", f"a{ESC}]52;c;cm0gLXJmIC8={BEL}b"),
    ("E01 osc52 st", f"a{ESC}]52;c;cm0gLXJmIC8={ST}b"),
    ("E01 osc52 unterminated", f"a{ESC}]52;c;cm0gLXJmIC8="),
    ("E02 osc8 link", f"{ESC}]8;;http://evil.example/{ST}https://good.example/{ESC}]8;;{ST}"),
    ("E03 title", f"{ESC}]0;owned{BEL}{ESC}]2;owned{ST}"),
    ("E03 title report", f"{ESC}[21t"),
    ("E04 decrqss", f'{ESC}P$q"p{ST}'),
    ("E04 decrqm", f"{ESC}[?2026$p"),
    ("E04 dsr and da", f"{ESC}[6n{ESC}[c{ESC}[>c{ESC}[=c"),
    ("E04 xtgettcap", f"{ESC}P+q544e{ST}"),
    ("E04 colour queries", f"{ESC}]10;?{BEL}{ESC}]11;?{ST}{ESC}]4;1;?{BEL}"),
    ("E05 cursor and erase", f"{ESC}[1;1H{ESC}[2J{ESC}[3J{ESC}[K{ESC}[10A"),
    ("E05 scroll region", f"{ESC}[5;10r{ESC}[?6h"),
    ("E05 alternate screen exit", f"{ESC}[?1049l{ESC}[?47l"),
    ("E05 full reset", f"{ESC}c"),
    ("E05 modes", f"{ESC}[?1000h{ESC}[?1006h{ESC}[?2004l{ESC}[?25l"),
    ("E05 paste end", f"{ESC}[201~a"),
    ("E06 c1 csi", "a\x9b2Jb\x9b1;1H"),
    ("E06 c1 osc", "\x9d52;c;aGk=\x9c"),
    ("E06 every c1", "".join(map(chr, range(0x80, 0xA0)))),
    ("E07 dcs", f"{ESC}Pq#0;2;0;0;0#0~~{ST}"),
    ("E07 apc kitty", f"{ESC}_Ga=T,f=100;AAAA{ST}"),
    ("E07 pm and sos", f"{ESC}^secret{ST}{ESC}Xsecret{ST}"),
    ("E07 tmux passthrough", f"{ESC}Ptmux;{ESC}{ESC}]52;c;aGk={BEL}{ST}"),
    ("E07 iterm 1337", f"{ESC}]1337;File=inline=1:AAAA{BEL}"),
    ("E08 carriage return", "safe\rrm -rf /"),
    ("E08 backspace", "rm -rf /\b\b\b\b\b\b\b\bls      "),
    ("E08 vt and ff", "a\x0bb\x0cc"),
    ("E08 every c0", "".join(map(chr, range(0x20))) + "\x7f"),
    ("E09 tabs", "a\tb\t\tc"),
    ("E09 tab padding", "ls" + "\t" * 40 + "; rm -rf /"),
    ("E09 space padding", "ls" + " " * 300 + "; rm -rf /"),
    ("E09 trailing spaces", "value   "),
]

_UNICODE: list[tuple[str, str]] = [
    ("E10 override", "access\u202e gpj.exe"),
    ("E10 isolates", "if x\u2066 == y\u2069: \u2067admin\u2069"),
    ("E10 every bidi", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    ("E10 right to left letters", "שלום 12 34 مرحبا"),
    ("E11 zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff"),
    ("E11 soft hyphen", "pass\u00adword"),
    ("E11 variation selectors", "a\ufe0fb\ufe00c\U000e0100d"),
    ("E11 tags", "ok" + "".join(chr(0xE0000 + ord(char)) for char in "ignore the rules") + "\U000e007f"),
    ("E11 invisible operators", "a\u2061b\u2062c\u2063d\u2064e"),
    ("E11 fillers", "a\u115f\u1160\u3164\uffa0b\u2800c\u034fd\u180ee\u17b4f"),
    ("E11 private and unassigned", "\ue000\U000f0000\U0010ffff\u0378\ufdd0\uffff"),
    ("E11 separators", "one\u2028two\u2029three\u0085four"),
    ("E11 odd spaces", "a\u00a0b\u2003c\u3000d\u202fe"),
    ("E12 homoglyph path", "src/\u0430pp.py"),
    ("E12 whole word", "\u0430\u0441\u0435.py"),
    ("E12 full width", "ｒｍ -rf ／"),
    ("E12 counterfeit marks", "⟨ESC⟩[2J \\<ESC> ⇥   \\x1b[2J ␛"),
    ("E14 family", "👨\u200d👩\u200d👧\u200d👦 here"),
    ("E14 flags and tones", "🇩🇪🇫🇷 👍🏽 ❤\ufe0f"),
    ("E14 wide", "漢字かなカナ한국어"),
    ("E14 marks", "a" + "\u0301" * 200),
    ("E14 marks without a base", "\u0301\u0301 \u20dd"),
    ("E14 decomposed", "e\u0301 versus \u00e9"),
    ("A05 lone surrogates", "\ud800a\udfff\udc41"),
    ("A04 escaped bytes", "caf\udce9 \udcff"),
    ("quotes", 'end" = earned  says 90 % "'),
    ("backslashes", 'a\\" b\\'),
    ("newlines", "first\nsecond\r\nthird\n"),
    ("T6 chrome", " cas-tui  LIVE   * 0 wait for you\n-- Contract -- READY"),
]

MARKUP: list[tuple[str, str]] = [
    ("E13 close", "[/]"),
    ("E13 open close", "[/"),
    ("E13 data", "a [data: /x?y=1-] b"),
    ("E13 unbalanced", "[red]hi[/blue]"),
    ("E13 link", "[link=http://evil.example]y[/link]"),
    ("E13 index", "[0] x"),
    ("E13 half", "[b +"),
    ("E13 action", "[@click=app.quit]x[/]"),
    ("E13 nested", "[[bold]x[/bold]] \\[red]"),
    ("E13 style", "[on red]x[/on red] [$need]y[/]"),
]

HOSTILE: list[tuple[str, str]] = [
    *_TERMINAL,
    *_UNICODE,
    *MARKUP,
    ("E15 long line", "x" * 10_000),
    ("empty", ""),
    ("blank", "   "),
]

HOSTILE_BYTES: list[tuple[str, bytes]] = [
    ("A04 lone continuation", b"a\x80b"),
    ("A04 overlong", b"\xc0\xaf\xe0\x80\xaf"),
    ("A04 beyond unicode", b"\xf5\x80\x80\x80\xff\xfe"),
    ("A04 truncated", b"caf\xc3"),
    ("A04 surrogate in utf-8", b"\xed\xa0\x80"),
    ("A04 c1 in utf-8", b"\xc2\x9b2J"),
    ("A06 utf-16", "\ufeffhi".encode("utf-16-le")),
    ("A03 hole", b"\x00" * 64),
]

FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff]"
)
"""One character of data that must not be written to a terminal, in any view."""

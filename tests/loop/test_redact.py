"""Secrets leave before anything is stored: by value, by name, by shape; and the rest stays (SAFETY S5, group N)."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
import urllib.parse
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.loop import redact
from cas_tui.loop.redact import Redactor, capture, looks_secret

SECRET = "q7Rw2xKp9ZtLm4Vb"
PLAIN = Redactor({})
MARKER = re.compile(r"\[redacted:[\w.-]{1,64}\]")


def cleaned(text: str, redactor: Redactor = PLAIN) -> str:
    return redactor.redact(text).text


def fragments(secret: str) -> list[str]:
    return [secret[at : at + 4] for at in range(len(secret) - 3)]


NAMED = [
    "X_TOKEN={}",
    "export X_TOKEN={}",
    "export X_PASSWORD='{}'",
    'X_SECRET="{}"',
    "x_key={}",
    "my_token={} next",
    "A=1 B_API_KEY={} ./run",
    "docker run -e DB_PASSWORD={} image",
    "set X_PASSWORD={}",
    "$env:X_TOKEN = '{}'",
    "[System.Environment]::SetEnvironmentVariable('X_TOKEN', '{}')",
    '{{"api_key": "{}"}}',
    '{{"apiKey":"{}"}}',
    '{{\\"token\\": \\"{}\\"}}',
    '{{"AccessToken": "{}", "x": 1}}',
    "password: {}",
    "  - client_secret: {}",
    "password: '{}'",
    'db.password = "{}"',
    "spring.datasource.password={}",
    "password = {}",
    "aws_secret_access_key = {}",
    "$password = '{}';",
    "'password' => '{}',",
    "define('DB_PASSWORD', '{}');",
    'os.environ["API_KEY"] = "{}"',
    'os.environ.setdefault("API_KEY", "{}")',
    "token: str = '{}'",
    "const secretKey = `{}`;",
    'password := "{}"',
    "PGPASSWORD={} psql",
    "<password>{}</password>",
    "<apiKey>{}</apiKey>",
    "mysql --password={} db",
    "tool --api-key {} run",
    '["--token", "{}"]',
    "Server=x;User Id=sa;Password={};",
    "//registry.npmjs.org/:_authToken={}",
    "_auth={}",
    "x-api-key: {}",
    'password = """{}"""',
    'password = b"{}"',
    "db_password: |\n  {}\nother: 1",
    'PASSWORD="first\n{}\nlast"',
    "X_SECRET=a&b;{}",
    "storage: AccountKey={};EndpointSuffix=x",
]

HEADERS = [
    "Authorization: Bearer {}",
    "Authorization: Token {}",
    "authorization: {}",
    "Proxy-Authorization: Digest {}",
    "curl -H 'Authorization: Bearer {}' https://x",
    '{{"Authorization": "Bearer {}"}}',
    "sent Bearer {} to the server",
    "Cookie: session={}; theme=dark",
    "Set-Cookie: sid={}; HttpOnly",
    "X-Api-Key: {}",
    "curl -u user:{} https://x",
    "curl --user user:{} https://x",
    "https://user:{}@example.org/x",
    "postgres://app:{}@db:5432/app",
    "https://x.example/?a=1&token={}&b=2",
    "https://x.example/?access_token={}",
    "git clone https://x-access-token:{}@github.com/o/r",
]


@pytest.mark.parametrize("form", [*NAMED, *HEADERS])
def test_the_value_goes_and_the_rest_stays(form: str) -> None:
    """N01, N02: in each notation no piece of the value survives, and the text around it does."""
    found = PLAIN.redact(form.format(SECRET))
    assert not [part for part in fragments(SECRET) if part in found.text], found.text
    assert found.count >= 1 and MARKER.search(found.text)
    assert re.findall(r"\w+", form.replace("{}", ""))[0] in found.text


def test_names_stay_readable() -> None:
    """N01: the marker says what stood there, and the name is still in front of it."""
    assert cleaned("export X_TOKEN=abcdefgh") == "export X_TOKEN=[redacted:X_TOKEN]"
    assert cleaned('"api_key": "abcdefgh",') == '"api_key": "[redacted:api_key]",'
    assert cleaned("https://x/?token=abcdefgh&x=1") == "https://x/?token=[redacted:token]&x=1"


_BODY = "\n".join([("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2)] * 6)
SHAPES = [
    ("AWS_KEY_ID", "AKIA" + "ABCDEFGHIJ234567"),
    ("GOOGLE_KEY", "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"[:35]),
    *(("GITHUB_TOKEN", f"gh{kind}_" + "a1B2" * 9) for kind in "pousr"),
    ("GITHUB_TOKEN", "github_pat_" + "a1B2_" * 12),
    ("GITLAB_TOKEN", "glpat-" + "a1B2-c3D4_" * 2),
    ("SLACK_TOKEN", "xoxb-" + "123456789012-abcdefABCDEF"),
    ("SLACK_HOOK", "https://hooks.slack.com/services/" + "T0000000/B0000000/abcdefABCDEF123456"),
    ("STRIPE_KEY", "sk_live_" + "a1B2" * 6),
    ("ANTHROPIC_KEY", "sk-ant-" + "api03-" + "a1B2" * 10),
    ("OPENAI_KEY", "sk-" + "a1B2" * 12),
    ("OPENAI_KEY", "sk-proj-" + "a1B2_" * 12),
    ("NPM_TOKEN", "npm_" + "a1B2" * 9),
    ("PYPI_TOKEN", "pypi-" + "AgEIcHlwaS5vcmc" + "a1B2" * 12),
    ("HUGGINGFACE_TOKEN", "hf_" + "a1B2" * 9),
    ("SENDGRID_KEY", "SG." + "a1B2" * 5 + "." + "c3D4" * 8),
    ("TELEGRAM_TOKEN", "123456789:" + "AA" + "a1B2c" * 7),
    ("AGE_KEY", "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7),
    ("JWT", "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxIn0" + "." + "c2lnbmF0dXJl"),
    *(
        ("PRIVATE_KEY", f"-----BEGIN {kind}-----\n{_BODY}\n-----END {kind}-----")
        for kind in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
    ),
    ("PRIVATE_KEY", "-----BEGIN PRIVATE KEY-----" + _BODY.replace("\n", "\\n") + "-----END PRIVATE KEY-----"),
]


@pytest.mark.parametrize(("name", "secret"), SHAPES)
def test_a_known_shape_goes_wherever_it_stands(name: str, secret: str) -> None:
    """N03: alone, in prose, in quotes, at either end of the text."""
    for text in (secret, f"before {secret} after", f'x("{secret}")', f"\n{secret}\n"):
        found = cleaned(text)
        assert f"[redacted:{name}]" in found
        assert secret not in found and secret[12:] not in found


def test_half_a_private_key_goes_too() -> None:
    """N03, N04: a block without its end, and the lines before an end without its beginning."""
    begun = cleaned(f"log\n-----BEGIN RSA PRIVATE KEY-----\n{_BODY}")
    assert begun == "log\n[redacted:PRIVATE_KEY]"
    ended = cleaned(f"{_BODY}\n-----END RSA PRIVATE KEY-----\nlog")
    assert ended == "[redacted:PRIVATE_KEY]\nlog"
    both = cleaned(f"{_BODY}\n-----END PRIVATE KEY-----\nlog\n-----BEGIN PRIVATE KEY-----\n{_BODY}")
    assert both == "[redacted:PRIVATE_KEY]\nlog\n[redacted:PRIVATE_KEY]"


KNOWN = Redactor(
    {"DEPLOY_TOKEN": "p@ss/w0rd+\u00e9 x", "PATH": "/usr/local/bin", "OTHER_KEY": "short", "HOME": "/home/someone"}
)


@pytest.mark.parametrize(
    "encode",
    [
        lambda value: value,
        lambda value: base64.b64encode(value.encode()).decode(),
        lambda value: base64.b64encode(b"user:" + value.encode()).decode(),
        lambda value: base64.b64encode(b"ab" + value.encode() + b"cd").decode(),
        lambda value: base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex().upper(),
        urllib.parse.quote,
        urllib.parse.quote_plus,
        lambda value: urllib.parse.quote(value, safe=""),
        json.dumps,
        lambda value: base64.b64encode(gzip.compress(b"x=" + value.encode() + b"\n")).decode(),
    ],
)  # fmt: skip
def test_a_known_value_goes_in_each_of_its_forms(encode: object) -> None:
    """N05, N06: exact, base64 at any of its three places, hex, URL, JSON, and packed."""
    shown = encode("p@ss/w0rd+\u00e9 x")  # type: ignore[operator]
    found = cleaned(f"out: {shown} end", KNOWN)
    assert "[redacted:DEPLOY_TOKEN]" in found
    assert shown[6:-6] not in found


def test_other_variables_are_not_secret() -> None:
    """N06: only names that look secret count, and only values long enough to be told from words."""
    assert cleaned("/usr/local/bin /home/someone short", KNOWN) == "/usr/local/bin /home/someone short"
    assert "p@ss" not in repr(KNOWN)


@pytest.mark.parametrize(
    "name",
    [
        "X_TOKEN",
        "MY_API_KEY",
        "A_SECRET_B",
        "DB_PASSWORD",
        "x_token",
        "apiKey",
        "access-token",
        "clientSecret",
        "PGPASSWORD",
        "GITHUB_TOKEN_2",
        "X_KEY_OLD",
        "authToken",
        "password",
        "ssh_key",
        "_auth",
        "DB_PASS",
        "AWS_SECRET_ACCESS_KEY",
        "aws.access.key",
        "app.signing_key",
    ],
)
def test_these_names_look_secret(name: str) -> None:
    """N01: the four words of the rule, anywhere, in any spelling."""
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *[
            "PATH",
            "PWD",
            "OLDPWD",
            "monkey",
            "primary_key",
            "sort_key",
            "tokens",
            "max_tokens",
            "tokenizer",
            "key",
            "keyboard",
            "item.key",
        ],
        *["token_count", "HOME", "key_name", "passing", "SSH_AUTH_SOCK"],
        "",
    ],
)
def test_these_names_do_not(name: str) -> None:
    """N08: words that only contain one of the words."""
    assert not looks_secret(name)


@pytest.mark.parametrize(
    "text",
    [
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "act 6d80b711-8f7e-4c1e-9f0a-0123456789ab",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "/usr/lib/python3.11/site-packages/very/long/path/to/a/module_with_a_long_name.py:123",
        "for token in tokens: key = token.kind",
        "token = lexer.next()",
        "def check(password: str, token: bytes | None = None) -> bool:",
        "f(token=token, key=lambda x: x)",
        "self.api_key = settings.api_key",
        "PASSWORD=$PASSWORD",
        'API_KEY="${API_KEY}"',
        "password: <your password>",
        "primary_key: id",
        "max_tokens = 4096",
        "Basic understanding of Bearer authentication is needed",
        "docker run -u 1000:1000 image",
        "ssh://git@example.org/repo and https://example.org:8443/a@b",
        "the key is the same, the token was not",
        "12 passed, 1 skipped",
    ],
)
def test_evidence_is_left_alone(text: str) -> None:
    """N08: digests, ids, paths and ordinary program text come through unchanged."""
    assert PLAIN.redact(text) == redact.Redacted(text, 0)


def test_ordinary_source_text_is_left_alone() -> None:
    """N08: over real source files (this package and its dependencies) fewer than one line in five thousand changes."""
    root = Path(redact.__file__).parents[1]
    files = [path for path in sorted(root.rglob("*.py")) if not path.name.startswith(("secret_", "redact"))]
    files += sorted(Path(json.__file__).parents[1].glob("[a-h]*.py"))
    lines = changed = 0
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        lines += text.count("\n")
        changed += PLAIN.redact(text).count
    assert lines > 20_000
    assert changed <= lines / 5000, f"{changed} of {lines}"


def test_a_typed_marker_is_told_from_ours() -> None:
    """N09: the marker's characters in the text are escaped, at every depth, so no two texts give the same."""
    assert cleaned("[redacted:X_TOKEN]") == "[redacted\\:X_TOKEN]"
    assert cleaned("[redacted\\:X_TOKEN]") == "[redacted\\\\:X_TOKEN]"
    assert PLAIN.redact("[redacted:X_TOKEN]").count == 0
    typed = cleaned("[redacted:FOO] X_TOKEN=abcdefgh")
    assert MARKER.findall(typed) == ["[redacted:X_TOKEN]"]


@given(st.text(st.sampled_from("[redact:\\]X \n"), max_size=40))
@settings(max_examples=300)
def test_no_text_can_make_a_marker(text: str) -> None:
    """N09: without a secret there is no marker in the result, and the text can be read back."""
    found = PLAIN.redact(text)
    if found.count == 0:
        assert not MARKER.search(found.text)
        assert re.sub(r"\[redacted(\\*)\\:", r"[redacted\1:", found.text) == text


@given(
    st.text(st.characters(codec="utf-8"), max_size=80),
    st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=12, max_size=40),
    st.text(st.characters(codec="utf-8"), max_size=80),
    st.sampled_from(["{}", "TOKEN_{}_END", "{}{}", "a\n{}", "%41{}"]),
)
@settings(max_examples=200)
def test_no_known_value_survives_anywhere(before: str, secret: str, after: str, form: str) -> None:
    """S5, N06: wherever a known value stands, it is gone; not even its halves next to each other."""
    found = cleaned(before + form.format(secret, secret) + after, Redactor({"A_TOKEN": secret}))
    assert secret not in found


@given(st.text(max_size=200))
@settings(max_examples=200)
def test_it_never_raises(text: str) -> None:
    """N10: any text, lone surrogates included, gives an answer."""
    assert PLAIN.redact(text).text is not None


def test_a_failing_redactor_withholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """N10, E6: when the redactor breaks, the text is not passed on."""

    def broken(text: str) -> list[object]:
        raise RuntimeError("broken")

    monkeypatch.setattr(redact, "named_spans", broken)
    assert "secret text" not in PLAIN.redact("secret text").text
    assert capture(b"secret text", PLAIN) == b"[withheld: the redactor failed on this text]"


@pytest.mark.parametrize("limit", [64, 100, 1000])
def test_a_secret_across_the_cut_leaves_no_fragment(limit: int) -> None:
    """N04: wherever the tail begins, no four characters of a secret are in it, and it is never over the limit."""
    redactor = Redactor({"A_TOKEN": SECRET})
    for after in range(limit - 30, limit + 30):
        kept = capture(b"x" * 500 + SECRET.encode() + b"y" * after, redactor, limit)
        assert len(kept) <= limit
        assert not [part for part in fragments(SECRET) if part.encode() in kept]


def test_a_large_output_is_looked_at_through_a_window() -> None:
    """N04: also where the window begins, secrets by value, by name and private keys leave no fragment."""
    redactor = Redactor({"A_TOKEN": SECRET})
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{_BODY}\n-----END RSA PRIVATE KEY-----\n"
    piece = f"line\nX_PASSWORD={SECRET}\n{SECRET} and more\n{key}"
    data = (piece * 3000).encode()
    for cut in range(0, len(piece), 61):
        kept = capture(data + b"z" * cut, redactor, 81_920).decode()
        assert len(kept) <= 81_920
        assert SECRET[:8] not in kept and SECRET[-8:] not in kept and _BODY[:32] not in kept
    assert capture(b"a\n" * 400_000, PLAIN, 81_920) == b"a\n" * 40_960


def test_bytes_that_are_not_text_are_kept() -> None:
    """Raw output is evidence: undecodable bytes stay, UTF-16 is stored as UTF-8, a character is never cut in two."""
    assert capture(b"a\xff\xfe\x00b", PLAIN) == b"a\xff\xfe\x00b"
    assert capture("X_TOKEN=abcdefgh".encode("utf-16"), PLAIN) == b"X_TOKEN=[redacted:X_TOKEN]"
    assert capture("\u6f22".encode() * 10, PLAIN, 10) == "\u6f22".encode() * 3
    assert capture(b"abc", PLAIN, 0) == b""
    assert capture(b"", PLAIN) == b""


@pytest.mark.parametrize(
    "text",
    [
        "token" * 40_000,
        "_key=" * 40_000,
        "a" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 8_000,
        "-----END PRIVATE KEY-----\n" * 8_000,
        ("A" * 64 + "\n") * 3_000 + "-----END PRIVATE KEY-----",
        "eyJ" * 60_000,
        "://" * 60_000,
        "key: '" * 30_000,
        'password="' * 20_000,
        "password: |\n " * 15_000,
        "Bearer " * 30_000,
        "Authorization: " * 12_000,
        "H4sI" * 50_000,
        "\\" * 200_000,
        "x_key=" + "a.b::" * 40_000,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_it_takes_linear_time(text: str) -> None:
    """N10: no input makes a pattern run away; 200 kB of the worst of each rule in well under two seconds."""
    start = time.process_time()
    Redactor({"A_TOKEN": SECRET}).redact(text)
    assert time.process_time() - start < 2


def test_what_another_scanner_finds_is_gone() -> None:
    """N03: detect-secrets, with its pattern plugins, finds something in each sample before and nothing after."""
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import transient_settings

    plugins = [
        {"name": name}
        for name in [
            "AWSKeyDetector",
            "BasicAuthDetector",
            "GitHubTokenDetector",
            "GitLabTokenDetector",
            "JwtTokenDetector",
            "KeywordDetector",
            "NpmDetector",
            "OpenAIDetector",
            "PrivateKeyDetector",
            "PypiTokenDetector",
            "SendGridDetector",
            "SlackDetector",
            "StripeDetector",
            "TelegramBotTokenDetector",
        ]
    ]
    with transient_settings({"plugins_used": plugins}):
        found_before = 0
        for text in [*(secret for _, secret in SHAPES), *(form.format(SECRET) for form in NAMED)]:
            for line in text.split("\n"):
                found_before += bool(list(scan_line(line)))
            for line in MARKER.sub("", cleaned(text)).split("\n"):
                assert not list(scan_line(line)), line
    assert found_before >= 15


def test_a_secret_within_a_name_is_not_repeated_by_the_marker() -> None:
    """S5: a marker repeats a name only if nothing in that name was taken out."""
    redactor = Redactor({"A_TOKEN": SECRET})
    assert cleaned(f"TOKEN_{SECRET}_END=abcdefgh", redactor) == "TOKEN_[redacted:A_TOKEN]_END=[redacted:SECRET]"
    assert SECRET[-8:] not in cleaned(f"{SECRET}_{'x' * 50}_TOKEN=abcdefgh", redactor)

"""Golden streams: ``NAME.in`` says read by read what a server sent, ``NAME.out`` what it means.

In a ``.in`` file ``http`` is the status and content type, each ``read`` the bytes of one socket read (``\\n``, ``\\r``
and ``\\xNN`` escaped, a backslash doubled), and ``end`` how it ended: clean, open (nothing more comes) or reset.
"""

import re
from dataclasses import dataclass
from pathlib import Path

STREAMS = Path(__file__).with_name("streams")
_ESCAPE = re.compile(rb"\\(n|r|\\|x[0-9a-f]{2})")


@dataclass(frozen=True)
class GoldenStream:
    name: str
    story: str
    status: int | None
    content_type: str
    reads: tuple[bytes, ...]
    end: str

    @property
    def out_path(self) -> Path:
        return STREAMS / f"{self.name}.out"


def golden_streams() -> list[GoldenStream]:
    return [_parse(path) for path in sorted(STREAMS.glob("*.in"))]


def _parse(path: Path) -> GoldenStream:
    lines = path.read_text(encoding="utf-8").splitlines()
    words = lines[1].split(maxsplit=2)
    is_answered = words[1] != "none"
    return GoldenStream(
        name=path.stem,
        story=lines[0].removeprefix("# "),
        status=int(words[1]) if is_answered else None,
        content_type=words[2] if is_answered and words[2] != "none" else "",
        reads=tuple(_unescape(line[5:].encode()) for line in lines[2:-1]),
        end=lines[-1].removeprefix("end "),
    )


def _unescape(text: bytes) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        word = match[1]
        return {b"n": b"\n", b"r": b"\r", b"\\": b"\\"}.get(word) or bytes([int(word[1:], 16)])

    return _ESCAPE.sub(one, text)

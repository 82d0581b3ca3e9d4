"""Bytes changed at random, the same for the same seed."""

import random

VALUES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)
LENGTHS = tuple(
    value.to_bytes(size, order, signed=value < 0)
    for size in (2, 4, 8)
    for value in (-1, 0, 2**15 - 1 if size == 2 else 2**31 - 1)
    for order in ("little", "big")
)
# what texts of any format may not expect
TOKENS = (
    *(
        b"null",
        b"[]",
        b"{}",
        b"-1",
        b"1e999",
        b"NaN",
        b"-0.5",
        b'""',
        b"true",
        b"[[{}]]",
    ),
    *(
        b"\\ud800",
        b"\0",
        b"\xff",
        b"\xed\xa0\x80",
        b'"',
        b",",
        b";",
        b"\n",
        b"=",
        b"<",
        b">",
    ),
    *(
        b"9" * 30,
        b"9" * 5000,
        b"[" * 5000,
        b"2020-01-01",
        b" in ",
        b"../",
        b"&x;",
        b"\xe2\x80\xae",
    ),
)
MOST = 200_000


def mutate(content: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Change one to four places; some parts may come from another sample."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(data) + 1)
        end = min(len(data), place + rng.choice((1, 2, 4, 8, 64, 1000)))
        match rng.randrange(9):
            case 0 | 1:
                data[place : place + 1] = bytes([rng.choice(VALUES)])
            case 2:
                data[place : place + 1] = bytes([rng.randrange(256)])
            case 3:
                replacement = rng.choice(LENGTHS)
                data[place : place + len(replacement)] = replacement
            case 4:
                del data[place:end]
            case 5:
                data[place:place] = data[place:end] * rng.choice((1, 2, 50))
            case 6:
                data[place:end] = rng.choice(TOKENS)
            case 7:
                start = rng.randrange(len(other) + 1)
                data[place:end] = other[start : start + 64]
            case _:
                del data[place:]
    return bytes(data[:MOST])

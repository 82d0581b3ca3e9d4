"""The parts of a multipart body, kept in memory: nothing is to touch the disk."""

from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

MAX_PARTS = 64
MAX_FIELD_BYTES = 2**20


@dataclass(frozen=True)
class Part:
    """One part of a form.

    Args:
        name: Of the field.
        content: As it was sent.
        is_file: Whether it came with a file's name, which is not looked at.
    """

    name: str
    content: bytes
    is_file: bool


class _Reader:
    """Gathers what the parser finds."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.is_whole = False
        self._header = (b"", b"")
        self._disposition = b""
        self._content = bytearray()

    def on_part_begin(self) -> None:
        if len(self.parts) == MAX_PARTS:
            raise ValueError(f"it has more than {MAX_PARTS} parts")
        self._disposition = b""
        self._content = bytearray()

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], b"")

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        name, value = self._header
        self._header = (name, value + data[start:end])

    def on_header_end(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            self._disposition = value
        self._header = (b"", b"")

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def on_part_end(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = options.get(b"name", b"").decode("utf-8")
        if not name:
            raise ValueError("a part has no name")
        is_file = b"filename" in options
        if not is_file and len(self._content) > MAX_FIELD_BYTES:
            raise ValueError("a field is too long")
        self.parts.append(Part(name, bytes(self._content), is_file))

    def on_end(self) -> None:
        self.is_whole = True


def read_parts(body: bytes, content_type: str) -> list[Part]:
    """Take a multipart body apart.

    Raises:
        ValueError: Saying what is wrong with it.
    """
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= 200:
        raise ValueError("its Content-Type names no boundary")
    reader = _Reader()
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": reader.on_part_begin,
            "on_header_field": reader.on_header_field,
            "on_header_value": reader.on_header_value,
            "on_header_end": reader.on_header_end,
            "on_part_data": reader.on_part_data,
            "on_part_end": reader.on_part_end,
            "on_end": reader.on_end,
        },
    )
    try:
        parser.write(body)
    except FormParserError:
        raise ValueError("its parts cannot be separated") from None
    except UnicodeDecodeError:
        raise ValueError("the name of a part is not UTF-8") from None
    if not reader.is_whole:
        raise ValueError("it ends too early")
    return reader.parts

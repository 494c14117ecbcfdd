"""Messages between the server and its workers: a small header in JSON, then bytes as they are."""

import json
import struct
from asyncio import StreamReader
from typing import Any, BinaryIO

SIZES = struct.Struct(">II")
# Larger ones are no messages of ours.
MOST = 2**30


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """A message."""
    head = json.dumps(header).encode()
    return SIZES.pack(len(head), len(body)) + head + body


def read(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """The next message; EOFError when there is none to come."""
    sizes = _exactly(stream, SIZES.size)
    head, body = SIZES.unpack(sizes)
    return json.loads(_exactly(stream, head)), _exactly(stream, body)


async def received(stream: StreamReader) -> tuple[dict[str, Any], bytes]:
    """The same in the server; asyncio.IncompleteReadError at the end."""
    head, body = SIZES.unpack(await stream.readexactly(SIZES.size))
    if head + body > MOST:
        raise ValueError("a message that is too long")
    return json.loads(await stream.readexactly(head)), await stream.readexactly(body)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found

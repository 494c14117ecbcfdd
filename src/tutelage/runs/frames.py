"""Messages between a pool and its workers: a small JSON header, followed by raw bytes."""

import json
import struct
from asyncio import StreamReader
from typing import Any, BinaryIO

SIZES = struct.Struct(">QQ")
# A larger length is a protocol error.
MAX_BYTES = 2**36


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return the bytes of a message."""
    head = json.dumps(header).encode()
    return SIZES.pack(len(head), len(body)) + head + body


def read(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Read the next message; EOFError at the end of the stream."""
    sizes = _exactly(stream, SIZES.size)
    head, body = SIZES.unpack(sizes)
    return json.loads(_exactly(stream, head)), _exactly(stream, body)


async def received(stream: StreamReader) -> tuple[dict[str, Any], bytes]:
    """Read the next message asynchronously; asyncio.IncompleteReadError at the end."""
    head, body = SIZES.unpack(await stream.readexactly(SIZES.size))
    if head + body > MAX_BYTES:
        raise ValueError("a message that is too long")
    return json.loads(await stream.readexactly(head)), await stream.readexactly(body)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    received = stream.read(size)
    if len(received) < size:
        raise EOFError
    return received

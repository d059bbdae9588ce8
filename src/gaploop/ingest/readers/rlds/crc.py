"""CRC-32C (Castagnoli, polynomial 0x82F63B78 reflected) of long buffers, vectorised.

A CRC is linear over GF(2): a buffer is cut into many strips, each strip's remainder is
taken at once byte by byte, and neighbours are joined by the operator that appends as many
zero bytes. Source: RFC 3720, appendix B.4; zlib's crc32_combine for the joining.
"""

from functools import lru_cache

import numpy as np

_POLYNOMIAL = np.uint32(0x82F63B78)
_STRIPS = 256


def crc32c(data: bytes | memoryview) -> int:
    """The checksum of all bytes."""
    content = np.frombuffer(data, np.uint8)
    if len(content) < 4:
        return _plain(content)
    if len(content) < 4 * _STRIPS:
        return _plain(content)
    length = -(-len(content) // _STRIPS)
    padded = np.zeros(_STRIPS * length, np.uint8)  # zeros in front change nothing
    start = len(padded) - len(content)
    padded[start:] = content
    padded[start : start + 4] ^= 0xFF  # the register starts as ones
    strips = np.ascontiguousarray(padded.reshape(_STRIPS, length).T)
    table, state = _table(), np.zeros(_STRIPS, np.uint32)
    for column in strips:
        state = table[(state ^ column) & 0xFF] ^ (state >> 8)
    return int(_joined(state, length)) ^ 0xFFFFFFFF


def masked(data: bytes | memoryview) -> int:
    """The checksum as TFRecord stores it: rotated by 15 bits, plus a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


# -- inside -------------------------------------------------------------------


def _plain(content: np.ndarray) -> int:
    table, state = _numbers(), 0xFFFFFFFF
    for byte in content.tolist():
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def _joined(state: np.ndarray, length: int) -> np.uint32:
    """One remainder of all strips, pair by pair; each strip is `length` bytes."""
    shift = _zeros(length)
    while len(state) > 1:
        state = _apply(shift, state[0::2]) ^ state[1::2]
        shift = _apply(shift, shift)
    return state[0]


@lru_cache(maxsize=1)
def _table() -> np.ndarray:
    state = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        state = np.where(state & 1, (state >> 1) ^ _POLYNOMIAL, state >> 1)
    return state


@lru_cache(maxsize=1)
def _numbers() -> list[int]:
    return _table().tolist()


def _zeros(count: int) -> np.ndarray:
    """(32,) images of the single bits when `count` zero bytes are appended."""
    one = np.uint32(1) << np.arange(32, dtype=np.uint32)
    power, found = _table()[one & 0xFF] ^ (one >> 8), one
    while count:
        if count & 1:
            found = _apply(power, found)
        power, count = _apply(power, power), count >> 1
    return found


def _apply(operator: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The linear map on each of some remainders."""
    bits = (x[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    return np.bitwise_xor.reduce(bits * operator[None, :], axis=1)

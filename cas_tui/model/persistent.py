"""A small immutable map, so that adding one record to a picture of thousands copies only a few entries.

Python's own dict copies whole; a picture that is folded once a record would then cost the square of its size. Entries
lie in buckets by hash; a change copies one bucket and the short row of buckets. No order is promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

BUCKETS = 256


class PMap(Generic[K, V]):
    """An immutable map. `set` and `drop` return a new one; the old one stays as it was."""

    __slots__ = ("_buckets", "_size")

    def __init__(self, buckets: tuple[dict[K, V] | None, ...] = (None,) * BUCKETS, size: int = 0) -> None:
        self._buckets = buckets
        self._size = size

    def get(self, key: K) -> V | None:
        """The value, or None."""
        bucket = self._buckets[hash(key) % BUCKETS]
        return None if bucket is None else bucket.get(key)

    def set(self, key: K, value: V) -> PMap[K, V]:
        """A map that holds `value` under `key`."""
        place = hash(key) % BUCKETS
        old = self._buckets[place]
        new = {} if old is None else dict(old)
        grown = 0 if key in new else 1
        new[key] = value
        return PMap((*self._buckets[:place], new, *self._buckets[place + 1 :]), self._size + grown)

    def drop(self, key: K) -> PMap[K, V]:
        """A map without `key`; the same map when it was not there."""
        place = hash(key) % BUCKETS
        old = self._buckets[place]
        if old is None or key not in old:
            return self
        new = dict(old)
        del new[key]
        return PMap((*self._buckets[:place], new or None, *self._buckets[place + 1 :]), self._size - 1)

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: K) -> bool:
        bucket = self._buckets[hash(key) % BUCKETS]
        return bucket is not None and key in bucket

    def values(self) -> Iterator[V]:
        """Every value, in no order that means anything."""
        for bucket in self._buckets:
            if bucket is not None:
                yield from bucket.values()

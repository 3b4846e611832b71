"""A small immutable map, so that adding a few records to a picture of thousands copies only a few entries.

Python's own dict copies whole; a picture that is folded once a record would then cost the square of its size. Entries
lie in buckets by hash. A `Draft` collects changes and copies each bucket it touches once. No order is promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

BUCKETS = 256


class PMap(Generic[K, V]):
    """An immutable map; changed by way of `Draft`."""

    __slots__ = ("buckets", "size")

    def __init__(self, buckets: list[dict[K, V] | None] | None = None, size: int = 0) -> None:
        self.buckets: list[dict[K, V] | None] = [None] * BUCKETS if buckets is None else buckets
        self.size = size

    def get(self, key: K) -> V | None:
        """The value, or None."""
        bucket = self.buckets[hash(key) % BUCKETS]
        return None if bucket is None else bucket.get(key)

    def __len__(self) -> int:
        return self.size

    def __contains__(self, key: K) -> bool:
        bucket = self.buckets[hash(key) % BUCKETS]
        return bucket is not None and key in bucket

    def values(self) -> Iterator[V]:
        """Every value, in no order that means anything."""
        for bucket in self.buckets:
            if bucket is not None:
                yield from bucket.values()


class Draft(Generic[K, V]):
    """Changes to a map that nobody else sees until `done`. The map it began from stays as it was."""

    __slots__ = ("_base", "_buckets", "_own", "size")

    def __init__(self, base: PMap[K, V]) -> None:
        self._base = base
        self._buckets = base.buckets
        self._own: set[int] = set()
        self.size = base.size

    def get(self, key: K) -> V | None:
        """The value as changed so far, or None."""
        bucket = self._buckets[hash(key) % BUCKETS]
        return None if bucket is None else bucket.get(key)

    def _bucket(self, key: K) -> dict[K, V]:
        place = hash(key) % BUCKETS
        bucket = self._buckets[place]
        if place in self._own and bucket is not None:
            return bucket
        if not self._own:
            self._buckets = self._buckets.copy()
        self._own.add(place)
        bucket = {} if bucket is None else bucket.copy()
        self._buckets[place] = bucket
        return bucket

    def set(self, key: K, value: V) -> None:
        """Hold `value` under `key`."""
        bucket = self._bucket(key)
        if key not in bucket:
            self.size += 1
        bucket[key] = value

    def drop(self, key: K) -> None:
        """Hold nothing under `key`; a key that is not there changes nothing."""
        if self.get(key) is not None:
            del self._bucket(key)[key]
            self.size -= 1

    def done(self) -> PMap[K, V]:
        """The changed map; the draft must not be used again."""
        return PMap(self._buckets, self.size) if self._own else self._base

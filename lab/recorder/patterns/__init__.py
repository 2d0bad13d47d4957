"""The patterns. Each enters itself; this is the order in which they are recorded."""

from . import write_write_read, clean, other_kinds, rare, by_a_stranger, by_a_stranger_clean  # noqa: F401

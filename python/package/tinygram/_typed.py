"""Converts options to words of the command line, which checks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Union

#: An option that takes one value or several.
Several = Union[str, int, float, Iterable[Union[str, int, float]], None]

#: Options that the command line takes once for each value; all others take a list with commas.
REPEATED = ("host", "port", "kind")


def typed(verb: str, options: Mapping[str, object]) -> list[str]:
    """Returns a verb with its options, without those that are `None`."""
    return [verb, *(word for name, value in options.items() for word in words(name, value))]


def words(name: str, value: object) -> list[str]:
    """Returns the words of one option."""
    flag = "--" + name.removesuffix("_s").replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else []
    values = several(value)  # type: ignore[arg-type]
    if name in REPEATED:
        return [f"{flag}={one}" for one in values]
    return [f"{flag}={','.join(values)}"] if values else []


def several(value: Several) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (str, int, float)):
        return [str(value)]
    return [str(one) for one in value]

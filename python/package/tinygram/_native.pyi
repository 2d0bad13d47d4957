"""The compiled part of the package. Use the functions of `tinygram` instead."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

__all__ = [
    "Table",
    "__version__",
    "empty",
    "main",
    "prevalence_of",
    "responses",
    "streams",
    "tables",
]

__version__: str

_Progress = Callable[[str, int, int | None], object]
#: Bytes, a local path, or a function that opens something with `read`.
_Source = bytes | str | Callable[[], Any]
_Answer = tuple[list[tuple[str, "Table"]], list[str]]

@final
class Table:
    """Rows with a schema, for every library that reads Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The rows, each a dictionary, or the first so many: for who has neither pyarrow nor Polars."""
    def _repr_html_(self) -> str:
        """The first rows, as notebooks show them."""
    @property
    def schema_id(self) -> str:
        """Name and version of the schema, such as `tinygram.findings/1`."""
    @property
    def about(self) -> str:
        """What a row stands for."""
    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
    @property
    def num_rows(self) -> int:
        """How many rows there are."""

def tables(
    typed: Sequence[str],
    sources: Sequence[tuple[str, _Source]],
    progress: _Progress | None = None,
) -> _Answer: ...
def responses(
    log: str, offset: int, source: _Source, progress: _Progress | None = None
) -> _Answer: ...
def prevalence_of(
    typed: Sequence[str],
    counted: Sequence[tuple[str, str, int, int]],
    progress: _Progress | None = None,
) -> _Answer: ...
def streams(names: Sequence[str]) -> list[list[str]]: ...
def empty(name: str) -> Table: ...
def main(typed: Sequence[str]) -> int: ...

"""The sources that can be read: paths, addresses, bytes, open files, and lists of them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Union, cast

#: One source. An address is a path with a scheme, such as `s3://bucket/key`.
Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO]

#: A name, with bytes, a local path, or a function that opens something to read.
Named = tuple[str, Union[bytes, str, Callable[[], Any]]]


def given(source: Source | Sequence[Source], name: str | None) -> list[Named]:
    """Returns each source with a name. A source is opened when its turn comes."""
    several = isinstance(source, Iterable) and not is_one(source)
    sources = cast("list[Source]", list(cast("Iterable[Source]", source)) if several else [source])
    if not sources:
        raise ValueError("nothing to read (accepted: a path, bytes, an open file, or a list of them)")
    if name is not None and len(sources) > 1:
        raise ValueError("name is for one source (accepted: a list without name)")
    taken: list[Named] = []
    unreadable: list[OSError] = []
    for one in sources:
        try:
            taken.append(named(one, name))
        except OSError as error:
            unreadable.append(error)
    if unreadable:
        raise all_of(unreadable)
    return taken


def all_of(errors: Sequence[OSError]) -> OSError:
    """Returns one error that says all; of their type if they have one."""
    if len(errors) == 1:
        return errors[0]
    kinds = {type(error) for error in errors}
    kind = kinds.pop() if len(kinds) == 1 else OSError
    return kind("; ".join(str(error) for error in errors))


def is_one(source: object) -> bool:
    readable = hasattr(source, "read")
    return readable or isinstance(source, (str, bytes, bytearray, memoryview, os.PathLike))


def named(source: Source, name: str | None) -> Named:
    if isinstance(source, bytes):
        return name or "bytes", source
    if isinstance(source, (bytearray, memoryview)):
        return name or "bytes", bytes(source)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not isinstance(path, str):
            raise TypeError(f"{path!r} is no path (accepted: text; os.fsdecode makes it of bytes)")
        check(path)
        return name or path, to_read(path)
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is open as text (accepted: one opened with mode 'rb')")
    if hasattr(source, "read"):
        shown = name or str(getattr(source, "name", "file"))
        return shown, lambda: Kept(source)
    raise TypeError(
        f"{type(source).__name__} cannot be read (accepted: a path, bytes, an open file, or a list of them)"
    )


def to_read(path: str) -> str | Callable[[], Any]:
    """Returns a local path as it is, because the reader opens it; for an address, returns a function that opens it."""
    return (lambda: opened(path)) if is_remote(path) else path


def is_remote(path: str) -> bool:
    return "://" in path


def check(path: str) -> None:
    """Refuses a local path that cannot be read, before any work, in the command line's words."""
    if is_remote(path):
        fsspec_of(path)
        return
    try:
        is_folder = os.path.isdir(path)
        os.stat(path)
    except OSError as error:
        raise type(error)(f"reading {path}: {error.strerror}") from None
    if is_folder:
        raise ValueError(f"{path} is a folder (accepted: files)")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"reading {path}: Permission denied")


def opened(path: str) -> Any:
    """Opens a path for streaming: copies nothing to the disk, and keeps little of it in memory."""
    if not is_remote(path):
        return open(path, "rb", buffering=0)
    return fsspec_of(path).open(path, "rb", cache_type="readahead", block_size=BLOCK_BYTES)


def fsspec_of(path: str) -> Any:
    """Returns the file system of an address."""
    try:
        import fsspec
    except ImportError:
        raise ValueError(
            f"{path}: an address needs fsspec (accepted: a local path; pip install 'tinygram[remote]')"
        ) from None
    with reading(path):
        try:
            return fsspec.core.url_to_fs(path)[0]
        except (ImportError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turns any exception of a file system into one line that names the path; each has its own exceptions."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        kinds = (FileNotFoundError, PermissionError)
        kind = next((kind for kind in kinds if isinstance(error, kind)), OSError)
        raise kind(f"reading {path}: {line}") from None


def joined(value: Iterable[Any]) -> str:
    return ",".join(str(one) for one in value)


class Kept:
    """The caller's open file, which is read but not closed."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def read(self, size: int) -> bytes:
        return bytes(self.file.read(size))

    def close(self) -> None:
        pass


#: How many bytes are requested at a time over a network.
BLOCK_BYTES = 4 << 20

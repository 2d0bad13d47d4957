"""How a table shows itself in a notebook."""

from __future__ import annotations

import html as escaping
from typing import Any

#: A table with more rows says how many it has.
ROWS = 20


def html(table: Any) -> str:
    """Returns the first rows as a table of HTML, with everything escaped that came from a capture or a log."""
    try:
        import pyarrow as pa
    except ImportError:
        return f"<code>{escaping.escape(repr(table))}</code>"
    heads = "".join(f"<th>{escaping.escape(name)}</th>" for name in table.column_names)
    first = pa.table(table).slice(0, ROWS).to_pylist()
    rows = "".join("<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>" for row in first)
    more = f"<p>{len(table) - ROWS} more rows</p>" if len(table) > ROWS else ""
    caption = escaping.escape(f"{table.schema_id}: {table.about}")
    return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"<td>{escaping.escape(shown)}</td>"

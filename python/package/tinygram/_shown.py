"""How tables show themselves: as text, and in a notebook."""

from __future__ import annotations

import html as escaping
from typing import Any

#: A table with more rows says how many it has.
ROWS = 20


def text(table: Any) -> str:
    """Returns the first rows, a line each, beneath what the table is."""
    lines = [f"{table!r}: {table.about}"]
    lines += [", ".join(f"{name}={_plain(value)}" for name, value in row.items()) for row in table.rows(ROWS)]
    if len(table) > ROWS:
        lines.append(f"... and {len(table) - ROWS} more (rows() has all)")
    return "\n".join(lines)


def diagnosis(seen: Any) -> str:
    """Returns what was found in each capture, a line each, and how to come to the rows."""
    lines = []
    for row in seen.verdict:
        why = f" ({', '.join(row['obstacles'])})" if row["obstacles"] else ""
        lines.append(
            f"{_plain(row['capture'])}: {row['result']}{why}: {row['stalls']} stalls cost {_plain(row['cost_ms'])} ms, "
            f"{row['floods']} floods, in {row['connections']} connections with {row['segments']} segments"
        )
    lines.append("rows: .findings, .connections, .ruled_out, .verdict; each can be iterated over (for row in seen.findings)")
    return "\n".join(lines)


def html(table: Any) -> str:
    """Returns the first rows as a table of HTML, with everything escaped that came from a capture or a log."""
    heads = "".join(f"<th>{escaping.escape(name)}</th>" for name in table.column_names)
    first = table.rows(ROWS)
    rows = "".join("<tr>" + "".join(_cell(value) for value in row.values()) + "</tr>" for row in first)
    more = f"<p>{len(table) - ROWS} more rows</p>" if len(table) > ROWS else ""
    caption = escaping.escape(f"{table.schema_id}: {table.about}")
    return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"<td>{escaping.escape(shown)}</td>"


def _plain(value: Any) -> str:
    """Returns a value in one line that acts on no terminal: names in it were chosen by others."""
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in shown)

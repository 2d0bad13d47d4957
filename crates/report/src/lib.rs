//! Rows in; text, JSON, CSV, Markdown, SVG and HTML out.

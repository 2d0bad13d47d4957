"""The library of `record.py`: how a pattern is played, logged and captured; `patterns` has the patterns."""

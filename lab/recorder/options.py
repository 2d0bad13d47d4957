"""Socket options whose numbers Python's module does not have."""

TCP_QUICKACK = 12
TCP_CONGESTION = 13
TCP_DELACK_MAX_US = 46

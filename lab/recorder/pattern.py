"""The patterns by name, in the order in which they are recorded."""

PATTERNS, RARE = {}, set()


def pattern(kind=None, at="a", truth="late", rare=False, **lab):
    """Registers a pattern: the kind its stalls are, where it is captured, how its lab is built,
    and how the truth follows from the log ("late" parts, those held for a "round-trip", or "none").
    The rare kinds, and what only seems to be one of them, are kept in a folder of their own."""

    def register(function):
        name = function.__name__.replace("_", "-")
        PATTERNS[name] = (function, kind, at, truth, lab)
        if rare:
            RARE.add(name)
        return function

    return register

WWR = "write-write-read"

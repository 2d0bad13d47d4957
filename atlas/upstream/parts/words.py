"""What all parts of the measurement share."""


class Unusable(Exception):
    """Something that this measurement needs cannot be had; the text says what."""

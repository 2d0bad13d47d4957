"""The command line as a script of the wheel."""

import signal
import sys

from tinygram import _native


def main() -> None:
    # Python only notes a Ctrl-C and would act on it when the program is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.main(["tinygram", *sys.argv[1:]]))


if __name__ == "__main__":
    main()

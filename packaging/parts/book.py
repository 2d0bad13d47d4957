"""What the program names and packages carry: the book, the atlas' pages, and what places the lines of `watch --sites`.

Its help says "the book: pods" for book/src/mend/pods.md, and `diagnose` names pages of the atlas; the paths in packages are the checkout's.
"""

import re

from .common import PROJECT, output


def carried():
    """The files, by their paths in a package's folder of documents."""
    files = [*(PROJECT / "book/src").rglob("*"), *(PROJECT / "atlas/pages").glob("*.md"), PROJECT / "contrib/lint/annotate"]
    return {str(file.relative_to(PROJECT)): file for file in sorted(files) if file.is_file() and "__pycache__" not in file.parts}


def check(program, verbs):
    """Refuses a program whose help names a page of the book that no package carries."""
    names = {part for path in carried() for part in path.removesuffix(".md").split("/")}
    helps = " ".join(output([program, verb, "--help"]) for verb in verbs)
    cited = set(re.findall(r"the\s+book:\s+([a-z-]+)", helps))
    if not cited or cited - names:
        raise SystemExit(f"{program} --help: cites {', '.join(sorted(cited)) or 'no page'} of the book; carried are {', '.join(sorted(names))}")

"""The atlas' page, which can be sorted and filtered and needs nothing but itself, and a page for each entry. Both look as report's pages do."""
import html, pathlib, re, statistics

STYLE = pathlib.Path(__file__).resolve().parents[2] / "crates/report/src/page/page.css"
#: Its columns: the head, whether it is a number, and what is in it, of a line and the trial that it is of.
FIGURES = ["p50 ms", "p99 ms"]
CHOICES = ["family", "language", "side", "verdict"]
TONES = {"stalls": "bad", "waits a round trip": "odd", "failed": "odd", "instruments disagree": "odd"}
LINK = re.compile(r"\b(https://[^\s,;)]+)|\b([\w.-]+/[\w.-]+)#(\d+)")


def whole(told, lines, folder):
    """The page of all lines. `folder` has the entries' pages, as the page's links say it; None where there are none."""
    heads = ["program", *CHOICES[:3], "conversation", "verdict", *FIGURES, "segments", "fewest", "p50 at 1 ms", "p50 at 20 ms", "NODELAY",
             "NODELAY: p50", "its segments", "run: p50", "its segments", "by its option", "cure", "set by", "line", "known", "repeat"]
    head = "".join(f'<th scope="col"{right(name)}><button type="button">{html.escape(name)}</button></th>' for name in heads)
    body = "".join(row_of(line, heads, folder) for line in lines)
    choices = "".join(choice(name, lines) for name in CHOICES)
    text = re.sub("`(.+?)`", r"<i>\1</i>", html.escape(told))
    return document("What servers and clients do with small writes, as shipped", WHOLE.format(told=text, choices=choices, head=head, body=body), SCRIPT)


def row_of(line, heads, folder):
    cells = [cell(name, value, line) for name, value in zip(heads, values(line))]
    name = html.escape(f"{line['program']} {line['version']}")
    if folder is not None:
        name = f'<a href="{html.escape(folder)}/{html.escape(line["id"])}.html">{name}</a>'
    told = "".join(f' data-{choice}="{html.escape(str(line[choice]))}"' for choice in CHOICES)
    return f'<tr{told}><th scope="row">{name}</th>{"".join(cells[1:])}</tr>\n'


def values(line):
    segments, _, fewest = line["segments (fewest)"].partition(" ")
    changes = [figure for change in ["with NODELAY", "under run"] for figure in figures_of(line[change])]
    plain = [line[name].split(" ")[0] for name in ["p50 at 1 ms", "p50 at 20 ms"]]
    return [line["program"], *(line[name] for name in CHOICES[:3]), line["conversation"], line["verdict"], *(line[name] for name in FIGURES), segments, fewest.strip("()"),
            *plain, line["NODELAY, cork"].split(",")[0], *changes, line["by its option"], line["cure"], line["set by"], line["line"], line["known"],
            f"atlas/run --only {line['id']} --again"]


def figures_of(text):
    """Median and segments of a change, as two numbers; what is no figure stands in the first."""
    found = re.fullmatch(r"([\d.]+) ms, ([\d.]+) segments", text)
    return found.groups() if found else (text, "")


def cell(name, value, line):
    text = html.escape(str(value))
    if name == "verdict":
        return f'<td data-tone="{TONES[value]}">{text}</td>' if value in TONES else f"<td>{text}</td>"
    if name == "known":
        return f"<td>{linked(value)}</td>"
    if name in ("line", "repeat"):
        return f"<td><code>{text}</code></td>" if text else "<td></td>"
    return f"<td{right(name)}>{text}</td>"


def right(name):
    return ' class="right"' if any(word in name for word in ["p50", "p99", "segments", "fewest"]) else ""


def linked(text):
    """What is known, with the threads that it names as links."""
    def link(found):
        address = found[1] or f"https://github.com/{found[2]}/issues/{found[3]}"
        return f'<a href="{address}">{found[0]}</a>'
    return LINK.sub(link, html.escape(text))


def choice(name, lines):
    options = "".join(f"<option>{html.escape(value)}</option>" for value in sorted({str(line[name]) for line in lines}))
    return f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>\n'


def entry(row, lines, columns, picture):
    """The page of an entry: what it is, its conversations, how to repeat it, and the pictures of its capture."""
    name = f"{row['name']} {row['version'] or ''}".strip()
    load = [trial["load_1_min"] for one in row.get("conversations", []) for trial in one["trials"] if "load_1_min" in trial]
    facts = {"Family": row["family"], "Language": row["language"], "Side": row["side"], "Started as": row["documented"], "Known reports": ", ".join(row["known"]),
             "Packages": ", ".join(row.get("packages", [])), "Measured": f"{row['date']}, kernel {row['kernel']}" + (f", a load of {statistics.median(load):.1f}" if load else "")}
    told = "".join(f"<dt>{key}</dt><dd>{linked(value)}</dd>" for key, value in facts.items() if value)
    repeat = f"sudo atlas/run --only {row['id']} --again"
    shown = (f'<h2>Its capture with the worst median</h2><p class="note"><a href="{html.escape(picture)}">The page alone</a>: time-sequence pictures and findings.</p>'
             f'<iframe src="{html.escape(picture)}" title="The capture" width="100%" height="1000"></iframe>' if picture else "<p>No capture is at hand.</p>")
    return document(name, f'<p class="lead">{html.escape("; ".join(verdict_of(line) for line in lines))}</p><dl>{told}</dl>'
                          f'<h2>Repeat it</h2><pre>{html.escape(repeat)}</pre>{"".join(section(line, columns) for line in lines)}{shown}')


def verdict_of(line):
    return f"{line['conversation']}: {line['verdict']}"


def section(line, columns):
    rows = "".join(f'<tr><th scope="row">{html.escape(name)}</th><td>{linked(str(line[name]))}</td></tr>' for name in columns if line[name])
    return f'<h2>{html.escape(verdict_of(line))}</h2><div class="scroll words"><table><tbody>{rows}</tbody></table></div>'


def document(title, body, script=""):
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-src 'self' file:; img-src data:"
    ended = f"<script>{script}</script>" if script else ""
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">\n'
            f"<title>{html.escape(title)}</title>\n<style>{STYLE.read_text()}{OWN}</style></head>\n<body><main><header><h1>{html.escape(title)}</h1></header>\n{body}</main>{ended}</body></html>\n")


OWN = """
main { max-width: none; }
iframe { border: 1px solid var(--rule); border-radius: 8px; }
th, td { vertical-align: top; }
.all td:not(.right) { min-width: 7.5em; max-width: 24em; overflow-wrap: anywhere; }
.all td:nth-child(5) { min-width: 20em; }
.all td:nth-last-child(-n+6) { min-width: 16em; }
.words td { max-width: none !important; }
thead th { position: sticky; top: 0; z-index: 2; white-space: normal; vertical-align: bottom; }
thead th:first-child { z-index: 3; }
.scroll.all { max-height: 85vh; overflow: auto; }
thead button { all: unset; cursor: pointer; }
thead button:focus-visible { outline: 2px solid var(--focus); }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
.filter { margin: 20px 0 12px; }
.filter select { font: inherit; color: var(--ink); background: var(--shade); border: 1px solid var(--rule); border-radius: 6px; padding: 4px; }
"""
WHOLE = """<p class="lead">{told}</p>
<div class="filter"><label for="words">Show</label><input id="words" type="search" placeholder="words, all of which must match">
{choices}<output id="shown"></output> <span>A click on a head sorts.</span></div>
<div class="scroll all"><table><thead><tr>{head}</tr></thead><tbody>
{body}</tbody></table></div>
"""
SCRIPT = """
const body = document.querySelector('tbody'), rows = [...body.rows], words = document.querySelector('#words');
const choices = [...document.querySelectorAll('select')];
function show() {
  const wanted = words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !wanted.every(word => text.includes(word)) || choices.some(one => one.value && row.dataset[one.name] !== one.value);
  }
  document.querySelector('#shown').value = `${rows.filter(row => !row.hidden).length} of ${rows.length}`;
}
words.addEventListener('input', show);
for (const one of choices) one.addEventListener('input', show);
const collator = new Intl.Collator('en', { numeric: true });
function order(one, other) {
  // A field without a figure comes last, whichever way it is sorted.
  if (!one || !other) return one ? -1 : other ? 1 : 0;
  const figures = [Number(one), Number(other)];
  return figures.some(Number.isNaN) ? collator.compare(one, other) : figures[0] - figures[1];
}
document.querySelectorAll('thead th').forEach((head, column) => head.firstChild.addEventListener('click', () => {
  const up = head.getAttribute('aria-sort') !== 'ascending';
  document.querySelectorAll('thead th').forEach(other => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const text = row => row.cells[column].textContent;
  rows.sort((one, other) => (up || !text(one) || !text(other) ? 1 : -1) * order(text(one), text(other)));
  body.append(...rows);
}));
show();
"""

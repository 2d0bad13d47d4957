"""Ratios kept over time: a file of JSON lines that every measurement adds to and `lab/history` shows."""
import json, os, platform, subprocess, time

from .programs import PROFILE, ROOT


def add_option(parser):
    parser.add_argument("--history", metavar="FILE", help="add the ratios to this file; lab/history shows it")


def keep(file, measurement, ratios):
    """Adds {(row, figure): Ratios} of one measurement."""
    if not file:
        return
    said = lambda *words: subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    changed = "+" if said("git", "status", "--porcelain", "--untracked-files=no") else ""
    of_all = {
        "schema": "tinygram.lab/1", "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": said("git", "rev-parse", "--short", "HEAD") + changed, "profile": PROFILE, "machine": machine(),
        "measurement": measurement,
    }
    with open(file, "a") as lines:
        for (row, figure), of_row in ratios.items():
            of_row = {"row": row, "figure": figure, "pairs": of_row.pairs, "ratio": of_row.median, "low": of_row.low, "high": of_row.high}
            lines.write(json.dumps({**of_all, **of_row}) + "\n")


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} processors ({model}), Linux {platform.release()}, load average {os.getloadavg()[0]:.2f}"

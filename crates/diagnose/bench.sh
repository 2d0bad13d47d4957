#!/usr/bin/env bash
# Packets a second and memory of `tinygram diagnose` beside tcptrace and tshark, over the same
# capture, in one run: each on one core, and each with all cores of the machine. Then the analysis alone on one thread and
# on two: medians of ten runs in turn. Prints a Markdown table with the ratios, and whether each goal is met (one core: 4
# times tcptrace and 65 times tshark; 64 MiB; two cores 1.8 times one). Once built, it takes some three minutes.
#
#     crates/diagnose/bench.sh [PACKETS] [CONNECTIONS] [ROUNDS]
#
# Needs tcptrace, tshark, GNU time and taskset (Debian: tcptrace tshark time util-linux).
# Each program runs ROUNDS times each way (tshark once). Of one core the least user + system time
# counts, for this machine may be shared; of all cores the least time from start to end.
set -euo pipefail
cd "$(dirname "$0")/../.."

packets=${1:-4000000} connections=${2:-25000} rounds=${3:-5}
for tool in tcptrace tshark taskset /usr/bin/time; do
    command -v "$tool" >/dev/null || { echo "bench: $tool is missing (apt-get install tcptrace tshark time)" >&2; exit 2; }
done
cargo build --profile dist --quiet
cargo build --profile dist --quiet -p tinygram-diagnose --example many_connections --example on_cores
built=${CARGO_TARGET_DIR:-target}/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
capture=$work/capture.pcap
$built/examples/many_connections "$capture" "$packets" "$connections"
cat "$capture" >/dev/null # into the page cache, for all alike

# best NAME ROUNDS COMMAND...: "seconds KiB elapsed" of the fastest rounds
best() {
    local name=$1 rounds=$2
    shift 2
    for _ in $(seq "$rounds"); do
        /usr/bin/time -o "$work/$name.one" -a -f '%U %S %M' taskset -c 0 "$@" >/dev/null 2>&1
        /usr/bin/time -o "$work/$name.all" -a -f '%e' "$@" >/dev/null 2>&1
    done
    awk '{ s = $1 + $2; if (NR == 1 || s < least) least = s; if ($3 > most) most = $3 }
         END { printf("%s %s ", least, most) }' "$work/$name.one"
    sort -n "$work/$name.all" | head -1
}

load=$(cut -d' ' -f1 /proc/loadavg)
ours=$(best tinygram "$rounds" "$built/tinygram" diagnose --json "$capture")
theirs=$(best tcptrace "$rounds" tcptrace -n "$capture")
shark=$(best tshark 1 tshark -n -q -z conv,tcp -r "$capture")
found=$($built/tinygram diagnose --json "$capture" |
    python3 -c 'import json,sys; s = json.load(sys.stdin)["summary"]; print(s["segments"], s["stalls"], s["connections"])')

awk -v packets="$packets" -v ours="$ours" -v theirs="$theirs" -v shark="$shark" -v found="$found" '
function row(name, figures,    f) {
    split(figures, f, " ")
    printf("| %s | %.2f | %.1f | %.0f | %.2f | %.1f |\n", name, packets / f[1] / 1e6, f[1] / o[1],
           f[2] / 1024, packets / f[3] / 1e6, f[3] / o[3])
}
BEGIN {
    split(ours, o, " "); split(found, n, " ")
    printf "%d packets, %d connections, %d stalls found\n\n", n[1], n[3], n[2]
    print "| program | one core: M packets/s | tinygram is faster by | MiB | all cores: M packets/s | tinygram is faster by |"
    print "|---|---|---|---|---|---|"
    row("tinygram diagnose", ours); row("tcptrace", theirs); row("tshark", shark)
    split(theirs, t, " "); split(shark, s, " ")
    goal("4 times tcptrace on one core", t[1] / o[1], 4); goal("65 times tshark on one core", s[1] / o[1], 65)
    printf "%s: below 64 MiB: %.0f\n", (o[2] / 1024 < 64 ? "met" : "NOT MET"), o[2] / 1024
}
function goal(what, is, least) { printf "%s%s: %.2f\n", (is >= least ? "\nmet: " : "\nNOT MET: "), what, is }'

# The analysis alone, in turn, so that what else the machine does meets both alike.
"$built/examples/on_cores" "$capture" 10 1 2 |
    awk '{ n[$1]++; all[$1, n[$1]] = $3 }
    function median(of,    i, j, x) {
        for (i = 1; i <= n[of]; i++) for (j = i + 1; j <= n[of]; j++)
            if (all[of, j] < all[of, i]) { x = all[of, i]; all[of, i] = all[of, j]; all[of, j] = x }
        return (all[of, int((n[of] + 1) / 2)] + all[of, int(n[of] / 2) + 1]) / 2
    }
    END {
        one = median(1); two = median(2)
        printf "%s: two cores 1.8 times one: %.2f (%.3f s and %.3f s, medians of %d)\n",
            (one / two >= 1.8 ? "met" : "NOT MET"), one / two, one, two, n[1]
    }'
echo "load before: $load"

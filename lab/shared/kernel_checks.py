"""What lab/kernels tries on a kernel. It is copied into the guest and runs there as root, beside tinygram and slow.py:

    python3 kernel_checks.py CHECK

prints "yes", or "no: " with the line that tinygram said. What is wrong is an AssertionError.
"""
import contextlib, os, pathlib, random, re, signal, subprocess, sys, time

TINYGRAM = os.path.abspath("tinygram")
PORT = 8080
# Two writes wait for a delayed ACK of 40 ms; an emulated processor adds milliseconds to every exchange.
STALLED_MS, FREE_MS = 35, 25
CHECKS = {}
# Holds connections to itself while others come and go, and says upon each line of its input how many have TCP_NODELAY.
CROWD = """
import resource, socket, sys, threading
resource.setrlimit(resource.RLIMIT_NOFILE, (10000, 10000))
port, held, churns = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "churns"
listener = socket.create_server(("127.0.0.1", port), backlog=1000)
def both():
    near = socket.create_connection(("127.0.0.1", port))
    return near, listener.accept()[0]
stay = [both() for _ in range(held)]
def churn():
    while True:
        for end in both():
            end.close()
if churns:
    threading.Thread(target=churn, daemon=True).start()
print("ready", flush=True)
for _ in sys.stdin:
    print(sum(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0 for pair in stay for end in pair), flush=True)
"""
# Asks over one connection for ever, and writes how long each answer took.
ASKS_ON = """
import socket, sys, time
sys.path.insert(0, "/root")
import slow
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    while True:
        print(slow.ask(connection), flush=True)
        time.sleep(0.002)
"""
# The same over HTTP.
GETS_ON = """
import socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    while True:
        began, answer = time.monotonic(), b""
        connection.sendall(b"GET / HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n")
        while len(answer.partition(b"\\r\\n\\r\\n")[2]) < 400:
            answer += connection.recv(65536)
        print((time.monotonic() - began) * 1000, flush=True)
        time.sleep(0.002)
"""


def check(function):
    CHECKS[function.__name__] = function
    return function


@check
def watch():
    """`watch`: the stall, its process and its line."""
    with service():
        done = tinygram("watch", "--once", "8s", str(PORT))
        if "reading packets" in done[1]:
            # Packets do not tell the line of a program.
            saw(done, "write-write-read", "python3")
            return "packets, as it says"
        return saw(done, "write-write-read", "python3", "slow.py:27")


@check
def watch_packets():
    """`watch --source packets`."""
    with service():
        return saw(tinygram("watch", "--source", "packets", "-i", "lo", "--once", "8s", str(PORT)), "write-write-read")


@check
def ps():
    """`ps`."""
    with service():
        return saw(tinygram("ps", str(PORT)), str(PORT), "python3")


@check
def set_nodelay():
    """`set nodelay=on`, `--list`, `--undo`: by the client's own clock."""
    with service() as asks:
        asks.must_stall()
        return changed(asks, "nodelay=on", str(PORT))


@check
def set_follow():
    """`set --follow`: connections to come, until it ends."""
    with service():
        follower = subprocess.Popen([TINYGRAM, "set", "nodelay=on", str(PORT), "--follow"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = follower.stdout.readline()
        if said.startswith("tinygram: "):
            return refusal(follower.wait(), said)
        until(lambda: median_of_new() < FREE_MS, 60, f"connections to come stall: {said}")
        follower.send_signal(signal.SIGINT)
        follower.communicate()
        assert median_of_new() > STALLED_MS, "it ended, and connections to come do not stall"
        return "yes"


@check
def set_others():
    """`set congestion=reno delack-max=8ms notsent-lowat=16K`, and back."""
    with service():
        done = tinygram("set", "congestion=reno", "delack-max=8ms", "notsent-lowat=16K", str(PORT))
        return done_and_undone(done)


@check
def set_unit():
    """`set` of a systemd unit, and of its control group."""
    with unit():
        for target in ["slow.service", "/sys/fs/cgroup/system.slice/slow.service"]:
            with AsksOn(PORT) as asks:
                asks.must_stall()
                said = changed(asks, "nodelay=on", target)
                if said != "yes":
                    return said
        return "yes"


@check
def set_pingpong():
    """`set pingpong=3`, and back."""
    with service() as asks:
        return done_and_undone(tinygram("set", "pingpong=3", str(asks.process.pid)))


@check
def set_while_sockets_come_and_go():
    """`set` while sockets come and go: none of 300 that stay is left out."""
    with crowd(150, "churns") as ask:
        for _ in range(5):
            code, said = tinygram("set", "nodelay=on", str(PORT))
            if code == 2 and not int(ask()):
                return refusal(code, said)
            assert int(ask()) == 300, f"{ask()} of 300 are set: {said}"
            code, said = tinygram("set", "--undo")
            assert code == 0 and int(ask()) == 0, f"{ask()} of 300 are still set: {said}"
    return "yes"


@check
def killed_in_a_sweep():
    """kill -9 while `set` sweeps 4,000 sockets, 20 times, then `--undo`: nothing is left."""
    random.seed(33)
    with crowd(2000, "stays") as ask:
        code, said = tinygram("set", "nodelay=on", str(PORT))
        if code == 2:
            return refusal(code, said)
        assert int(ask()) == 4000, said
        tinygram("set", "--undo")
        partly = 0
        for _ in range(20):
            written = journal_size()
            doing = subprocess.Popen([TINYGRAM, "set", "nodelay=on", str(PORT)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while journal_size() == written and doing.poll() is None:
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.2))
            doing.kill()
            doing.wait()
            partly += 0 < int(ask()) < 4000
            code, said = tinygram("set", "--undo")
            assert int(ask()) == 0, f"{ask()} of 4,000 are still set: {said}"
    return f"yes ({partly} of 20 times a part was set)"


@check
def cure_dry_run():
    """`cure --dry-run`."""
    with service():
        return saw(tinygram("cure", "--dry-run", "--look", "8s", str(PORT)), "nodelay")


@check
def cure():
    """`cure`: kept, and put back; by the client's own clock."""
    with service() as asks:
        asks.must_stall()
        code, said = tinygram("cure", "--look", "8s", str(PORT))
        if code == 2:
            return refusal(code, said)
        assert code == 0, said
        until(lambda: asks.median() < FREE_MS, 60, f"it still stalls: {said}")
        code, said = tinygram("set", "--undo")
        assert code == 0, said
        until(lambda: asks.median() > STALLED_MS, 60, f"undone, and it does not stall: {said}")
    return "yes"


@check
def whatif():
    """`whatif nodelay=on` of live connections."""
    with service():
        code, said = tinygram("whatif", "nodelay=on", str(PORT))
        if code == 2:
            return refusal(code, said)
        return "cannot tell" if code == 3 else saw((code, said), "p50")


@check
def run():
    """`run`: a Python server's two writes become one segment."""
    with service(TINYGRAM, "run", "--eager", "--") as asks:
        until(lambda: asks.median() < FREE_MS, 60, "under run it stalls")
    return "yes"


@check
def run_go():
    """`run` of a static Go program: its two writes become one segment."""
    if not os.path.exists("pages"):
        return "skipped: Go is not installed where the guest was started"
    with pages(TINYGRAM, "run", "--") as (_, asks):
        until(lambda: asks.median() < FREE_MS, 60, "under run it stalls")
    return "yes"


@check
def attach_go():
    """`run --attach` to a static Go program, and `--detach`."""
    if not os.path.exists("pages"):
        return "skipped: Go is not installed where the guest was started"
    with pages() as (server, asks):
        asks.must_stall()
        code, said = tinygram("run", "--attach", str(server.pid))
        if code == 2:
            return refusal(code, said)
        until(lambda: asks.median() < FREE_MS, 60, f"it still stalls: {said}")
        code, said = tinygram("run", "--detach", str(server.pid))
        assert code == 0, said
        until(lambda: asks.median() > STALLED_MS, 60, f"detached it does not stall: {said}")
    return "yes"


@check
def install_unit():
    """`install --unit`: the drop-in, after a restart; `--remove`."""
    with unit():
        code, said = tinygram("install", "--unit", "slow.service")
        if code == 2:
            return refusal(code, said)
        system("systemctl daemon-reload && systemctl restart slow.service")
        until(lambda: median_of_new() < FREE_MS, 60, f"with the drop-in it stalls: {said}")
        code, said = tinygram("install", "--remove")
        assert code == 0, said
        system("systemctl daemon-reload && systemctl restart slow.service")
        until(lambda: median_of_new() > STALLED_MS, 60, f"without the drop-in it does not stall: {said}")
    return "yes"


@check
def install_cure():
    """`install --cure`: verified, started, cures, is stopped; `--remove`."""
    with service() as asks:
        asks.must_stall()
        code, said = tinygram("install", "--cure", str(PORT), "--program", TINYGRAM)
        if code == 2:
            return refusal(code, said)
        name = f"tinygram-cure-{PORT}.service"
        system(f"systemd-analyze verify --man=no {name} && systemctl daemon-reload && systemctl start {name}")
        try:
            until(lambda: asks.median() < FREE_MS or state(name) != "active", 180, "the service cures nothing")
            if state(name) != "active":
                return "no: the service ends: " + system(f"journalctl -q -o cat -u {name} | grep tinygram | head -n 1", check=False)
            system(f"systemctl stop {name}")
            until(lambda: asks.median() > STALLED_MS, 60, "stopped, and it does not stall")
        finally:
            tinygram("install", "--remove")
    assert not list(pathlib.Path("/etc/systemd/system").glob("tinygram-*")), "--remove left a unit"
    return "yes"


@check
def container():
    """A podman container by its name: `ps`, `watch`, `set`."""
    box = pathlib.Path("/root/box")
    for folder in ["usr", "proc", "sys", "dev", "etc", "run", "tmp", "srv"]:
        (box / folder).mkdir(parents=True, exist_ok=True)
    for name in ["bin", "lib", "lib64"]:
        if not (box / name).is_symlink():
            (box / name).symlink_to(f"usr/{name}")
    started = subprocess.run(["podman", "run", "--detach", "--name", "shop", "--network", "host", "--volume", "/usr:/usr:ro", "--volume", "/root:/srv:ro",
                              "--rootfs", box, "python3", "/srv/slow.py", "serve", str(PORT)], capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    try:
        until(lambda: subprocess.run(["python3", "slow.py", "ask", str(PORT)], capture_output=True).returncode == 0, 60, "podman's service does not answer")
        with AsksOn(PORT) as asks:
            asks.must_stall()
            for words in [["ps", "shop"], ["watch", "--once", "8s", "shop"]]:
                code, said = tinygram(*words)
                if code == 2:
                    return refusal(code, said)
                assert "python3" in said and "shop" in said, said
            return changed(asks, "nodelay=on", "shop")
    finally:
        subprocess.run(["podman", "rm", "--force", "--time", "0", "shop"], capture_output=True)


@check
def bpf():
    """`bpf --policy strict-nagle` with CUBIC, Reno and BBR: a server with TCP_NODELAY stalls, and without it does not."""
    nodelay = ["--nodelay"]
    with service(options=nodelay) as asks:
        assert asks.median() < FREE_MS, "with TCP_NODELAY it stalls"
    done = {}
    for base in ["cubic", "reno", "bbr"]:
        code, said = tinygram("bpf", "--policy", "strict-nagle", "--base", base, "--", "true")
        if code == 2:
            done[base] = refusal(code, said)
            continue
        with service(TINYGRAM, "bpf", "--policy", "strict-nagle", "--base", base, "--", options=nodelay) as asks:
            asks.must_stall()
            done[base] = "yes"
    return done["cubic"] if len(set(done.values())) == 1 else ", ".join(f"{base}: {said}" for base, said in done.items())


@check
def naglemark_bpf():
    """`naglemark --backend bpf`."""
    return measured("bpf")


@check
def naglemark_kernel():
    """`naglemark --backend kernel`."""
    return measured("kernel")


@check
def reboot():
    """After the machine is started anew nothing is in force, and `--list` and `--undo` say so."""
    if sys.argv[2:] == ["again"]:
        code, said = tinygram("set", "--list")
        assert code == 0 and "nothing" in said.lower() or "no change" in said.lower(), said
        code, said = tinygram("set", "--undo")
        assert code in (0, 1), said
        return "yes"
    with service():
        doing = subprocess.Popen([TINYGRAM, "set", "nodelay=on", str(PORT), "--for", "10m"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = doing.stdout.readline()
        time.sleep(5)
        if doing.poll() == 2:
            return refusal(2, said)
        doing.kill()
    system("sync")
    return "again after a reboot"


class AsksOn:
    """A client that asks over one connection for ever."""

    def __init__(self, port, client=ASKS_ON):
        self.answers = open("/tmp/answers", "w+")
        self.process = subprocess.Popen([sys.executable, "-c", client, str(port)], stdout=self.answers, stderr=subprocess.DEVNULL)

    def median(self, of=15):
        """Of the next answers, in milliseconds."""
        time.sleep(0.5)
        at = len(self.lines())
        until(lambda: len(self.lines()) >= at + of, 60, "the client gets no answers")
        return sorted(self.lines()[at:])[of // 2]

    def lines(self):
        return [float(line) for line in pathlib.Path("/tmp/answers").read_text().split("\n")[:-1]]

    def must_stall(self):
        took = self.median()
        assert took > STALLED_MS, f"the service does not stall: {took:.1f} ms"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)


@contextlib.contextmanager
def service(*covered_by, options=()):
    """The slow service with a client that asks on."""
    server = subprocess.Popen([*covered_by, "python3", "slow.py", "serve", str(PORT), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(), 60, "the service does not listen")
        with AsksOn(PORT) as asks:
            until(asks.lines, 60, "the client gets no answer")
            yield asks
    finally:
        end(server)


@contextlib.contextmanager
def pages(*covered_by):
    """The Go server (lab/servers/pages.go) with a client that asks on."""
    server = subprocess.Popen([*covered_by, "./pages", str(PORT)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(), 60, "the Go server does not listen")
        with AsksOn(PORT, GETS_ON) as asks:
            until(asks.lines, 60, "the client gets no answer")
            yield server, asks
    finally:
        end(server)


@contextlib.contextmanager
def unit():
    """The slow service as a unit."""
    file = pathlib.Path("/etc/systemd/system/slow.service")
    file.write_text(f"[Service]\nExecStart=/usr/bin/python3 /root/slow.py serve {PORT}\n")
    system("systemctl daemon-reload && systemctl start slow.service")
    try:
        until(lambda: listens(), 60, "the unit does not listen")
        yield
    finally:
        system("systemctl stop slow.service", check=False)
        file.unlink()
        system("systemctl daemon-reload")


@contextlib.contextmanager
def crowd(held, what):
    """Connections that stay, and a function that asks how many of their ends have TCP_NODELAY."""
    process = subprocess.Popen([sys.executable, "-c", CROWD, str(PORT), str(held), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask():
        process.stdin.write("\n")
        process.stdin.flush()
        return process.stdout.readline()

    try:
        assert process.stdout.readline() == "ready\n"
        yield ask
    finally:
        end(process)


def tinygram(*words):
    """The exit code and all that it says."""
    done = subprocess.run([TINYGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    return done.returncode, done.stdout


def saw(done, *texts):
    code, said = done
    if code == 2:
        return refusal(code, said)
    missing = [text for text in texts if text not in said]
    assert not missing, f"{missing} is not in: {said}"
    return "yes"


def refusal(code, said):
    """What is refused takes one line, after the one that says what was found."""
    lines = said.strip().splitlines()
    assert code == 2 and 1 <= len(lines) <= 2, f"exit code {code}: {said}"
    return "no: " + lines[-1].strip().removeprefix("tinygram: ")


def changed(asks, option, target):
    """Sets an option that ends the stalls, and puts it back; the client's clock tells."""
    code, said = tinygram("set", option, target)
    if code == 2:
        return refusal(code, said)
    assert code == 0, said
    until(lambda: asks.median() < FREE_MS, 60, f"it still stalls: {said}")
    code, listed = tinygram("set", "--list")
    assert code == 0 and option.split("=")[0] in listed, listed
    code, said = tinygram("set", "--undo")
    assert code == 0, said
    until(lambda: asks.median() > STALLED_MS, 60, f"undone, and it does not stall: {said}")
    return "yes"


def done_and_undone(done):
    code, said = done
    if code == 2:
        return refusal(code, said)
    assert code == 0, said
    code, said = tinygram("set", "--undo")
    assert code == 0, said
    return "yes"


def measured(backend):
    """The paper's benchmark on the kernel's sockets: its table has rows."""
    code, said = tinygram("naglemark", "--backend", backend, "--trial", "S", "--lengths", "100..1000/300", "--repetitions", "1")
    return saw((code, said), "segs")


def median_of_new():
    """The median of 20 requests over a new connection, in milliseconds."""
    said = subprocess.run(["python3", "slow.py", "ask", str(PORT)], capture_output=True, text=True).stdout
    found = re.search(r"median ([0-9.]+) ms", said)
    return float(found[1]) if found else float("nan")


def journal_size():
    try:
        return os.stat("/var/lib/tinygram/journal").st_size
    except FileNotFoundError:
        return 0


def listens():
    return f":{PORT} " in subprocess.run(["ss", "-Htln"], capture_output=True, text=True).stdout


def state(name):
    return subprocess.run(["systemctl", "is-active", name], capture_output=True, text=True).stdout.strip()


def system(command, check=True):
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0 or not check, f"{command}: {done.stdout}"
    return done.stdout.strip()


def until(holds, patience, otherwise):
    """Waits until it holds."""
    ends = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < ends, otherwise
        time.sleep(0.2)


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    os.chdir("/root")
    print(CHECKS[sys.argv[1]]())

"""The servers that lab/run-go measures, and what is asked of each."""
import contextlib, hashlib, os, re, subprocess

from .network import SERVER
from .processes import end, wait_for, write
from .programs import TINYGRAM

PORTS = {"as is": 18080, "run": 18081}


class Row:
    """A server and what is asked of it. `differs` names what two servers may answer differently."""

    def __init__(self, name, program, words, request=b"", hello=None, files=None, differs=rb"Date: [^\r]*", is_alone=False,
                 asked=None, environment=None, normal=None, words_as_is=None, flags=()):
        self.name, self.program, self.request = name, program, request
        # What is compared with the program under `run` may be the program in another form.
        self.words = {"as is": words_as_is or words, "run": words}
        # Whether its connections would get each other's answers, so that there is only one.
        self.is_alone = is_alone
        self.hello, self.files, self.differs = hello, files or {}, re.compile(differs)
        # What is done to the octets of both servers before they are compared, if leaving out `differs` is not enough.
        self.normal = normal or (lambda seen: seen)
        # The words of `frameworks` that ask, where an answer has no octets that can be asked for again and again.
        self.asked = asked
        self.environment = environment or {}
        # Options of `tinygram run`.
        self.flags = flags

    @contextlib.contextmanager
    def server(self, network, mode, options, scratch):
        folder, port = f"{scratch}/{mode.replace(' ', '-')}", PORTS[mode]
        os.makedirs(folder)
        for name, content in self.files.items():
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            write(f"{folder}/{name}", filled(content, folder, port).encode())
        words = [filled(word, folder, port) for word in self.words[mode]]
        command = [f"{os.path.abspath(options.programs)}/{self.program}", *words]
        wrapper = [TINYGRAM, "run", *self.flags, "--"] if mode == "run" else []
        # Standard input stays open: esbuild ends with it.
        process = subprocess.Popen(network.within(0) + wrapper + command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder, **self.environment})
        try:
            wait_for(SERVER, port, network.within(1))
            yield process
        finally:
            end(process)

    def asks(self, network, mode, options, connections, seconds):
        """The command that asks, where the row has one of its own; it writes what it saw as JSON."""
        kind, place = self.asked
        return [*network.within(1), f"{os.path.abspath(options.programs)}/frameworks", kind, filled(place, "", PORTS[mode]),
                str(connections), str(seconds)]


def filled(text, folder, port):
    for name, value in {"folder": folder, "port": str(port), "peer": str(port + 100), "server": SERVER}.items():
        text = text.replace("{" + name + "}", value)
    return text


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode()


def post(path, body):
    return f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def dns(name):
    """A question for an address, as TCP has it (RFC 1035, sections 4.1 and 4.2.2)."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = b"\x12\x34\x01\x00\x00\x01" + bytes(6) + labels + b"\x00\x00\x01\x00\x01"
    return len(question).to_bytes(2, "big") + question


def nsqd(name, queue):
    """A queue of nobody's messages. What does not fit into memory goes through a goroutine that writes a file."""
    return Row(name, "nsqd", ["-tcp-address", "0.0.0.0:{port}", "-http-address", "127.0.0.1:{peer}", "-data-path", "{folder}",
                              "-mem-queue-size", str(queue)],
               b"PUB t\n\x00\x00\x00\x05hello" * 5, hello=b"  V2", differs=rb"(?!)")


def mqtt(kind, body):
    """A packet (MQTT 3.1.1, section 2.2)."""
    return bytes([kind, len(body)]) + body


def etcd(name, program, **more):
    words = ["--data-dir", "{folder}/data", "--listen-client-urls", "http://0.0.0.0:{port}", "--advertise-client-urls",
             "http://{server}:{port}", "--listen-peer-urls", "http://{server}:{peer}", "--initial-advertise-peer-urls",
             "http://{server}:{peer}", "--initial-cluster", "default=http://{server}:{peer}"]
    return Row(name, program, words, post("/v3/kv/range", '{"key":"Zm9v"}'),
               differs=rb'Date: [^\r]*|Content-Length: [^\r]*|"(cluster|member)_id":"\d+"', **more)


def caddy(name, program, path, serves, differs):
    files = {"Caddyfile": f"{{\n admin off\n auto_https off\n}}\nhttp://:{{port}} {{\n root * {{folder}}\n file_server {serves}\n}}\n", **FILES}
    return Row(name, program, ["run", "--config", "{folder}/Caddyfile", "--adapter", "caddyfile"], get(path), files=files, differs=differs)


def ordered(seen):
    """WebDAV's answers with the properties of each file in one order: rclone takes them out of a map, whose order is a new one each
    time. So the chunks, which cut them anywhere, are put together; the sizes of all chunks come last."""
    sizes = re.findall(CHUNK, seen)
    whole = re.sub(CHUNK, b"", seen)
    return re.sub(rb"<D:prop>(.*?)</D:prop>", lambda found: b"".join(sorted(one[0] for one in re.finditer(PROPERTY, found[1]))), whole) \
        + b"".join(sizes)


def nats(name, program):
    # One subscription: to several of one subject a server delivers in an order of its own.
    return Row(name, program, ["-a", "0.0.0.0", "-p", "{port}"], b"PUB a 5\r\nhello\r\n" * 5 + b"PING\r\nPONG\r\n",
               hello=b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB a 1\r\nPING\r\nPONG\r\n',
               differs=rb"INFO [^\r]*\r\n|PING\r\n", is_alone=True)


def prometheus(name, program):
    return Row(name, program, ["--config.file", "{folder}/prometheus.yml", "--storage.tsdb.path", "{folder}/data",
                               "--web.listen-address", "0.0.0.0:{port}"],
               get("/api/v1/query?query=1%2B1&time=1700000000"), files={"prometheus.yml": "{}\n"})


def nginx(name, program):
    configuration = ("daemon off; master_process off; pid {folder}/pid; error_log /dev/null;\nevents { }\nhttp { access_log off; "
                     "server { listen 0.0.0.0:{port}; root {folder}/html; keepalive_requests 1000000000; } }\n")
    return Row(name, program, ["-p", "{folder}/", "-c", "{folder}/nginx.conf"], get("/file-1.txt"),
               files={"nginx.conf": configuration, **{f"html/{file}": content for file, content in FILES.items()}},
               differs=rb"(Date|Last-Modified|ETag): [^\r]*")


def redis(name, program):
    words = ["--port", "{port}", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--dir", "{folder}"]
    # The second answer of three is longer than what redis copies into its buffer.
    return Row(name, program, words, b"GET a\r\nGET b\r\nPING\r\n", hello=b"SET a 1\r\nSET b 2\r\n")


def registry(name, path):
    """With a repository `a` of one blob, in the folders that it keeps them in."""
    data = FILES["file-1.txt"]
    digest = hashlib.sha256(data.encode()).hexdigest()
    there = "registry/docker/registry/v2"
    files = {"registry.yml": REGISTRY, f"{there}/blobs/sha256/{digest[:2]}/{digest}/data": data,
             f"{there}/repositories/a/_layers/sha256/{digest}/link": f"sha256:{digest}"}
    return Row(name, "debian-docker-registry", ["serve", "{folder}/registry.yml"], get(path.replace("{digest}", digest)), files=files)


REGISTRY = ("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: {folder}/registry}}\n"
            "http: {addr: ':{port}', secret: s}\n")
# Each answer is what a child process has written.
HOOKS = ('[{"id": "a", "execute-command": "/bin/cat", "pass-arguments-to-command": [{"source": "string", "name": "{folder}/file-1.txt"}], '
         '"include-command-output-in-response": true}]')
INFLUX = ('reporting-disabled = true\nbind-address = "127.0.0.1:{peer}"\n[meta]\ndir = "{folder}/meta"\n[data]\ndir = "{folder}/data"\n'
          'wal-dir = "{folder}/wal"\n[http]\nbind-address = ":{port}"\nlog-enabled = false\n')
# In XML without line ends a chunk's size is the one line of its form.
CHUNK = re.compile(rb"\r\n[0-9a-f]+\r\n")
PROPERTY = re.compile(rb"<D:(\w+)>.*?</D:\1>", re.S)
FILES = {f"file-{number}.txt": "0123456789\n" * 100 for number in range(20)}
OF_A_FILE = rb"(Date|Last-Modified|Etag): [^\r]*"
OF_A_FOLDER = rb'(Date|Last-Modified|Etag): [^\r]*|datetime="[^<]*|/[a-z-]+/tmp'
CONNECT = mqtt(0x10, b"\x00\x04MQTT\x04\x02\x00\x00\x00\x01c")
ROWS = [
    Row("net/http, ten chunks", "server", [":{port}"], get("/chunks")),
    Row("net/http, one write", "server", [":{port}"], get("/one")),
    Row("net/http, ten chunks, as is buffered by hand", "server", [":{port}"], get("/chunks"), words_as_is=[":{port}", "by-hand"]),
    Row("net/http, ten chunks, both buffered by hand", "server", [":{port}", "by-hand"], get("/chunks")),
    Row("net/http, ten chunks, PIE", "server-pie", [":{port}"], get("/chunks")),
    Row("net/http, ten chunks, cgo", "server-cgo", [":{port}"], get("/chunks")),
    Row("net/http, ten chunks, -race", "server-race", [":{port}"], get("/chunks")),
    Row("net/http, HTTP/2 over TLS, ten chunks", "frameworks", ["h2", "0.0.0.0:{port}"], asked=("h2-ask", "https://{server}:{port}/")),
    Row("gRPC-Go 1.67, ten messages", "frameworks", ["grpc", "0.0.0.0:{port}"], asked=("grpc-ask", "{server}:{port}")),
    Row("gin 1.10, ten chunks", "frameworks", ["gin", "0.0.0.0:{port}"], get("/")),
    Row("fiber 2.52, one write", "frameworks", ["fiber", "0.0.0.0:{port}"], get("/")),
    Row("fasthttp 1.51, one write", "frameworks", ["fasthttp", "0.0.0.0:{port}"], get("/")),
    caddy("Caddy 2.8.4, a file", "caddy", "/file-1.txt", "", OF_A_FILE),
    caddy("Caddy 2.8.4, a folder", "caddy", "/", "browse", OF_A_FOLDER),
    caddy("Caddy 2.6.2 (Debian), a file", "debian-caddy", "/file-1.txt", "", OF_A_FILE),
    nats("NATS 2.10.22, five messages", "nats-server"),
    nats("NATS 2.9.10 (Debian), five messages", "debian-nats-server"),
    etcd("etcd 3.5.17, a range by JSON", "etcd"),
    etcd("etcd 3.4.23 (Debian), a range by JSON", "debian-etcd"),
    Row("CoreDNS 1.11.3, an address", "coredns", ["-conf", "{folder}/Corefile"], dns("a.example"),
        files={"Corefile": ".:{port} {\n hosts {\n 192.0.2.1 a.example\n }\n}\n"}, differs=rb"(?!)"),
    Row("CoreDNS 1.11.3, five addresses", "coredns", ["-conf", "{folder}/Corefile"], dns("a.example") * 5,
        files={"Corefile": ".:{port} {\n hosts {\n 192.0.2.1 a.example\n }\n}\n"}, differs=rb"(?!)"),
    prometheus("Prometheus 2.54.1, a query", "prometheus"),
    prometheus("Prometheus 2.42 (Debian), a query", "debian-prometheus"),
    Row("InfluxDB 1.6.7 (Debian), a query", "debian-influxd", ["-config", "{folder}/conf"], get("/query?q=SHOW+DATABASES"),
        files={"conf": INFLUX}, differs=rb"(Date|Request-Id|X-Request-Id): [^\r]*"),
    Row("rclone 1.60.1 (Debian), a file", "debian-rclone", ["serve", "http", "{folder}/site", "--addr", "0.0.0.0:{port}"],
        get("/file-1.txt"), files={f"site/{name}": content for name, content in FILES.items()}, differs=OF_A_FILE),
    Row("rclone 1.60.1 (Debian), WebDAV", "debian-rclone", ["serve", "webdav", "{folder}/site", "--addr", "0.0.0.0:{port}"],
        b"PROPFIND / HTTP/1.1\r\nHost: h\r\nDepth: 1\r\n\r\n", files={f"site/{name}": content for name, content in FILES.items()},
        differs=rb"Date: [^\r]*|<D:getlastmodified>[^<]*|<D:getetag>[^<]*", normal=ordered),
    Row("VictoriaMetrics 1.79.5 (Debian), a query", "debian-victoria-metrics",
        ["-httpListenAddr", ":{port}", "-storageDataPath", "{folder}/data"], get("/api/v1/query?query=1%2B1&time=1700000000"),
        differs=rb"(Date|X-Server-Hostname): [^\r]*"),
    registry("Docker's registry 2.8.2 (Debian), its version", "/v2/"),
    registry("Docker's registry 2.8.2 (Debian), a blob", "/v2/a/blobs/sha256:{digest}"),
    Row("webhook 2.8.0 (Debian), a child's output", "debian-webhook", ["-hooks", "{folder}/hooks.json", "-port", "{port}"],
        get("/hooks/a"), files={"hooks.json": HOOKS, **FILES}, differs=rb"(Date|X-Request-Id): [^\r]*"),
    Row("Syncthing 1.19.2 (Debian), its health", "debian-syncthing",
        ["serve", "--gui-address", "http://0.0.0.0:{port}", "--home", "{folder}/home", "--no-browser", "--no-default-folder"],
        get("/rest/noauth/health"), differs=rb"(Date|X-Syncthing-Id): [^\r]*",
        # Else it executes itself, and the child serves.
        environment={"STMONITORED": "1"}),
    Row("hugo 0.168.0, a page", "hugo", ["server", "--source", "{folder}", "--bind", "0.0.0.0", "--port", "{port}", "--disableLiveReload",
                                          "--watch=false"],
        get("/file-1.txt"), files={"hugo.toml": "title = 't'\n", **{f"static/{file}": content for file, content in FILES.items()}},
        differs=OF_A_FILE),
    Row("esbuild 0.28.2, a file", "esbuild", ["--serve=0.0.0.0:{port}", "--servedir={folder}"],
        b"GET /file-1.txt HTTP/1.1\r\nHost: localhost\r\n\r\n", files=FILES,
        # It does not say which Go it was built with.
        flags=["--try"]),
    Row("PocketBase 0.22.20, its health", "pocketbase", ["serve", "--http", "0.0.0.0:{port}", "--dir", "{folder}/pb"],
        get("/api/health")),
    Row("Mailpit 1.33.1, its messages", "mailpit", ["--listen", "0.0.0.0:{port}", "--smtp", "127.0.0.1:{peer}", "--database",
                                                    "{folder}/db"], get("/api/v1/messages"),
        differs=rb"Date: [^\r]*|'nonce-[^']*"),
    Row("Mailpit 1.33.1, five commands of SMTP", "mailpit", ["--smtp", "0.0.0.0:{port}", "--listen", "127.0.0.1:{peer}", "--database",
                                                             "{folder}/db"], b"NOOP\r\n" * 5, hello=b"EHLO h\r\n", differs=rb"(?!)"),
    nsqd("nsqd 1.3.0, five messages", 100),
    nsqd("nsqd 1.3.0, five messages, its queue in memory", 10_000_000),
    Row("Mochi MQTT 2.6.5, five messages", "mochi", ["-tcp", ":{port}", "-ws", ":{peer}", "-info", "127.0.0.1:0"],
        b"".join(mqtt(0x32, b"\x00\x01t" + number.to_bytes(2, "big") + b"hello") for number in range(1, 6)), hello=CONNECT,
        is_alone=True, differs=rb"(?!)"),
    redis("redis 7.0.15, static, musl", "redis-musl"),
    redis("redis 7.0.15, static, glibc", "redis-glibc"),
    nginx("nginx 1.22.1, static, musl", "nginx-musl"),
    nginx("nginx 1.22.1, static, glibc", "nginx-glibc"),
    Row("simple-http-server 0.8.1 (Rust), static, glibc", "simple-http-server", ["-s", "--ip", "0.0.0.0", "-p", "{port}", "{folder}/site"],
        get("/file-1.txt"), files={f"site/{name}": content for name, content in FILES.items()}, differs=rb"(date|last-modified|etag): [^\r]*"),
]

"""What the tests share: captures, logs, the command line, and a cluster."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "corpus"
LOG = ROOT / "crates/cli/tests/cmd/prevalence.in/access.log"
#: A capture with stalls, one with a flood, one without either.
STALLS = CORPUS / "wwr-many-connections.pcap"
FLOOD = CORPUS / "flood-nodelay.pcap"
CLEAN = CORPUS / "clean-bulk.pcap"
#: What stands in stores: by its name its content, the last of them cut off.
CAPTURES = {path.name: path.read_bytes() for path in (STALLS, FLOOD)}
CAPTURES["cut.pcap"] = STALLS.read_bytes()[:-7]


def command(*words, **options):
    """The wheel's command line."""
    typed = [sys.executable, "-m", "tinygram._command", *map(str, words)]
    return subprocess.run(typed, capture_output=True, **options)


def document(*words):
    """What the command line says as JSON."""
    done = command(*words)
    assert done.returncode in (0, 1, 3), done.stderr.decode()
    return json.loads(done.stdout)


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """Addresses of folders at servers of this machine by their scheme, each with the captures of CAPTURES.

    Executors find the servers by the environment: it is set before there is a cluster.
    """
    pytest.importorskip("moto")
    pytest.importorskip("gcp_storage_emulator")
    import fsspec
    from gcp_storage_emulator.server import create_server
    from moto.server import ThreadedMotoServer

    port = free_port()
    s3 = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    s3.start()
    gs = create_server("127.0.0.1", port, in_memory=True, default_bucket="captures")
    gs.start()
    os.environ["AWS_ENDPOINT_URL"] = "http://{}:{}".format(*s3.get_host_and_port())
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "of-the-tests"
    os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    os.environ["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{port}"
    fsspec.filesystem("s3").mkdir("captures")
    for name, content in CAPTURES.items():
        for scheme in ("s3", "gs"):
            fsspec.filesystem(scheme).pipe(f"captures/{name}", content)
    folder = tmp_path_factory.mktemp("served")
    for name, content in CAPTURES.items():
        (folder / name).write_bytes(content)
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *it: Quiet(*it, directory=str(folder)))
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield {"s3": "s3://captures", "gs": "gs://captures", "http": f"http://127.0.0.1:{web.server_port}"}
    web.shutdown()
    gs.stop()
    s3.stop()


@pytest.fixture(scope="session")
def spark(stores, tmp_path_factory):
    """A cluster of two executors, each a process with one core."""
    pyspark = pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    import tinygram.spark

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("workers"))
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "768m",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.shuffle.partitions": "2",
        "spark.python.worker.faulthandler.enabled": "true",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    tinygram.spark.register(session)
    yield session
    session.stop()

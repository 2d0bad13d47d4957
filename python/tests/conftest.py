"""What the tests share: captures, logs, the command line, and a cluster."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "crates/diagnose/corpus"
LOG = ROOT / "crates/cli/tests/cmd/prevalence.in/access.log"
#: A capture with stalls, one with a flood, one without either.
STALLS = CORPUS / "wwr-many-connections.pcap"
FLOOD = CORPUS / "flood-nodelay.pcap"
CLEAN = CORPUS / "clean-bulk.pcap"


def command(*words, **options):
    """The wheel's command line."""
    typed = [sys.executable, "-m", "tinygram._command", *map(str, words)]
    return subprocess.run(typed, capture_output=True, **options)


def document(*words):
    """What the command line says as JSON."""
    done = command(*words)
    assert done.returncode in (0, 1, 3), done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
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

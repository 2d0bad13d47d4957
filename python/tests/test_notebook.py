"""book/src/build/fleet.ipynb runs, and says what it says it does; so do the queries of book/src/build/fleet.md."""

import re

import pyarrow as pa
import pytest
from conftest import CORPUS, ROOT

import tinygram

DOCS = ROOT / "book" / "src" / "build"
QUERIES = re.findall(r"```sql\n(.*?)```", (DOCS / "fleet.md").read_text(), re.DOTALL)


def test_the_notebook_runs_and_shows_what_it_promises(monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("TINYGRAM_CORPUS", str(CORPUS))
    notebook = nbformat.read(DOCS / "fleet.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(DOCS))
    shown = [
        "".join(output.get("text", "") + str(output.get("data", "")) for output in cell.get("outputs", []))
        for cell in notebook.cells
    ]
    together = "\n".join(shown)
    assert "NAGLE" in together and "DLDET" in together
    assert "image/svg+xml" in together
    assert "delayed ACK" in together
    assert "write-write-read" in together


def test_table_5_of_the_notebook_is_near_the_papers():
    rows = pa.table(tinygram.naglemark(medium="fddi", policy="nagle,minshall,off", repetitions=1)).to_pylist()
    worst = {}
    for row in rows:
        key = row["variant"], row["app_buffer"], row["socket_buffer"]
        ours, paper = worst.get(key, (0.0, None))
        worst[key] = max(ours, row["score_percent"]), row["published_score_percent"]
    assert len(worst) == 27
    assert all(abs(ours - paper) < 2.5 for ours, paper in worst.values())


@pytest.mark.parametrize("query", QUERIES, ids=["service", "since", "setting"])
def test_the_queries_have_one_answer_in_duckdb_and_in_spark(spark, query):
    duckdb = pytest.importorskip("duckdb")
    findings = tinygram.diagnose(sorted(CORPUS.glob("*.pcap"))).findings
    of_duckdb = duckdb.sql(query).fetchall()
    frame = spark.read.format("tinygram").option("table", "findings").load(str(CORPUS / "*.pcap"))
    frame.createOrReplaceTempView("findings")
    of_spark = [tuple(row) for row in spark.sql(query).collect()]
    assert len(of_duckdb) > 1
    assert len(of_spark) == len(of_duckdb)
    for ours, theirs in zip(of_spark, of_duckdb):
        for one, other in zip(ours, theirs):
            if isinstance(one, float):
                assert one == pytest.approx(other)
            else:
                assert naive(one) == naive(other)
    assert findings.num_rows > 0


def naive(value):
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


def test_there_are_three_queries():
    assert len(QUERIES) == 3

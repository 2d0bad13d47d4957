"""pg8000's native connection."""
import sys
import loop, pg8000.native

address, port, exchanges, what = sys.argv[1:]
connection = pg8000.native.Connection("atlas", host=address, port=int(port), database="postgres")
connection.run("CREATE TEMP TABLE notes (body text)")


def exchange():
    if what == "query":
        connection.run("SELECT 1")
    else:
        connection.run("INSERT INTO notes VALUES (:body)", body="x" * 400)


loop.ask(int(exchanges), exchange)

"""psycopg 3: a connection that commits by itself."""
import sys
import loop, psycopg

address, port, exchanges, what = sys.argv[1:]
connection = psycopg.connect(host=address, port=port, user="atlas", dbname="postgres", sslmode="disable", autocommit=True)
connection.execute("CREATE TEMP TABLE notes (body text)")


def exchange():
    if what == "query":
        connection.execute("SELECT 1").fetchone()
    else:
        connection.execute("INSERT INTO notes VALUES (%s)", ["x" * 400])


loop.ask(int(exchanges), exchange)

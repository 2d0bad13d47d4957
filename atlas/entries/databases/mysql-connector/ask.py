"""MySQL Connector/Python; an insert is prepared by the server."""
import sys
import loop, mysql.connector

address, port, exchanges, what = sys.argv[1:]
connection = mysql.connector.connect(host=address, port=int(port), user="root", autocommit=True, use_pure=True, ssl_disabled=True)
plain = connection.cursor()
plain.execute("CREATE DATABASE IF NOT EXISTS atlas")
plain.execute("CREATE TEMPORARY TABLE atlas.notes (body text)")
prepared = connection.cursor(prepared=True)


def exchange():
    if what == "query":
        plain.execute("SELECT 1")
        plain.fetchone()
    else:
        prepared.execute("INSERT INTO atlas.notes VALUES (%s)", ["x" * 400])


loop.ask(int(exchanges), exchange)

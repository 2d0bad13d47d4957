"""PyMySQL: a connection that commits by itself."""
import sys
import loop, pymysql

address, port, exchanges, what = sys.argv[1:]
connection = pymysql.connect(host=address, port=int(port), user="root", autocommit=True)
cursor = connection.cursor()
cursor.execute("CREATE DATABASE IF NOT EXISTS atlas")
cursor.execute("CREATE TEMPORARY TABLE atlas.notes (body text)")


def exchange():
    if what == "query":
        cursor.execute("SELECT 1")
        cursor.fetchone()
    else:
        cursor.execute("INSERT INTO atlas.notes VALUES (%s)", ["x" * 400])


loop.ask(int(exchanges), exchange)

"""asyncpg: a connection, and its loop of events turned for each exchange."""
import asyncio, sys
import asyncpg, loop

address, port, exchanges, what = sys.argv[1:]
events = asyncio.new_event_loop()
connection = events.run_until_complete(asyncpg.connect(host=address, port=int(port), user="atlas", database="postgres", ssl=False))
events.run_until_complete(connection.execute("CREATE TEMP TABLE notes (body text)"))


def exchange():
    if what == "query":
        events.run_until_complete(connection.fetch("SELECT 1"))
    else:
        events.run_until_complete(connection.execute("INSERT INTO notes VALUES ($1)", "x" * 400))


loop.ask(int(exchanges), exchange)

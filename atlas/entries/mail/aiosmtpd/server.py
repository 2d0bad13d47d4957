"""A Controller whose handler accepts each mail."""
import sys, time
from aiosmtpd.controller import Controller


class Accepts:
    async def handle_DATA(self, server, session, envelope):
        return "250 OK"


Controller(Accepts(), hostname=sys.argv[1], port=int(sys.argv[2])).start()
while True:
    time.sleep(60)

"""Asks `PROGRAM mcp` by the official Python SDK whether a capture's stall is Nagle's, and prints the answer: PROGRAM CAPTURE."""

import pathlib
import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


async def main(program, capture):
    capture = pathlib.Path(capture)
    server = StdioServerParameters(command=program, args=["mcp", "--root", str(capture.parent)])
    async with Client(server) as client:
        told = await client.call_tool("is_it_nagle", {"capture": capture.name})
        print(told.structured_content)


anyio.run(main, *sys.argv[1:])

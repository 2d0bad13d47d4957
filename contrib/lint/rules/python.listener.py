"""A listener for asyncio."""
import asyncio
import socket


def bind(family, address):
    # ruleid: python-listener-hides-tcp-from-asyncio
    sock = socket.socket(family=family)
    sock.bind(address)
    return sock


async def serve(protocol, address):
    # ruleid: python-listener-hides-tcp-from-asyncio
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(address)
    await asyncio.get_running_loop().create_server(protocol, sock=listener)


def local(address):
    # ok: python-listener-hides-tcp-from-asyncio
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(address)
    return sock

"""A server that is short of memory: what requests ask for, the server behind it answers; before each request pages of a
file are looked at that do not fit into the control group's memory.

    short_of_memory.py BEHIND_PORT FILE MEBIBYTES

It waits for a line, so that who started it can put it into a control group, and says which port it listens on.
"""
import mmap
import os
import random
import socket
import sys
import threading
import time
import zlib

behind, path, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) << 20
sys.stdin.readline()

# Written in the group, and not in the cache of anybody else.
with open(path, "wb") as file:
    for _ in range(size >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
file = open(path, "rb")
pages = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def look(seconds):
    end = time.monotonic() + seconds
    while True:
        at = random.randrange(size - 8192)
        # Twice: pages that were in use when they were taken away are what the kernel calls thrashing. A sum over so many
        # bytes lets other threads run meanwhile.
        for _ in range(2):
            zlib.crc32(pages[at:at + 8192])
        if time.monotonic() > end:
            return


def message(stream):
    head = stream.read(8)
    if len(head) < 8:
        raise ConnectionError
    return head + stream.read(int.from_bytes(head[4:], "little") - 8)


def serve(client):
    server = socket.create_connection(("127.0.0.1", behind))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked, answered = client.makefile("rb"), server.makefile("rb")
    try:
        while True:
            request = message(asked)
            if request.startswith(b"MSG"):
                look(0.05)
            server.sendall(request)
            if not request.startswith(b"CLO"):
                client.sendall(message(answered))
    except (ConnectionError, OSError):
        pass
    finally:
        client.close()
        server.close()


listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()

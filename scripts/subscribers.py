#!/usr/bin/env python3
"""Many who watch while many talk: what a turn costs beside the model's own time, and what the program holds in memory.

usage: subscribers.py ECHOVESSEL SCRIPTED_MODEL [--subscribers N] [--users N] [--turns N]

Half of the subscribers never read. Each user says a line, waits for its reply, and says the next one. The overhead of a
turn is the time from sending to `chat.message.done`, less the debounce and the time that the scripted model takes.
"""

import argparse
import asyncio
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.parse

TOKEN = "token-of-the-measurement"
FIRST_TOKEN_MS = 200
BETWEEN_TOKENS_MS = 10


async def request(address, method, path, body=None):
    """One request on a connection of its own; the status and the JSON."""
    reader, writer = await asyncio.open_connection(*address)
    data = json.dumps(body).encode() if body is not None else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + data)
    answer = await reader.read()
    writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(rest or b"null")


async def subscribe(address):
    reader, writer = await asyncio.open_connection(*address, limit=1024 * 1024)
    writer.write(
        f"GET /api/chat/events HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    )
    await reader.readuntil(b"chat.connection.ready")
    return reader, writer


async def read_on(reader):
    while await reader.read(256 * 1024):
        pass


async def hear(reader, waiting):
    """Tells those who wait of the ends of their turns."""
    while line := await reader.readline():
        if line.startswith(b"data: ") and (b'"in_reply_to_turn_id"' in line or b'"retryable"' in line):
            data = json.loads(line[6:])
            turn = data.get("in_reply_to_turn_id") or data.get("turn_id")
            # The end of a turn may be heard before the answer to its line is read.
            future = waiting.setdefault(turn, asyncio.get_running_loop().create_future())
            if not future.done():
                future.set_result((time.monotonic(), data.get("content", "")))


async def talk(address, user, turns, waiting, overheads):
    for number in range(turns):
        began = time.monotonic()
        status, sent = await request(
            address, "POST", "/api/chat/send", {"content": f"line {number} of {user}", "user_id": user}
        )
        if status != 202:
            raise RuntimeError(f"{status}: {sent}")
        future = waiting.setdefault(sent["turn_id"], asyncio.get_running_loop().create_future())
        ended, content = await asyncio.wait_for(future, 120)
        words = max(len(content.split()) - 1, 0)
        overheads.append((ended - began) * 1000 - FIRST_TOKEN_MS - words * BETWEEN_TOKENS_MS)


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) / 1024


def told(name, overheads, process):
    overheads = sorted(overheads)
    at = lambda share: overheads[min(int(len(overheads) * share), len(overheads) - 1)]
    print(
        f"{name}: {len(overheads)} turns, overhead p50 {at(0.5):.0f} ms, p95 {at(0.95):.0f} ms, "
        f"resident {resident_mib(process):.0f} MiB",
        flush=True,
    )


async def measure(options, address, process):
    # A writer that nobody holds closes its connection.
    ear, mouth = await subscribe(address)
    waiting = {}
    listening = asyncio.create_task(hear(ear, waiting))
    alone = []
    await talk(address, "alone", options.turns * 4, waiting, alone)
    told("alone", alone, process)
    connections = []
    for _ in range(options.subscribers):
        connections.append(await subscribe(address))
    readers = [asyncio.create_task(read_on(reader)) for reader, _ in connections[::2]]
    # Those who never read: nothing is taken from their sockets any more.
    for _reader, writer in connections[1::2]:
        writer.transport.pause_reading()
    watched = []
    await talk(address, "watched", options.turns * 4, waiting, watched)
    told(f"{options.subscribers} subscribers", watched, process)
    crowd = []
    users = [f"user-{number}" for number in range(options.users)]
    await asyncio.gather(*(talk(address, user, options.turns, waiting, crowd) for user in users))
    told(f"{options.subscribers} subscribers, {options.users} users", crowd, process)
    for task in [listening, *readers]:
        task.cancel()
    mouth.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("echovessel")
    parser.add_argument("scripted_model")
    parser.add_argument("--subscribers", type=int, default=1000)
    parser.add_argument("--users", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="echovessel-subscribers-") as home:
        pace = ["--first-token", str(FIRST_TOKEN_MS), "--between-tokens", str(BETWEEN_TOKENS_MS)]
        model = subprocess.Popen([options.scripted_model, "--port", "0", *pace], stdout=subprocess.PIPE, text=True)
        base_url = model.stdout.readline().strip()
        settings = {
            "ECHOVESSEL_TOKEN": TOKEN,
            "ECHOVESSEL__LLM__PROVIDER": "openai",
            "ECHOVESSEL__LLM__BASE_URL": base_url if base_url.endswith("/v1") else f"{base_url}/v1",
            "ECHOVESSEL__LLM__MODEL": "scripted",
            "ECHOVESSEL__EMBEDDING__PROVIDER": "none",
            "ECHOVESSEL__CHANNELS__WEB__DEBOUNCE": "0ms",
        }
        command = [options.echovessel, "run", "--port", "0", "--home", home, "--no-open"]
        daemon = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
        try:
            run = pathlib.Path(home, "run.json")
            while not run.exists():
                time.sleep(0.05)
            url = urllib.parse.urlparse(json.loads(run.read_text())["url"])
            asyncio.run(measure(options, (url.hostname, url.port), daemon))
        finally:
            for process in (daemon, model):
                process.send_signal(signal.SIGTERM)
                process.wait(25)


if __name__ == "__main__":
    main()

"""What the hub's tools cost, end to end, from the start of `echovessel mcp` on: median of several runs, in milliseconds.

Usage: measure.py BINARY [--memories 18000]. Never part of the tests.
"""

import argparse
import datetime
import itertools
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

WORDS = "river garden letter violin harbour winter kitchen market mountain window teacher orchard storm bicycle lantern".split()


class Client:
    def __init__(self, binary, home):
        settings = {"ECHOVESSEL__LLM__PROVIDER": "offline", "ECHOVESSEL__HUB__CATCH_UP": "false"}
        command = [binary, "mcp", "--home", str(home), "--instance", "measure"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, env=dict(os.environ, **settings)
        )
        self.number = 0
        client = {"name": "measure", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.say({"method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.say({"id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise SystemExit(result["content"][0]["text"])
        return result["structuredContent"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(work, times):
    spent = []
    for turn in range(times):
        began = time.perf_counter()
        work(turn)
        spent.append((time.perf_counter() - began) * 1_000)
    return statistics.median(spent)


def memory(number):
    day = datetime.date(1976, 1, 1) + datetime.timedelta(days=number)
    words = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 7)]
    content = f"- About the {words[0]}, the {words[1]} and the {words[2]}, day {number} [chat:{number}] [via:measure]"
    return {
        "granularity": "daily", "date": str(day), "content": content, "chatIds": [str(number)],
        "sourceInstance": "measure", "version": 1, "updatedAt": f"{day}T12:00:00Z",
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--memories", type=int, default=18_000)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="echovessel-measure-"))
    try:
        home = folder / "home"
        Client(asked.binary, home).close()
        start = timed(lambda _: Client(asked.binary, home).close(), 10)
        client = Client(asked.binary, home)
        print(f"start to first answer, and its end      {start:8.1f}   aim 300")
        written = itertools.count()

        def write(_):
            turn = next(written)
            client.call(
                "memory_create", granularity="daily", date=f"2026-01-{turn % 28 + 1:02}",
                content=f"- The {WORDS[turn % len(WORDS)]} of turn {turn} [chat:t{turn}] [via:measure]",
            )

        print(f"memory_create                           {timed(write, 100):8.1f}   aim 2")
        for begin in range(0, asked.memories, 500):
            items = [memory(number) for number in range(begin, min(begin + 500, asked.memories))]
            client.call("sync_push", instance={"id": "measure", "type": "other", "version": 1}, memoryChanges=items)
        began = time.perf_counter()
        client.call("memory_search", query="the violin and the storm")
        print(f"first memory_search over {asked.memories:6}         {(time.perf_counter() - began) * 1_000:8.1f}")
        search = lambda turn: client.call("memory_search", query=f"the {WORDS[turn % len(WORDS)]} by the sea")
        print(f"memory_search over {asked.memories:6}               {timed(search, 30):8.1f}   aim 10")
        print(f"memory_create beside {asked.memories:6}             {timed(write, 50):8.1f}   aim 2")
        client.close()
        start = timed(lambda _: Client(asked.binary, home).close(), 5)
        print(f"start over {asked.memories:6}, and its end          {start:8.1f}   aim 300")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

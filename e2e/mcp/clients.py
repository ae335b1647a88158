"""Several processes on one home, driven by the official Python client against the real binary."""

import asyncio
import logging
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    from httpx2 import AsyncClient
except ImportError:
    from httpx import AsyncClient

HERE = Path(__file__).resolve().parent
BINARY = os.environ.get("ECHOVESSEL_BIN", str(HERE.parents[1] / "target/debug/echovessel"))
SETTINGS = {
    "ECHOVESSEL__LLM__PROVIDER": "offline",
    "ECHOVESSEL__EMBEDDING__PROVIDER": "none",
    "ECHOVESSEL__HUB__INSTANCE": "house",
}


class Embodiment:
    """One process of `echovessel mcp` and the client that started it."""

    def __init__(self, home, instance):
        self.home, self.instance = home, instance
        self.ready, self.leave = asyncio.Event(), asyncio.Event()
        self.session, self.error = None, None
        self.task = asyncio.create_task(self.live())

    async def live(self):
        command = ["mcp", "--home", str(self.home), "--instance", self.instance]
        parameters = StdioServerParameters(command=BINARY, args=command, env=dict(os.environ, **SETTINGS))
        try:
            with open(os.devnull, "w") as nowhere:
                async with stdio_client(parameters, errlog=nowhere) as (reader, writer):
                    async with ClientSession(reader, writer) as session:
                        await session.initialize()
                        self.session = session
                        self.ready.set()
                        await self.leave.wait()
        except BaseException as error:
            self.error = error
        self.ready.set()

    async def call(self, tool, **arguments):
        return structured(await self.session.call_tool(tool, arguments))

    async def close(self):
        self.leave.set()
        await self.task


async def embodiment(home, instance):
    made = Embodiment(home, instance)
    await made.ready.wait()
    if made.error:
        raise made.error
    return made


def structured(result):
    value = result.model_dump(by_alias=True)
    if value.get("isError"):
        raise AssertionError(value["content"])
    return value["structuredContent"]


def holder(home):
    return int((home / "lock").read_text())


class Processes(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        # The loop's own complaints about a slow machine say nothing about the program.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        self.folder = Path(tempfile.mkdtemp(prefix="echovessel-mcp-"))
        self.home = self.folder / "home"

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    async def test_defect_01_appends_of_two_processes_are_all_kept(self):
        first = await embodiment(self.home, "laptop")
        second = await embodiment(self.home, "phone")
        calls = []
        for number in range(20):
            speaker = first if number % 2 else second
            calls.append(
                speaker.call("identity_append", category="custom", filename="list.md", content=f"line {number}.")
            )
            bullet = f"- moment {number} [chat:{number}] [via:{speaker.instance}]"
            calls.append(speaker.call("memory_create", granularity="daily", date="2026-05-02", content=bullet))
        answers = await asyncio.gather(*calls)
        self.assertTrue(all(answer["success"] for answer in answers))
        custom = (await first.call("identity_get_all"))["custom"]
        for number in range(20):
            self.assertIn(f"line {number}.", custom[0]["content"])
        told = ""
        for instance in ("laptop", "phone"):
            read = await first.call("memory_read", granularity="daily", date="2026-05-02", instanceId=instance)
            told += read["memory"]["content"]
        for number in range(20):
            self.assertIn(f"moment {number} [chat:{number}]", told)
        await first.close()
        await second.close()

    async def test_when_the_owner_is_killed_the_next_one_takes_over(self):
        first = await embodiment(self.home, "laptop")
        owner = holder(self.home)
        second = await embodiment(self.home, "phone")
        self.assertEqual(holder(self.home), owner)
        text = dict(category="custom", filename="note.md", content="kept")
        self.assertTrue((await second.call("identity_write", **text))["success"])
        os.kill(owner, signal.SIGKILL)
        after = await second.call("identity_get_all")
        self.assertEqual(after["custom"][0]["content"].strip(), "kept")
        self.assertNotEqual(holder(self.home), owner)
        third = await embodiment(self.home, "tablet")
        self.assertTrue((await third.call("identity_append", **text))["success"])
        await second.close()
        self.assertTrue((await third.call("identity_append", **text))["success"])
        await third.close()
        await first.close()

    async def test_beside_a_daemon_and_over_http(self):
        environment = dict(os.environ, **SETTINGS)
        command = [BINARY, "run", "--port", "0", "--home", str(self.home), "--no-open"]
        daemon = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(1500):
                if (self.home / "run.json").exists():
                    break
                await asyncio.sleep(0.02)
            url = json.loads((self.home / "run.json").read_text())["url"] + "/mcp"
            token = (self.home / "token").read_text().strip()
            laptop = await embodiment(self.home, "laptop")
            self.assertEqual(holder(self.home), daemon.pid)
            said = await laptop.call("remember", text="My sister Ann lives in Lisbon.")
            self.assertTrue(said["success"])
            headers = {"Authorization": f"Bearer {token}"}
            async with AsyncClient(headers=headers, timeout=30) as http:
                async with streamable_http_client(url, http_client=http) as streams:
                    async with ClientSession(*streams[:2]) as session:
                        await session.initialize()
                        tools = await session.list_tools()
                        self.assertEqual(len(tools.tools), 52)
                        recalled = structured(await session.call_tool("recall", {"text": "Where does Ann live?"}))
                        self.assertIn("Lisbon", json.dumps(recalled))
            # The daemon goes; the embodiment carries on alone.
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)
            began = time.monotonic()
            self.assertIn("Lisbon", json.dumps(await laptop.call("recall", text="Where does Ann live?")))
            self.assertLess(time.monotonic() - began, 30)
            await laptop.close()
        finally:
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()


if __name__ == "__main__":
    unittest.main()

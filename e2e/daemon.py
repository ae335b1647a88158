"""Starts the program on a scratch home, for the tests that are written in Python."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

TOKEN = "token-of-the-client-tests"
START_SECONDS_MAX = 60
SETTINGS = {
    "ECHOVESSEL_TOKEN": TOKEN,
    "ECHOVESSEL__LLM__PROVIDER": "offline",
    "ECHOVESSEL__EMBEDDING__PROVIDER": "none",
    "ECHOVESSEL__CHANNELS__WEB__DEBOUNCE": "10ms",
}


class Daemon:
    """A running program: `with Daemon() as url`."""

    def __enter__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="echovessel-clients-"))
        program = os.environ.get("ECHOVESSEL_BIN") or str(
            pathlib.Path(__file__).parent.parent / "target" / "debug" / "echovessel"
        )
        command = [program, "run", "--port", "0", "--home", str(self.home), "--no-open"]
        self.log = open(self.home / "test.log", "wb")
        self.process = subprocess.Popen(
            command, env={**os.environ, **SETTINGS}, stdout=self.log, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return json.loads((self.home / "run.json").read_text())["url"].rstrip("/")
            except (FileNotFoundError, json.JSONDecodeError):
                time.sleep(0.05)
        said = (self.home / "test.log").read_text()
        self.__exit__()
        raise RuntimeError(f"the program did not come up:\n{said}")

    def is_alive(self):
        return self.process.poll() is None

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(25)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

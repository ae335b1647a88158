"""Kills the daemon again and again while people talk to it, and checks that no acknowledged word is lost or doubled.

    python3 scripts/soak.py DAEMON MODEL [--kills 200] [--seed 1]

DAEMON and MODEL are the built `echovessel` and `scripted-model`. Several writers send numbered lines over HTTP and
note which were answered with 202. At a random moment the daemon gets SIGKILL; the next one starts on the same home.
In the end the last daemon is left in peace until every session has become memory, and every history is read whole.
"""

import argparse
import collections
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

WRITERS = 6
UPTIME_SECONDS = (0.05, 1.5)
START_SECONDS_MAX = 30
SETTLE_SECONDS_MAX = 300
SETTINGS = {
    "ECHOVESSEL__LLM__PROVIDER": "openai",
    "ECHOVESSEL__LLM__MODEL": "scripted",
    "ECHOVESSEL__SESSION__IDLE": "1s",
    "ECHOVESSEL__SESSION__SCAN_EVERY": "200ms",
    "ECHOVESSEL__SESSION__MAX_MESSAGES": "20",
    "ECHOVESSEL__CONSOLIDATE__POLL_EVERY": "200ms",
    "ECHOVESSEL__CHANNELS__WEB__DEBOUNCE": "50ms",
}


class Daemon:
    """A running daemon on the home."""

    def __init__(self, program, home, model_url):
        self.log = open(os.path.join(home, "soak.log"), "ab")
        run_file = os.path.join(home, "run.json")
        settings = SETTINGS | {"ECHOVESSEL__LLM__BASE_URL": model_url}
        self.process = subprocess.Popen(
            [program, "run", "--port", "0", "--home", home, "--no-open"],
            env=os.environ | settings,
            stdout=self.log,
            stderr=self.log,
        )
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if self.process.poll() is not None:
                sys.exit(f"The daemon ended with {self.process.returncode} at start; see {self.log.name}")
            if time.monotonic() > deadline:
                sys.exit(f"The daemon did not start within {START_SECONDS_MAX} s; see {self.log.name}")
            try:
                with open(run_file, encoding="utf-8") as file:
                    run = json.load(file)
                with open(os.path.join(home, "token"), encoding="utf-8") as file:
                    self.token = file.read().strip()
                self.url = run["url"].rstrip("/")
                if run["pid"] == self.process.pid and self.answers():
                    return
            except (OSError, ValueError, http.client.HTTPException):
                pass  # not there yet, or half written
            time.sleep(0.02)

    def answers(self):
        with urllib.request.urlopen(f"{self.url}/health", timeout=5) as response:
            return response.status == 200

    def ask(self, path, body=None):
        """Status and JSON."""
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as refusal:
            return refusal.code, None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=40)
        self.log.close()
        return status


class Writer(threading.Thread):
    """One person who talks without a pause, to whichever daemon is there."""

    def __init__(self, number, stage):
        super().__init__(daemon=True)
        self.user = f"writer-{number}"
        self.stage = stage
        self.sent = 0
        self.acknowledged = set()
        self.refused = collections.Counter()

    def run(self):
        while not self.stage.over:
            daemon = self.stage.daemon
            if daemon is None:
                time.sleep(0.005)
                continue
            self.sent += 1
            line = f"{self.user} says line {self.sent} of many, about the cat and the weather"
            try:
                status, _ = daemon.ask("/api/chat/send", {"content": line, "user_id": self.user})
            except (OSError, ValueError, http.client.HTTPException):
                self.refused["cut off"] += 1
                continue
            if status == 202:
                self.acknowledged.add(line)
            else:
                self.refused[status] += 1
                time.sleep(0.02)


class Stage:
    """What writers and the killer share."""

    daemon = None
    over = False


def history(daemon, user):
    """Every message of a user, newest first."""
    cursor, messages = "", []
    while True:
        status, page = daemon.ask(f"/api/chat/history?limit=200&user_id={user}{cursor}")
        if status != 200:
            sys.exit(f"The history of {user} answered {status}")
        messages += page["messages"]
        if not page.get("next_cursor"):
            return messages
        cursor = f"&cursor={page['next_cursor']}"


def sessions(daemon, user, status):
    code, page = daemon.ask(f"/api/admin/sessions?limit=200&status={status}&user_id={user}")
    if code != 200:
        sys.exit(f"The list of sessions answered {code}")
    return page["sessions"]


def settle(daemon, users):
    """Waits until nothing is on its way any more; returns what is stuck."""
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while time.monotonic() < deadline:
        waiting = [
            session
            for user in users
            for status in ("open", "closing", "consolidating")
            for session in sessions(daemon, user, status)
        ]
        if not waiting:
            return [session for user in users for session in sessions(daemon, user, "failed")]
        time.sleep(0.5)
    return waiting


def faults_of(writer, daemon):
    said = collections.Counter(
        message["content"] for message in history(daemon, writer.user) if message["role"] == "user"
    )
    lost = [line for line in writer.acknowledged if said[line] == 0]
    doubled = [line for line, times in said.items() if times > 1]
    return [f"lost: {line}" for line in lost] + [f"doubled: {line}" for line in doubled]


def soak(options, home, model_url):
    chance = random.Random(options.seed)
    stage = Stage()
    writers = [Writer(number, stage) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    slowest_start = 0.0
    for kill in range(1, options.kills + 1):
        began = time.monotonic()
        daemon = Daemon(options.daemon, home, model_url)
        slowest_start = max(slowest_start, time.monotonic() - began)
        stage.daemon = daemon
        time.sleep(chance.uniform(*UPTIME_SECONDS))
        stage.daemon = None
        daemon.kill()
        if kill % 10 == 0 or kill == options.kills:
            acknowledged = sum(len(writer.acknowledged) for writer in writers)
            print(f"{kill} kills, {acknowledged} messages acknowledged", flush=True)
    stage.over = True
    for writer in writers:
        writer.join()

    daemon = Daemon(options.daemon, home, model_url)
    stuck = settle(daemon, [writer.user for writer in writers])
    faults = [fault for writer in writers for fault in faults_of(writer, daemon)]
    faults += [f"stuck: session {session['id']}: {session.get('last_error')}" for session in stuck]
    status = daemon.stop()
    if status != 0:
        faults.append(f"the daemon ended with {status} when it was asked to stop")
    refused = sum((writer.refused for writer in writers), collections.Counter())
    print(f"slowest start {slowest_start:.2f} s; not acknowledged: {dict(refused)}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("daemon")
    parser.add_argument("model")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    home = tempfile.mkdtemp(prefix="echovessel-soak-")
    model = subprocess.Popen(
        [options.model, "--port", "0", "--first-token", "30", "--between-tokens", "5"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        faults = soak(options, home, model.stdout.readline().strip())
    finally:
        model.kill()
    for fault in faults[:20]:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} faults with seed {options.seed}; the home is kept in {home}")
    shutil.rmtree(home)
    print("Nothing was lost, nothing doubled, every session became memory.")


if __name__ == "__main__":
    main()

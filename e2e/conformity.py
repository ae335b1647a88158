"""Requests that nobody would think of, made from the OpenAPI document, against the real program: no failure of the server,
no status and no body that the document does not name. Bounded: a few examples of each operation, two minutes at most."""

import os
import pathlib
import subprocess
import sys

from daemon import TOKEN, Daemon

HERE = pathlib.Path(__file__).parent
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# One never ends, one ends the program.
LEFT_OUT = ["/api/chat/events", "/api/admin/stop"]
EXAMPLES = os.environ.get("CONFORMITY_EXAMPLES", "6")
SEED = os.environ.get("CONFORMITY_SEED", "1")


def main():
    daemon = Daemon()
    with daemon as url:
        command = [
            str(pathlib.Path(sys.executable).with_name("schemathesis")),
            "--config-file", str(HERE / "schemathesis.toml"),
            "run", f"{url}/api/openapi.json",
            "--header", f"Authorization: Bearer {TOKEN}",
            "--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES,
            "--seed", SEED, "--request-timeout", "20", "--continue-on-failure", "--warnings", "off",
            "--suppress-health-check", "all", "--generation-database", "none",
        ]
        for path in LEFT_OUT:
            command += ["--exclude-path", path]
        ended = subprocess.run(command, cwd=daemon.home, timeout=300, check=False).returncode
        if not daemon.is_alive():
            print("the program is no more", file=sys.stderr)
            return 1
    return ended


if __name__ == "__main__":
    sys.exit(main())

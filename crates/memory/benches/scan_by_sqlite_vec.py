"""Measures the exact scan of sqlite-vec in the same shape as ours, beside it in the same run.

Usage: sqlite_vec.py ROWS DIMENSION WANTED. Prints JSON {"median_ms": …}. Needs the packages sqlite-vec and apsw.
"""

import json
import random
import statistics
import struct
import sys
import time

import apsw
import sqlite_vec

ROUNDS = 15


def vector(dice, dimension):
    components = [dice.uniform(-1, 1) for _ in range(dimension)]
    length = sum(c * c for c in components) ** 0.5
    return struct.pack(f"{dimension}f", *(c / length for c in components))


def main():
    rows, dimension, wanted = (int(argument) for argument in sys.argv[1:4])
    dice = random.Random(1)
    database = apsw.Connection(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dimension}])")
    with database:
        for row in range(1, rows + 1):
            database.execute("INSERT INTO vectors(rowid, embedding) VALUES (?, ?)", (row, vector(dice, dimension)))
    times = []
    for _ in range(ROUNDS):
        query = vector(dice, dimension)
        started = time.perf_counter()
        found = database.execute(
            "SELECT rowid, distance FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance", (query, wanted)
        ).fetchall()
        times.append((time.perf_counter() - started) * 1_000)
        assert len(found) == min(wanted, rows)
    print(json.dumps({"median_ms": statistics.median(times)}))


main()

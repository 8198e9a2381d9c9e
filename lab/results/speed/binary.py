"""Prints how large the stripped command is, what it has without single parts, and the sizes of its modules' symbols, as
rows of Markdown.

    binary.py

A part is left out as the build tag small leaves it out, alone: a build overlay puts the part's file for small builds in
the place of the other one. Run it in the module's folder. It needs Go and takes some minutes.
"""

import collections
import json
import os
import re
import subprocess
import tempfile

PARTS = {
    "the drivers of SQLite and PostgreSQL": ["budget/stores/drivers.go", "budget/stores/small.go"],
    "connections between machines (TLS)": ["internal/mutualtls/mutualtls.go", "internal/mutualtls/small.go"],
    "SSH signatures": ["internal/sshsig/sshsig.go", "internal/sshsig/small.go"],
    "Brotli": ["internal/parquet/brotli.go", "internal/parquet/brotli_small.go"],
}


def size(folder, *flags):
    """Returns the megabytes of the stripped command that is built with some flags."""
    path = os.path.join(folder, "stillpoint")
    subprocess.run(["go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, *flags, "./cmd/stillpoint"], check=True)
    return os.path.getsize(path) / 1e6


def without(folder, large, small):
    """Returns the flags of a build without a part."""
    with open(small) as f:
        text = f.read()
    replaced = os.path.join(folder, "replaced.go")
    with open(replaced, "w") as f:
        f.write(re.sub(r"//go:build small\n", "", text))
    overlay = os.path.join(folder, "overlay.json")
    with open(overlay, "w") as f:
        json.dump({"Replace": {os.path.abspath(large): "", os.path.abspath(small): replaced}}, f)
    return ["-overlay", overlay]


def symbols(folder):
    """Returns megabytes of symbols by module, of a command with its symbols."""
    path = os.path.join(folder, "whole")
    subprocess.run(["go", "build", "-trimpath", "-o", path, "./cmd/stillpoint"], check=True)
    listed = subprocess.run(["go", "tool", "nm", "-size", path], check=True, capture_output=True, text=True).stdout
    sums = collections.Counter()
    for line in listed.splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) < 4 or fields[2] in "BbU":
            continue
        name = re.sub(r"^(type|go|gclocals)[:.].*", r"\1: of types and of the garbage collector", fields[3])
        found = re.match(r"((?:github\.com|golang\.org|gonum\.org|modernc\.org)/(?:[^/.]+/)?[^/.]+)", name)
        sums[found[1] if found else "the standard library, and tables of types and lines"] += int(fields[1]) / 1e6
    return sums


with tempfile.TemporaryDirectory() as folder:
    whole = size(folder)
    print(f"| what | MB | less than the whole |\n|---|---|---|\n| the whole | {whole:.2f} | |")
    for name, (large, small) in PARTS.items():
        n = size(folder, *without(folder, large, small))
        print(f"| without {name} | {n:.2f} | {whole - n:.2f} |", flush=True)
    n = size(folder, "-tags", "small")
    print(f"| without all of these (`-tags small`) | {n:.2f} | {whole - n:.2f} |\n")
    print("| module | MB of symbols |\n|---|---|")
    for name, n in symbols(folder).most_common(14):
        print(f"| {name} | {n:.2f} |")

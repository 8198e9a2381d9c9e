#!/usr/bin/env python3
"""Builds the wheels: the package, with the command for one system in each.

    python build.py [--version 1.2.0] [--out dist] [--sdist] [linux/amd64 ...]

needs Go and, as Python packages, hatchling. Without targets all six are built. --sdist also writes the source package:
installing it compiles the command with Go.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The command is one static file, and so serves every C library.
TAGS = {
    "linux/amd64": "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "py3-none-macosx_12_0_x86_64",
    "darwin/arm64": "py3-none-macosx_12_0_arm64",
    "windows/amd64": "py3-none-win_amd64",
    "windows/arm64": "py3-none-win_arm64",
}


def build(target: str, version: str, out: Path) -> None:
    system, machine = target.split("/")
    with tempfile.TemporaryDirectory() as folder:
        command = Path(folder) / ("stillpoint.exe" if system == "windows" else "stillpoint")
        subprocess.run(
            ["go", "build", "-trimpath", "-ldflags", f"-s -w -X main.stamp=v{version}", "-o", command, "./cmd/stillpoint"],
            cwd=HERE.parent,
            env={**os.environ, "GOOS": system, "GOARCH": machine, "CGO_ENABLED": "0"},
            check=True,
        )
        command.chmod(0o755)
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out.resolve()],
            cwd=HERE,
            env={
                **os.environ,
                "STILLPOINT_COMMAND": str(command),
                "STILLPOINT_TAG": TAGS[target],
                "STILLPOINT_VERSION": version,
            },
            check=True,
        )


def source(version: str, out: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out.resolve()], cwd=HERE,
                   env={**os.environ, "STILLPOINT_VERSION": version}, check=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="0.0.0.dev0")
    parser.add_argument("--out", type=Path, default=HERE / "dist")
    parser.add_argument("--sdist", action="store_true", help="write the source package as well")
    parser.add_argument("targets", nargs="*", metavar="SYSTEM/MACHINE", help=", ".join(TAGS))
    arguments = parser.parse_args()
    for target in arguments.targets or TAGS:
        if target not in TAGS:
            parser.error(f"target = {target}: must be one of {', '.join(TAGS)}")
        build(target, arguments.version, arguments.out)
    if arguments.sdist:
        source(arguments.version, arguments.out)


if __name__ == "__main__":
    main()

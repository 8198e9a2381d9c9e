"""Wheels: the command of their system in each, as a script, and one version of both."""

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import stillpoint
from stillpoint import _command

HERE = Path(__file__).resolve().parent.parent

# A go that builds nothing: it says in the file that is asked for what it was asked.
GO = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in -o) out=$2; shift;; -ldflags) flags=$2; shift;; esac
  all="$all $1"; shift
done
echo "$GOOS/$GOARCH cgo=$CGO_ENABLED flags=$flags in $(pwd):$all" > "$out"
"""
FORM = r"py3-none-(manylinux_2_17_{m}\.manylinux2014_{m}\.musllinux_1_1_{m}|macosx_1\d_0_{m}|win_{m})"
MACHINES = {
    "linux/amd64": "x86_64",
    "linux/arm64": "aarch64",
    "darwin/amd64": "x86_64",
    "darwin/arm64": "arm64",
    "windows/amd64": "amd64",
    "windows/arm64": "arm64",
}
SYSTEMS = {"linux": "manylinux", "darwin": "macosx", "windows": "win_"}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """All six, by their system."""
    pytest.importorskip("hatchling")
    if os.name == "nt":
        pytest.skip("go is a script of a shell here")
    folder = tmp_path_factory.mktemp("wheels")
    go = folder / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    environment = {**os.environ, "PATH": f"{go.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, HERE / "build.py", "--version", "1.2.3", "--out", folder / "dist"]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    found = {}
    for path in (folder / "dist").iterdir():
        with zipfile.ZipFile(path) as wheel:
            (script,) = [n for n in wheel.namelist() if "/scripts/" in n]
            found[wheel.read(script).decode().split(" ")[0]] = path
    return found


def test_each_system_has_its_wheel(wheels):
    assert sorted(wheels) == sorted(MACHINES)


@pytest.mark.parametrize("target", MACHINES)
def test_wheel(target, wheels):
    """The command is built for the wheel's own system, and is run as a script."""
    system, path = target.split("/")[0], wheels[target]
    name, version, tag = path.name.removesuffix(".whl").split("-", 2)
    assert (name, version) == ("stillpoint_dp", "1.2.3")
    assert re.fullmatch(FORM.format(m=MACHINES[target]), tag) and SYSTEMS[system] in tag
    with zipfile.ZipFile(path) as wheel:
        script = f"stillpoint_dp-1.2.3.data/scripts/stillpoint{'.exe' if system == 'windows' else ''}"
        said = wheel.read(script).decode()
        assert said.startswith(f"{target} cgo=0 flags=-s -w -X main.stamp=v1.2.3 in {HERE.parent}: build -trimpath ")
        assert said.rstrip().endswith(" ./cmd/stillpoint")
        assert wheel.getinfo(script).external_attr >> 16 & 0o111 == 0o111
        sources = {p.name for p in (HERE / "src" / "stillpoint").iterdir() if p.is_file()}
        assert {n.removeprefix("stillpoint/") for n in wheel.namelist() if n.startswith("stillpoint/")} == sources
        facts = wheel.read("stillpoint_dp-1.2.3.dist-info/METADATA").decode()
        assert (
            "Version: 1.2.3\n" in facts
            and "Requires-Python: >=3.10\n" in facts
            and "License-Expression: Apache-2.0\n" in facts
        )
        assert "Root-Is-Purelib: false" in wheel.read("stillpoint_dp-1.2.3.dist-info/WHEEL").decode()


def test_wheels_need_their_command(tmp_path):
    """hatchling compiles the command for a wheel, with Go; without Go no wheel is made."""
    pytest.importorskip("hatchling")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STILLPOINT_")}
    environment |= {"STILLPOINT_VERSION": "1.2.3", "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True)
    assert done.returncode != 0 and "must be installed to compile the command" in done.stderr + done.stdout
    assert not list(tmp_path.glob("*.whl"))
    done = subprocess.run([sys.executable, HERE / "build.py", "plan9/amd64"], capture_output=True, text=True)
    assert done.returncode == 2 and "target = plan9/amd64: must be one of linux/amd64" in done.stderr


def test_the_command_is_that_of_this_installation(tmp_path, monkeypatch):
    """The command beside this Python goes before one on the path, and has the package's version."""
    _command.command.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    other = tmp_path / ("stillpoint.exe" if os.name == "nt" else "stillpoint")
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    try:
        beside = Path(sysconfig.get_path("scripts")) / other.name
        if not beside.is_file():
            pytest.skip("the package is not installed")
        assert _command.command() == str(beside)
        assert stillpoint.version().startswith("stillpoint ")
        monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path / "nowhere"))
        _command.command.cache_clear()
        assert _command.command() == str(other) and stillpoint.version() == "another"
        monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
        _command.command.cache_clear()
        with pytest.raises(FileNotFoundError, match="neither beside this Python nor on the path"):
            _command.command()
    finally:
        _command.command.cache_clear()


def test_package_and_command_have_one_version():
    try:
        version = importlib.metadata.version("stillpoint-dp")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert stillpoint.version().split()[1] == f"v{version}"

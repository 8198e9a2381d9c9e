"""Puts the command into the wheel, as a script, and the Go source of the command into the source package.

build.py builds the command for each system. A wheel that pip makes of the source package, or of a checkout, has the
command of this system, which is compiled then.
"""

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import mkdtemp

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VERSION = os.environ.get("STILLPOINT_VERSION", "0.0.0.dev0")
SOURCE = "go"  # the folder of the Go source in the source package


class CommandHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        if version == "editable":
            return  # the command on the path serves
        if self.target_name == "sdist":
            root = Path(self.root).parent
            build_data["force_include"].update({str(root / name): f"{SOURCE}/{name}" for name in sources(root)})
            return
        command, tag = os.environ.get("STILLPOINT_COMMAND"), os.environ.get("STILLPOINT_TAG")
        if not command or not tag:
            command, tag = self.compiled()
        build_data["shared_scripts"] = {command: Path(command).name}
        build_data["pure_python"] = False
        build_data["tag"] = tag

    def compiled(self):
        """The command of this system, compiled from the source package or the checkout, and the tag of its wheel."""
        from packaging.tags import sys_tags

        source = Path(self.root) / SOURCE
        if not (source / "go.mod").exists():
            source = Path(self.root).parent
        if not (source / "go.mod").exists():
            raise RuntimeError("the Go source must lie in the folder go, as in a source package, or in the folder above, as in a checkout")
        if shutil.which("go") is None:
            raise RuntimeError("Go (https://go.dev) must be installed to compile the command; a wheel brings it along")
        command = Path(mkdtemp()) / ("stillpoint.exe" if os.name == "nt" else "stillpoint")
        stamp = f"-s -w -X main.stamp=v{self.metadata.version}"
        subprocess.run(["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", command, "./cmd/stillpoint"],
                       cwd=source, env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}, check=True)  # fmt: skip
        return str(command), f"py3-none-{next(sys_tags()).platform}"


def sources(root):
    """The tracked files that compiling the command takes."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    apart = ("lab/", "docs/", "examples/", "python/", "r/", "tools/", ".", "losstest/", "optimizetest/")
    for name in listed:
        if name in ("go.mod", "go.sum", "LICENSE"):
            yield name
        elif not name.startswith(apart) and "/testdata/" not in name and not name.endswith(("_test.go", ".md")):
            if name.endswith(".go") or "/" in name:
                yield name

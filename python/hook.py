"""Puts the command that build.py has built into the wheel, as a script."""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommandHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        if version == "editable":
            return  # the command on the path serves
        command = os.environ.get("STILLPOINT_COMMAND")
        tag = os.environ.get("STILLPOINT_TAG")
        if not command or not tag:
            raise RuntimeError("python/build.py builds wheels: it makes the command first")
        build_data["shared_scripts"] = {command: Path(command).name}
        build_data["pure_python"] = False
        build_data["tag"] = tag

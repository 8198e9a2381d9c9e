"""Prints what each module costs in a build of the command from an empty cache, as rows of Markdown.

    build.py [PACKAGE...]

Columns: a module, or a package that is named; compiler seconds of its own packages; seconds of all packages that a build
without it would not have; and their share of the build. A package that two modules need counts for neither alone. Run it
in the module's folder. It needs Go and takes some minutes.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

ROOT = "github.com/stillpoint-dp/stillpoint"


def packages():
    """Returns the packages of the command by import path."""
    listed = subprocess.run(["go", "list", "-deps", "-json=ImportPath,Imports,Module", "./cmd/stillpoint"], check=True,
                            capture_output=True, text=True).stdout
    found, at, decoder = {}, 0, json.JSONDecoder()
    while (at := listed.find("{", at)) >= 0:
        package, at = decoder.raw_decode(listed, at)
        found[package["ImportPath"]] = package
    return found


def seconds():
    """Returns processor seconds by import path, of a build from an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["go", "build", "-trimpath", "-ldflags=-s -w", f"-debug-actiongraph={folder}/graph", "-o",
                   f"{folder}/stillpoint", "./cmd/stillpoint"]
        subprocess.run(command, check=True, env={**os.environ, "GOCACHE": f"{folder}/cache"})
        taken = collections.Counter()
        with open(f"{folder}/graph") as graph:
            for action in json.load(graph):
                name = "the linker" if action["Mode"] == "link" else action.get("Package")
                taken[name] += (action.get("CmdUser", 0) + action.get("CmdSys", 0)) / 1e9
        return taken


def reached(all_packages, left_out):
    """Returns the packages that the command needs if it does without those for which left_out is true."""
    start = ROOT + "/cmd/stillpoint"
    found, waiting = {start}, [start]
    while waiting:
        for name in all_packages[waiting.pop()].get("Imports", []):
            name = name if name in all_packages else "vendor/" + name
            if name in all_packages and name not in found and not left_out(name):
                found.add(name)
                waiting.append(name)
    return found


known, cost = packages(), seconds()
module = {name: p.get("Module", {}).get("Path", "the standard library") for name, p in known.items()}
everything, total = reached(known, lambda _: False), sum(cost.values())
lines = []
for what in sorted(set(module.values()) - {ROOT, "the standard library"} | set(sys.argv[1:])):
    own = sum(cost[name] for name in everything if what in (module[name], name))
    rest = reached(known, lambda name: what in (module[name], name))
    lines.append((sum(cost[name] for name in everything - rest), what, own))
for without, what, own in sorted(lines, reverse=True):
    print(f"| {what} | {own:.1f} | {without:.1f} | {without / total:.1%} |")
print(f"| all, of which the standard library {sum(cost[n] for n in everything if module[n] == 'the standard library'):.1f} "
      f"and this module {sum(cost[n] for n in everything if module[n] == ROOT):.1f} | {total:.1f} | | |")

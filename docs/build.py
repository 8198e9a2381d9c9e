#!/usr/bin/env python3
"""Builds the documentation site from the Markdown of the repository.

    pip install zensical && python docs/build.py [--out site]

Gathers docs, lab/results and the pages at the root and in .github into one folder, with their links, and has
Zensical build it (docs/site.yml). Pages keep their places in the repository, where their links work as they stand. A link to what is no
page leads to the repository's host. Without Zensical the command says so and does nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOST = "https://github.com/stillpoint-dp/stillpoint"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def places() -> dict[str, str]:
    """Where each page and picture of the repository lies in the site."""
    found = {"python/README.md": "reference/python.md"}
    for path in [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md")]:
        if not path.name.lower().endswith("template.md"):
            found[path.relative_to(ROOT).as_posix()] = f"project/{path.name.lower()}"
    for path in ROOT.glob("lab/results/*.md"):
        found[f"lab/results/{path.name}"] = f"measured/{'index.md' if path.name == 'README.md' else path.name}"
    for path in (ROOT / "docs").rglob("*"):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".md", ".svg", ".png", ".css"):
            found[name] = name.removeprefix("docs/")
    return found


def led(target: str, page: str, found: dict[str, str]) -> str:
    """A link of a page, as it has to be in the site."""
    path, mark, anchor = target.partition("#")
    if not path or ":" in path:
        return target
    full = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    for name in (full, f"{full}/README.md", f"{full}/index.md"):
        if name in found:
            return posixpath.relpath(found[name], posixpath.dirname(found[page])) + mark + anchor
    kind = "tree" if (ROOT / full).is_dir() else "blob"
    if not (ROOT / full).exists():
        return target  # mathematics in brackets
    return f"{HOST}/{kind}/main/{full}{mark}{anchor}"


def gather(folder: Path) -> None:
    """Lays the pages out in a folder, their links changed."""
    found = places()
    for name, place in found.items():
        out = folder / place
        out.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(".md"):
            shutil.copyfile(ROOT / name, out)
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        out.write_text(LINK.sub(lambda m: m[1] + led(m[2], name, found) + m[3], text), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "site")
    given = parser.parse_args()
    if importlib.util.find_spec("zensical") is None:
        print("docs/build.py: there is no Zensical here (pip install zensical): skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        gather(work / "pages")
        shutil.copyfile(ROOT / "docs" / "site.yml", work / "mkdocs.yml")
        # Warnings, such as of a link to a page that is not there, end the build.
        done = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "-f", "mkdocs.yml"], cwd=work)
        if done.returncode != 0:
            return 1
        shutil.copytree(work / "site", given.out, dirs_exist_ok=True)
    pages = sum(name == "index.html" for _, _, names in os.walk(given.out) for name in names)
    print(f"site     {given.out}: {pages} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

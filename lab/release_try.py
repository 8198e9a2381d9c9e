#!/usr/bin/env python3
"""Tries what a release would publish, each part in a fresh environment.

    python tools/release.py --snapshot --out /tmp/dist && python lab/release_try.py /tmp/dist

follows the README's lines with the files of a release and nothing of this checkout: the archive for this
system, the wheel in a new virtual environment, the R package in an empty library, the Go module from a module
of its own, and the image where a container engine runs. What is not installed here is skipped and named.
One line for each part says how long it took. Exit code 1: a part failed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.util
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
MACHINE = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())
SYSTEM = {"win32": "windows"}.get(sys.platform, sys.platform)


class Skipped(Exception):
    """What is not installed here."""


class Failed(Exception):
    """A part of the release that does not do what the README says."""


def run(command: list, cwd: Path, **env: str) -> str:
    """What a command prints on both streams. A command that fails ends the part."""
    # Neither this checkout's settings nor a package of the user is part of what is tried.
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "R_LIBS", "GOFLAGS", "GOWORK")}
    words = [str(c) for c in command]
    done = subprocess.run(words, cwd=cwd, env={**kept, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words[:4])}: exit code {done.returncode}: {done.stdout.strip()[-3000:]}")
    return done.stdout


def block(language: str) -> str:
    """The README's lines in a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", (HERE / "README.md").read_text(encoding="utf-8"), re.S)
    return found


def one(folder: Path, pattern: str) -> Path:
    """The file of the release of this name, the only one."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Skipped(f"{folder} has {len(found)} files {pattern}")
    return found[0]


def people(path: Path, rows: int = 20_000) -> None:
    """Writes made-up people: the old fall ill, and the south less than the north."""
    coin = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["age", "region", "name", "ill"])
        for i in range(rows):
            age, region = 18 + 82 * coin.random(), coin.choice(["north", "south", "east", "west"])
            odds = 2 ** ((age - 60) / 10 - (region == "south"))
            out.writerow([f"{age:.1f}", region, f"person {i}", "yes" if coin.random() < odds / (1 + odds) else "no"])


def told(text: str, *words: str) -> None:
    """Every one of these words must be in a text that a part printed."""
    for word in words:
        if word not in text:
            raise Failed(f"printed no {word!r}: {text.strip()[-3000:]}")


def archive(dist: Path, work: Path) -> str:
    packed = one(dist, f"stillpoint_*_{SYSTEM}_{MACHINE}.*")
    shutil.unpack_archive(packed, work, **({"filter": "data"} if packed.name.endswith(".gz") and sys.version_info >= (3, 12) else {}))
    command = one(work, "stillpoint*")
    (work / "people.yaml").write_text(block("yaml"), encoding="utf-8")
    people(work / "people.csv")
    for words in (["schema", "people.csv"], ["check", "people.yaml", "people.csv"], ["plan", "people.yaml"]):
        run([command, *words], work)
    told(run([command, "fit", "people.yaml", "--out", "model"], work), "better than the best constant")
    told(run([command, "coefficients", "model"], work), "region=south")
    told(run([command, "predict", "model/model.json", "people.csv"], work), "probability")
    run([command, "export", "model/model.json", "--onnx", "people.onnx"], work)
    run([command, "report", "model"], work)
    return packed.name


def wheel(dist: Path, work: Path) -> str:
    system = {"linux": "manylinux*musllinux", "darwin": "macosx", "windows": "win"}[SYSTEM]
    processor = {"amd64": "x86_64" if SYSTEM != "windows" else "amd64", "arm64": "aarch64" if SYSTEM == "linux" else "arm64"}[MACHINE]
    packed = one(dist, f"stillpoint_dp-*{system}*{processor}.whl")
    try:
        run([sys.executable, "-m", "venv", "fresh"], work)
    except Failed as failed:
        raise Skipped(f"no virtual environment can be made here: {str(failed)[:200]}") from None
    python = work / "fresh" / ("Scripts" if SYSTEM == "windows" else "bin") / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-index", packed], work)
    told(run([python.parent / "stillpoint", "version"], work), "stillpoint")
    # Without the extras the package must say which one is missing.
    bare = "import stillpoint\ntry:\n    stillpoint.StillpointClassifier\nexcept ImportError as error:\n    print(error)"
    told(run([python, "-c", bare], work), "pip install 'stillpoint-dp[sklearn]'")
    try:
        run([*pip, "--timeout", "20", "--retries", "1", f"{packed}[sklearn,formula]", "pandas"], work)
    except Failed as failed:
        raise Skipped(f"Python packages cannot be had here: {str(failed)[-200:]}") from None
    people(work / "people.csv")
    code = 'import pandas\npeople = pandas.read_csv("people.csv")\nnew = people.head(5)\n' + block("python")
    (work / "readme.py").write_text(code + "print(*model.tidy().columns)\n", encoding="utf-8")
    told(run([python, "readme.py"], work), "region=south", "better than the best constant", "'epsilon': ", "conf_low")
    return packed.name


def r(dist: Path, work: Path) -> str:
    if shutil.which("R") is None:
        raise Skipped("R is not installed")
    named = [p for p in dist.glob("stillpoint_*.tar.gz") if re.fullmatch(r"stillpoint_[0-9.]+\.tar\.gz", p.name)]
    if len(named) != 1:
        raise Skipped(f"{dist} has {len(named)} R packages")
    packed = named[0]
    with tarfile.open(packed) as made:
        if not any(n.startswith("stillpoint/inst/doc/") and n.endswith(".html") for n in made.getnames()):
            raise Failed(f"{packed.name}: has no vignette")
    (work / "library").mkdir()
    path = os.pathsep.join([str(command_of(dist, work)), os.environ["PATH"]])
    libraries = {"R_LIBS": str(work / "library"), "PATH": path}
    run(["R", "CMD", "INSTALL", "-l", "library", packed], work, **libraries)
    people(work / "people.csv")
    code = 'people <- read.csv("people.csv")\nnew <- head(people, 5)\n' + block("r").replace("; ", "\n")
    shown = re.sub(r"(?m)^(summary|confint|predict)\((.*)\)$", r"print(\1(\2))", code)
    (work / "readme.R").write_text(shown, encoding="utf-8")
    told(run(["Rscript", "readme.R"], work, **libraries), "region=south", "2.5 %", "better than the best constant")
    return packed.name


def command_of(dist: Path, work: Path) -> Path:
    """A folder with the command of the release for this system."""
    packed = one(dist, f"stillpoint_*_{SYSTEM}_{MACHINE}.*")
    shutil.unpack_archive(packed, work / "command")
    return work / "command"


PROGRAM = """package main

import (
	"context"
	"fmt"
	"log"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

type Patient struct {
	Age      float64
	Returned string
}

func main() {
	ctx := context.Background()
	patients := make([]Patient, 20000)
	for i := range patients {
		patients[i] = Patient{float64(18 + i%80), []string{"no", "yes"}[min(i%80*(i%7)/150, 1)]}
	}
%s	fmt.Println(result.Coefficients())
}
"""


def module(dist: Path, work: Path) -> str:
    """README's Go from another module, and a researcher's own algorithm, both over the source of the commit."""
    if shutil.which("go") is None:
        raise Skipped("Go is not installed")
    (work / "source.tar").write_bytes(subprocess.run(["git", "archive", "HEAD"], cwd=HERE, capture_output=True, check=True).stdout)
    shutil.unpack_archive(work / "source.tar", work / "source")
    lines = "".join(f"\t{line}\n" if line else "\n" for line in block("go").splitlines())
    lines = lines.replace("\t\tBudget:", "\t\tInference: &stillpoint.Inference{},\n\t\tBudget:", 1)
    own = (work / "source" / "lab" / "examples" / "optimizer" / "main.go").read_text(encoding="utf-8")
    for name, program in {"first": PROGRAM.replace("%s", lines), "own": own}.items():
        folder = work / name
        folder.mkdir()
        (folder / "main.go").write_text(program, encoding="utf-8")
        run(["go", "mod", "init", f"example.org/{name}"], folder)
        run(["go", "mod", "edit", "-require", "github.com/stillpoint-dp/stillpoint@v0.0.0", "-replace",
             f"github.com/stillpoint-dp/stillpoint={work / 'source'}", "-replace",
             f"github.com/stillpoint-dp/stillpoint/lab={work / 'source' / 'lab'}"], folder)  # fmt: skip
        if name == "own":  # the file that the program embeds
            shutil.copy(work / "source" / "lab" / "examples" / "optimizer" / "spec.yaml", folder)
        run(["go", "mod", "tidy"], folder)
    told(run(["go", "run", "."], work / "first"), "better than the best constant", "95%")
    told(run(["go", "run", ".", "runs"], work / "own"), "heavy-ball")
    return "the source of the commit"


def image(dist: Path, work: Path) -> str:
    packed = one(dist, "stillpoint_*_oci.tar")
    for engine in ("podman", "docker"):
        if shutil.which(engine) and subprocess.run([engine, "info"], capture_output=True).returncode == 0 and answers(engine):
            break
    else:
        raise Skipped("no container engine runs here")
    loaded = run([engine, "load", "-i", packed], work)
    name = re.findall(r"(?m)(?:image|ID)[^:]*: *(\S+)$", loaded)[-1]
    told(run([engine, "run", "--rm", name, "version"], work), "stillpoint")
    return packed.name


def answers(engine: str) -> bool:
    """Whether an engine's server answers: docker info ends well without one."""
    return subprocess.run([engine, "ps"], capture_output=True).returncode == 0


def script(dist: Path, work: Path) -> str:
    """The script that installs: from the folder of the release, and from copies of it that were changed."""
    if SYSTEM == "windows":
        raise Skipped("the script is for Linux and macOS")
    home = {"HOME": str(work)}
    told(run(["sh", dist / "install.sh", "--from", dist], work, **home), "installed stillpoint v")
    told(run([work / ".local" / "bin" / "stillpoint", "--version"], work), "stillpoint v")
    for file in ("man/man1/stillpoint-fit.1", "bash-completion/completions/stillpoint", "fish/vendor_completions.d/stillpoint.fish"):
        if not (work / ".local" / "share" / file).is_file():
            raise Failed(f"install.sh: wrote no {file}")
    packed = one(dist, f"stillpoint_*_{SYSTEM}_{MACHINE}.tar.gz")

    def refused(changed: Path | str, rule: str, *more: str) -> None:
        try:
            run(["sh", dist / "install.sh", "--from", changed, "--to", work / "not", *more], work, **home)
        except Failed as failed:
            told(str(failed), rule)
        else:
            raise Failed(f"install.sh: accepts a folder though it {rule}")
        if (work / "not").exists():
            raise Failed("install.sh: wrote what it did not verify")

    def copied(name: str) -> Path:
        (work / name).mkdir()
        for file in (packed, dist / "checksums.txt"):
            shutil.copy(file, work / name)
        return work / name

    longer = copied("longer")
    with (longer / packed.name).open("ab") as file:
        file.write(b"x")
    refused(longer, "as in checksums.txt")
    silent = copied("silent")
    (silent / "checksums.txt").write_text("", encoding="ascii")
    refused(silent, "must be given")
    refused(work / "absent", "cannot be read")
    refused("http://example.invalid", "begin with https://")
    if shutil.which("ssh-keygen"):  # a signature by a stranger, and none
        signed = copied("signed")
        refused(signed, "cannot be read", "--signers", str(keys(work)[1]))
        maker().sign(signed / "checksums.txt", keys(work, "stranger")[0])
        refused(signed, "is by nobody", "--signers", str(work / "maker.signers"))
        told(run(["sh", dist / "install.sh", "--from", signed, "--to", work / "bin", "--signers", work / "stranger.signers"], work, **home),
             "signed by stranger@example.org", "installed stillpoint v")  # fmt: skip
        with (signed / "checksums.txt").open("a", encoding="ascii") as file:
            file.write("0" * 64 + "  more\n")
        refused(signed, "is not a signature", "--signers", str(work / "stranger.signers"))
    return f"install.sh with {packed.name}"


def keys(work: Path, name: str = "maker") -> tuple[Path, Path]:
    """A fresh SSH key, and a list that allows its signatures of releases."""
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", work / name], work)
    public = (work / f"{name}.pub").read_text(encoding="utf-8")
    signers = work / f"{name}.signers"
    signers.write_text(f'{name}@example.org namespaces="stillpoint-release" {public}', encoding="utf-8")
    return work / name, signers


def maker():
    """The program that makes releases."""
    of = importlib.util.spec_from_file_location("release", HERE / "tools" / "release.py")
    module = importlib.util.module_from_spec(of)
    of.loader.exec_module(module)
    return module


def sums(dist: Path, work: Path) -> str:
    """The checksums list every file, and are right; a signature of them is accepted by ssh-keygen, and no other text."""
    listed = dict(reversed(line.split("  ")) for line in (dist / "checksums.txt").read_text(encoding="ascii").splitlines())
    there = {p.name for p in dist.iterdir()} - {"checksums.txt", "checksums.txt.sig"}
    if set(listed) != there:
        raise Failed(f"checksums.txt: lists other files than there are: {sorted(set(listed) ^ there)}")
    for name, sum_ in listed.items():
        if hashlib.sha256((dist / name).read_bytes()).hexdigest() != sum_:
            raise Failed(f"checksums.txt: {name} has another checksum")
    bill = json.loads(one(dist, "stillpoint_*.cdx.json").read_text(encoding="utf-8"))
    if not any(part["name"] == "gonum.org/v1/gonum" for part in bill["components"]) or bill["bomFormat"] != "CycloneDX":
        raise Failed("the list of modules in the binaries has not gonum")
    (dist / "NOTES.md").read_text(encoding="utf-8")
    if shutil.which("ssh-keygen") is None:
        raise Skipped("ssh-keygen is not installed")
    key, signers = keys(work)
    shutil.copy(dist / "checksums.txt", work)
    maker().sign(work / "checksums.txt", key)
    verify = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "maker@example.org", "-n", "stillpoint-release", "-s", work / "checksums.txt.sig"]
    text = (dist / "checksums.txt").read_bytes()
    for given, good in ((text, True), (text + b"x", False)):
        if (subprocess.run([str(v) for v in verify], input=given, capture_output=True).returncode == 0) != good:
            raise Failed(f"ssh-keygen: the signature of {'the' if good else 'another'} text is {'refused' if good else 'accepted'}")
    return f"{len(listed)} files, the list of modules, a signature"


def sdist(dist: Path, work: Path) -> str:
    """The source package of Python: pip compiles the command with Go."""
    packed = one(dist, "stillpoint_dp-*.tar.gz")
    if shutil.which("go") is None:
        raise Skipped("Go is not installed")
    try:
        run([sys.executable, "-m", "venv", "fresh"], work)
        python = work / "fresh" / ("Scripts" if SYSTEM == "windows" else "bin") / "python"
        run([python, "-m", "pip", "install", "--quiet", "--timeout", "20", "hatchling"], work)
    except Failed as failed:
        raise Skipped(f"hatchling cannot be had here: {str(failed)[-200:]}") from None
    run([python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", packed], work)
    told(run([python.parent / "stillpoint", "--version"], work), "stillpoint v")
    told(run([python, "-c", "from importlib.metadata import version; print(version('stillpoint-dp'))"], work), packed.name.split("-")[1].removesuffix(".tar.gz"))
    return packed.name


def systems(dist: Path) -> list[str]:
    """The systems of which a release has archives."""
    return ["/".join(p.name.removesuffix(".zip").removesuffix(".tar.gz").rsplit("_", 2)[1:])
            for p in dist.iterdir() if re.fullmatch(r"stillpoint_.*_(linux|darwin|windows)_(amd64|arm64)\.(tar\.gz|zip)", p.name)]  # fmt: skip


def again(dist: Path, work: Path) -> str:
    """A second build of a snapshot has the same bytes, but for packages that tools of others write."""
    if not one(dist, "stillpoint_*_oci.tar").name.startswith("stillpoint_0.0.0-"):
        raise Skipped("is for a snapshot: a release is made again on another machine")
    run([sys.executable, HERE / "tools" / "release.py", "--snapshot", "--out", work / "again", "--systems", ",".join(systems(dist))], HERE)
    same = [p.name for p in dist.iterdir() if not re.match(r"checksums|stillpoint_[0-9.]+\.tar\.gz|.*\.sig", p.name)]
    for name in same:
        if (work / "again" / name).read_bytes() != (dist / name).read_bytes():
            raise Failed(f"{name}: two builds have other bytes")
    return f"{len(same)} files are the same, bit for bit"


PARTS: dict[str, Callable[[Path, Path], str]] = {
    "sums": sums, "archive": archive, "script": script, "wheel": wheel, "sdist": sdist, "r": r, "module": module, "image": image,
    "again": again,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path, help="the folder that release.py wrote")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    given = parser.parse_args()
    unknown = [p for p in given.parts if p not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]}: must be one of {', '.join(PARTS)}")
    failed = 0
    for name in given.parts or PARTS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"tried    {name}: {PARTS[name](given.dist.resolve(), Path(folder).resolve())}", end="")
                print(f", {time.monotonic() - begun:.0f} s", flush=True)
            except Skipped as why:
                print(f"skipped  {name}: {why}", flush=True)
            except Failed as why:
                failed = 1
                print(f"failed   {name}: {why}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

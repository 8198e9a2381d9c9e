#!/usr/bin/env python3
"""Makes a release: everything that is published, in one folder.

    python tools/release.py 1.2.0 [--out dist] [--key ~/.ssh/id_ed25519]    on a clean checkout of tag v1.2.0
    python tools/release.py --snapshot [--systems linux/amd64,...]          on any commit; of all systems or some

writes archives of the command for six systems, a container image, the wheels, the source packages of Python and
of R, a script that installs from an archive, a list of what is in the binaries (CycloneDX), CITATION.cff, the notes of the version from CHANGELOG.md,
and the checksums of all of it, which --key signs. The same commit, Go and Python give the same bytes of
archives and image. RELEASING.md says the steps around it.

Needs Go, hatchling for the wheels and R for its package. A snapshot goes on without the latter two
and says so; a release does not.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
SYSTEMS = [(s, m) for s in ("linux", "darwin", "windows") for m in ("amd64", "arm64")]
BESIDE = ["LICENSE", "README.md", "CHANGELOG.md"]
SHELLS = {"bash": "stillpoint.bash", "zsh": "_stillpoint", "fish": "stillpoint.fish"}
VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9a-z.]+)?")


class Fault(Exception):
    """What keeps a release from being made."""


def say(command: list, **more) -> str:
    """What a command prints. A command that fails ends the release."""
    done = subprocess.run([str(c) for c in command], cwd=more.pop("cwd", HERE), capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Fault(f"{' '.join(map(str, command[:4]))}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def changes(text: str, version: str | None) -> str:
    """The part of CHANGELOG.md about a version; about what is unreleased without one."""
    title = version or "Unreleased"
    match = re.search(rf"^## {re.escape(title)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    if match is None or not match.group(1).strip():
        raise Fault(f"CHANGELOG.md: must have a part '## {title}' that says something")
    return match.group(1).strip() + "\n"


def citation(text: str, version: str, day: str) -> str:
    """CITATION.cff of a version."""
    kept = [line for line in text.rstrip().splitlines() if not line.startswith(("version:", "date-released:"))]
    return "\n".join([*kept, f"version: {version}", f"date-released: {day}"]) + "\n"


def contents(binary: Path) -> list[tuple[str, str, str]]:
    """The modules in a binary, as go itself reads them from it: path, version and checksum."""
    found = []
    for line in say(["go", "version", "-m", binary]).splitlines():
        fields = line.split("\t")
        if len(fields) >= 4 and fields[1] == "dep":
            found.append((fields[2], fields[3], fields[4] if len(fields) > 4 else ""))
        elif len(fields) >= 4 and fields[1] == "=>":  # instead of the one before
            found[-1] = (fields[2], fields[3], fields[4] if len(fields) > 4 else "")
    if not found:
        raise Fault(f"{binary.name}: go version -m lists no module")
    return found


def bill(version: str, moment: int, go: str, binaries: dict[str, Path]) -> dict:
    """What the binaries are made of, in CycloneDX's format."""
    used: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for name, binary in binaries.items():
        for path, of, sum_ in contents(binary):
            used.setdefault((path, of), (sum_, set()))[1].add(name)
    parts = []
    for (path, of), (sum_, names) in sorted(used.items()):
        properties = [{"name": "stillpoint:in", "value": n} for n in sorted(names)]
        if sum_:
            properties.append({"name": "stillpoint:go.sum", "value": sum_})
        purl = f"pkg:golang/{path}@{of}"
        parts.append({"type": "library", "name": path, "version": of, "purl": purl, "bom-ref": purl, "properties": properties})
    parts.append({"type": "platform", "name": "go", "version": go, "bom-ref": f"go@{go}"})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'stillpoint {version} {moment}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)),
            "component": {"type": "application", "name": "stillpoint", "version": version, "bom-ref": f"stillpoint@{version}"},
        },
        "components": parts,
    }


def packed(files: dict[str, tuple[bytes, int]], moment: int) -> bytes:
    """A tar of files, and of folders where a name ends with a slash: names in order, one time, no owner."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name, (data, mode) in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data), mode, moment
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            out.addfile(info, io.BytesIO(data))
    return plain.getvalue()


def zipped(data: bytes, moment: int) -> bytes:
    """The same bytes each time, unlike gzip with the name and time of a file."""
    plain = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=moment) as out:
        out.write(data)
    return plain.getvalue()


def pack(path: Path, files: dict[str, tuple[bytes, int]], moment: int) -> None:
    """An archive with the same bytes whoever makes it: names in order, one time, no owner."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for name, (data, mode) in sorted(files.items()):
                info = zipfile.ZipInfo(name, time.gmtime(moment)[:6])
                info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
                out.writestr(info, data)
        return
    path.write_bytes(zipped(packed(files, moment), moment))


def written(version: str, work: Path) -> dict[str, tuple[bytes, int]]:
    """Manual pages and completions, which the command of this system writes."""
    command = work / "writer" / "stillpoint"
    say(
        ["go", "build", "-trimpath", "-ldflags", f"-s -w -X main.stamp=v{version}", "-o", command, "./cmd/stillpoint"],
        env={**os.environ, "CGO_ENABLED": "0"},
    )
    say([command, "man", "--out", work / "man"])
    files = {f"man/{page.name}": (page.read_bytes(), 0o644) for page in (work / "man").iterdir()}
    for shell, name in SHELLS.items():
        files[f"completions/{name}"] = (say([command, "completion", shell]).encode(), 0o644)
    return files


def archives(version: str, moment: int, work: Path, out: Path, systems: list[tuple[str, str]]) -> dict[str, Path]:
    """The command for each system, packed; returns the binaries."""
    binaries = {}
    texts = written(version, work)
    for system, machine in systems:
        binary = work / f"{system}_{machine}" / ("stillpoint.exe" if system == "windows" else "stillpoint")
        say(
            ["go", "build", "-trimpath", "-ldflags", f"-s -w -X main.stamp=v{version}", "-o", binary, "./cmd/stillpoint"],
            env={**os.environ, "GOOS": system, "GOARCH": machine, "CGO_ENABLED": "0"},
        )
        files = {**texts, **{name: ((HERE / name).read_bytes(), 0o644) for name in BESIDE}}
        files[binary.name] = (binary.read_bytes(), 0o755)
        name = f"stillpoint_{version}_{system}_{machine}"
        pack(out / (name + (".zip" if system == "windows" else ".tar.gz")), files, moment)
        binaries[f"{system}/{machine}"] = binary
        print(f"archive  {name}")
    return binaries


def image(version: str, moment: int, binaries: dict[str, Path], out: Path) -> None:
    """A container image for the two Linux processors, as an archive of the Open Container Initiative's layout.

    It holds the static command, an empty /work to mount a folder at and an empty /tmp, and no shell or
    library; processes run as user 65532. Containerfile builds the same for one processor.
    """
    files: dict[str, tuple[bytes, int]] = {"blobs/": (b"", 0o755), "blobs/sha256/": (b"", 0o755)}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))

    def blob(kind: str, data: bytes) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        files[f"blobs/sha256/{digest}"] = (data, 0o644)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def described(kind: str, of: dict) -> dict:
        return blob(kind, json.dumps(of, sort_keys=True).encode())

    manifests = []
    for machine in ("amd64", "arm64"):
        content = binaries[f"linux/{machine}"].read_bytes()
        layer = packed({"stillpoint": (content, 0o755), "tmp/": (b"", 0o1777), "work/": (b"", 0o777)}, moment)
        platform = {"os": "linux", "architecture": machine}
        config = {
            **platform,
            "created": created,
            "config": {"Entrypoint": ["/stillpoint"], "User": "65532:65532", "WorkingDir": "/work"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("config.v1+json", config),
            "layers": [blob("layer.v1.tar+gzip", zipped(layer, moment))],
        }
        manifests.append({**described("manifest.v1+json", manifest), "platform": platform})
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    named = {**described("index.v1+json", index), "annotations": {"org.opencontainers.image.ref.name": version}}
    files["oci-layout"] = (b'{"imageLayoutVersion": "1.0.0"}', 0o644)
    files["index.json"] = (json.dumps({**index, "manifests": [named]}, sort_keys=True).encode(), 0o644)
    name = f"stillpoint_{version}_oci.tar"
    (out / name).write_bytes(packed(files, moment))
    print(f"image    {name}")


def wheels(version: str, out: Path, systems: list[tuple[str, str]]) -> None:
    # Versions of Python's packages write a part before a release in another way.
    of = re.sub(r"-.*", ".dev0", version)
    say([sys.executable, HERE / "python" / "build.py", "--version", of, "--sdist", "--out", out, *map("/".join, systems)])
    print(f"wheels   {len(list(out.glob('*.whl')))}, and a source package")


def r_package(version: str, work: Path, out: Path) -> None:
    of = re.sub(r"-.*", ".9000", version)
    source = work / "stillpoint"
    shutil.copytree(HERE / "r", source)
    facts = (source / "DESCRIPTION").read_text(encoding="utf-8")
    facts, count = re.subn(r"^Version: .*$", f"Version: {of}", facts, flags=re.M)
    if count != 1:
        raise Fault("r/DESCRIPTION: must have one line Version:")
    if not version.startswith("0.0.0") and ".invalid" in facts:
        raise Fault("r/DESCRIPTION: email: must be an address at which the maintainer is reached")
    (source / "DESCRIPTION").write_text(facts, encoding="utf-8")
    # The vignette runs the command of this system, so that it is of this release.
    path = os.pathsep.join([str(work / "here"), os.environ["PATH"]])
    say(["go", "build", "-o", work / "here" / "stillpoint", "./cmd/stillpoint"], env={**os.environ, "CGO_ENABLED": "0"})
    say(["R", "CMD", "build", source], cwd=work, env={**os.environ, "PATH": path})
    (made,) = work.glob("stillpoint_*.tar.gz")
    shutil.move(made, out / made.name)
    print(f"r        {made.name}")


def checksums(out: Path) -> Path:
    path = out / "checksums.txt"
    names = sorted(p.name for p in out.iterdir() if p != path)
    path.write_text("".join(f"{hashlib.sha256((out / n).read_bytes()).hexdigest()}  {n}\n" for n in names), encoding="ascii")
    return path


def sign(path: Path, key: Path) -> None:
    """Signs a file by an SSH key: writes its signature beside it."""
    say(["ssh-keygen", "-Y", "sign", "-n", "stillpoint-release", "-f", key, path])
    print(f"signed   {path.name}.sig")


def make(version: str | None, out: Path, key: Path | None, systems: list[tuple[str, str]] = SYSTEMS) -> None:
    commit, moment = say(["git", "log", "-1", "--format=%H %ct"]).split()
    snapshot = version is None
    if snapshot:
        version = f"0.0.0-{commit[:8]}"
    else:
        if say(["git", "status", "--porcelain"]).strip():
            raise Fault("the checkout has changes: a release is made of a commit")
        if f"v{version}" not in say(["git", "tag", "--points-at", "HEAD"]).split():
            raise Fault(f"this commit has no tag v{version}")
    notes = changes((HERE / "CHANGELOG.md").read_text(encoding="utf-8"), None if snapshot else version)
    say(["go", "mod", "verify"])
    if out.exists() and any(out.iterdir()):
        raise Fault(f"{out}: must be empty, or not be there")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        binaries = archives(version, int(moment), work, out, systems)
        if {f"linux/{machine}" for machine in ("amd64", "arm64")} <= set(binaries):
            image(version, int(moment), binaries, out)
        go = say(["go", "env", "GOVERSION"]).strip()
        sbom = bill(version, int(moment), go, binaries)
        (out / f"stillpoint_{version}.cdx.json").write_text(json.dumps(sbom, indent=2) + "\n", encoding="utf-8")
        for name, step in (("the wheels", lambda: wheels(version, out, systems)), ("the R package", lambda: r_package(version, work, out))):
            try:
                step()
            except (Fault, FileNotFoundError) as fault:
                if not snapshot:
                    raise Fault(f"{name}: {fault}") from fault
                print(f"left out {name}: {str(fault).splitlines()[0][:200]}")
    day = time.strftime("%Y-%m-%d", time.gmtime(int(moment)))
    (out / "CITATION.cff").write_text(citation((HERE / "CITATION.cff").read_text(encoding="utf-8"), version, day), encoding="utf-8")
    (out / "NOTES.md").write_text(notes, encoding="utf-8")
    shutil.copy(HERE / "tools" / "install.sh", out / "install.sh")
    path = checksums(out)
    if key is not None:
        sign(path, key)
    print(f"release  {version}: {len(list(out.iterdir()))} files in {out}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="as in the tag, without its v")
    parser.add_argument("--snapshot", action="store_true", help="of any commit, under a version of its own")
    parser.add_argument("--systems", default=",".join(map("/".join, SYSTEMS)), help="of a snapshot, separated by commas")
    parser.add_argument("--out", type=Path, default=HERE / "dist")
    parser.add_argument("--key", type=Path, help="a private SSH key that signs the checksums")
    given = parser.parse_args()
    if given.snapshot == (given.version is not None):
        parser.error("give a version, or --snapshot")
    if given.version is not None and not VERSION.fullmatch(given.version):
        parser.error(f"version = {given.version}: must be like 1.2.0 or 1.2.0-rc.1")
    systems = [tuple(s.split("/")) for s in given.systems.split(",")]
    if not set(systems) <= set(SYSTEMS) or (given.version is not None and systems != SYSTEMS):
        parser.error(f"systems = {given.systems}: must be some of {parser.get_default('systems')}, and all of them for a release")
    try:
        make(given.version, given.out.resolve(), given.key, systems)
    except Fault as fault:
        print(f"release.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

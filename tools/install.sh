#!/bin/sh
# Installs the command stillpoint from the archive of a release, after its checksum was verified.
#
#   sh install.sh --from SOURCE [--version 1.2.0] [--to DIR] [--signers FILE]
#
# SOURCE is a folder, or an address that begins with https://, with the archives and checksums.txt of a release. The
# command goes to DIR (~/.local/bin), manual pages and completions to DIR/../share. With --signers, a list of allowed
# signers in OpenSSH's format, the signature checksums.txt.sig must be by one of them; without it the checksum finds
# accidents alone, and trust is in the place that SOURCE names. Nothing is written unless everything is verified.
set -eu

fail() { echo "install.sh: $1" >&2; exit 1; }

from= version= to=$HOME/.local/bin signers=
while [ $# -gt 0 ]; do
  case $1 in
    --from | --version | --to | --signers)
      [ $# -gt 1 ] || fail "$1: must be followed by a value"
      case $1 in --from) from=$2 ;; --version) version=$2 ;; --to) to=$2 ;; --signers) signers=$2 ;; esac
      shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0"; exit 0 ;;
    *) fail "$1: is no option: must be --from, --version, --to or --signers" ;;
  esac
done
[ -n "$from" ] || fail "--from: must name the folder or the address of a release"

case $(uname -s) in Linux) system=linux ;; Darwin) system=darwin ;; *) fail "$(uname -s): has no archive for this script: Windows' is a .zip" ;; esac
case $(uname -m) in x86_64 | amd64) machine=amd64 ;; aarch64 | arm64) machine=arm64 ;; *) fail "$(uname -m): has no archive" ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

get() { # the file of a name, from SOURCE to the working folder
  case $from in
    https://*)
      if command -v curl >/dev/null 2>&1; then curl --proto '=https' --tlsv1.2 -fsSL -o "$work/$1" "$from/$1"
      elif command -v wget >/dev/null 2>&1; then wget -q --https-only -O "$work/$1" "$from/$1"
      else fail "curl or wget must be installed to read from an address"; fi ;;
    *://*) fail "--from $from: must be a folder, or begin with https://" ;;
    *) cp "$from/$1" "$work/$1" 2>/dev/null ;;
  esac || fail "$from/$1: cannot be read"
}

get checksums.txt
if [ -n "$signers" ]; then
  command -v ssh-keygen >/dev/null 2>&1 || fail "ssh-keygen must be installed to verify the signature"
  get checksums.txt.sig
  who=$(ssh-keygen -Y find-principals -f "$signers" -s "$work/checksums.txt.sig" 2>/dev/null | head -n 1) ||
    fail "checksums.txt.sig: is by nobody in $signers"
  [ -n "$who" ] || fail "checksums.txt.sig: is by nobody in $signers"
  ssh-keygen -Y verify -f "$signers" -I "$who" -n stillpoint-release -s "$work/checksums.txt.sig" \
    <"$work/checksums.txt" >/dev/null 2>&1 || fail "checksums.txt.sig: is not a signature of checksums.txt"
  echo "signed by $who"
fi

[ -n "$version" ] || version=$(sed -n "s/^[0-9a-f]\{64\}  stillpoint_\(.*\)_${system}_$machine\.tar\.gz\$/\1/p" "$work/checksums.txt")
[ "$(printf '%s\n' "$version" | grep -c .)" = 1 ] || fail "--version: must be given: checksums.txt lists not one archive for $system on $machine"
archive=stillpoint_${version}_${system}_$machine.tar.gz
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $(printf '%s' "$archive" | sed 's/\./\\./g')\$/\1/p" "$work/checksums.txt")
[ "$(printf '%s' "$want" | wc -c | tr -d ' ')" = 64 ] || fail "checksums.txt: must list $archive once"
get "$archive"
if command -v sha256sum >/dev/null 2>&1; then got=$(sha256sum <"$work/$archive")
elif command -v shasum >/dev/null 2>&1; then got=$(shasum -a 256 <"$work/$archive")
else fail "sha256sum or shasum must be installed to verify the archive"; fi
[ "${got%% *}" = "$want" ] || fail "$archive: SHA-256 is ${got%% *}: must be $want, as in checksums.txt"

mkdir "$work/content"
tar -xzf "$work/$archive" -C "$work/content"
"$work/content/stillpoint" --version >/dev/null || fail "$archive: the command does not run here"
mkdir -p "$to"
cp "$work/content/stillpoint" "$to/.stillpoint.new"
chmod 755 "$to/.stillpoint.new"
mv -f "$to/.stillpoint.new" "$to/stillpoint"
share=$(dirname "$to")/share
put() { mkdir -p "$share/$2" && cp "$work/content/$1" "$share/$2/$3"; }
for page in "$work"/content/man/*.1; do
  [ ! -e "$page" ] || put "man/$(basename "$page")" man/man1 "$(basename "$page")"
done
if [ -d "$work/content/completions" ]; then
  put completions/stillpoint.bash bash-completion/completions stillpoint
  put completions/_stillpoint zsh/site-functions _stillpoint
  put completions/stillpoint.fish fish/vendor_completions.d stillpoint.fish
fi
echo "installed $("$to/stillpoint" --version) as $to/stillpoint"
case :$PATH: in *:"$to":*) ;; *) echo "add $to to PATH" ;; esac

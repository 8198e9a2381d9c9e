"""Times fits that are charged to a PostgreSQL server behind a delay, as across a network.

    python3 lab/results/store_delay.py PROGRAM

starts a server in a folder of its own, and a proxy that holds back each message of the server. It runs the same
fit with each delay, in turns, and prints the times. The programs initdb and pg_ctl must be in PATH or below
/usr/lib/postgresql.
"""

import glob
import os
import pwd
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

DELAYS = [0, 5, 10, 20]  # milliseconds that each reply waits
TURNS = 2
ROWS, STEPS = 400_000, 1_000

CONFIG = """data: visits.csv
budget: {{store: "{store}", dataset: {dataset}}}
schema:
  columns:
    age:  {{number: [18, 100]}}
    ward: {{category: [heart, lung]}}
  target: {{column: long, classes: ["no", "yes"]}}
model: {{loss: logistic}}
privacy: {{epsilon: 1, delta: 1e-6, relation: replace-one}}
train: {{algorithm: gd, steps: {steps}, compare: off}}
"""


def table(path):
    with open(path, "w") as f:
        f.write("age,ward,long\n")
        for p in range(ROWS):
            age = 18 + p * 37 % 83
            long = (age > 60) + (p % 3 == 0) + p * 7 % 4 > 3
            f.write(f"{age},{'heart' if p % 3 == 0 else 'lung'},{'yes' if long else 'no'}\n")


def server(folder):
    """Starts a server on a free port and returns the port and the function that stops it."""
    found = shutil.which("initdb") or sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1]
    programs = os.path.dirname(os.path.realpath(found))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    user = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        entry = pwd.getpwnam("postgres")
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        user = {"user": entry.pw_uid, "group": entry.pw_gid}
    data = os.path.join(folder, "data")

    def run(*command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)

    run(os.path.join(programs, "initdb"), "-D", data, "-U", "stillpoint", "-A", "trust")
    run(os.path.join(programs, "pg_ctl"), "-D", data, "-w", "-l", os.path.join(folder, "log"),
        "-o", f"-p {port} -k {folder} -h 127.0.0.1", "start")
    return port, lambda: run(os.path.join(programs, "pg_ctl"), "-D", data, "-m", "fast", "stop")


class Proxy:
    """Passes connections on to a port. It holds back what the server sends by self.delay seconds."""

    def __init__(self, port):
        self.port, self.delay, self.replies = port, 0.0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            backend = socket.create_connection(("127.0.0.1", self.port))
            for s in (client, backend):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.copy, args=(client, backend, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(backend, client, True), daemon=True).start()

    def copy(self, source, sink, reply):
        try:
            while data := source.recv(1 << 16):
                if reply:
                    self.replies += 1
                    time.sleep(self.delay)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for s in (source, sink):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def main(program):
    program = os.path.abspath(program)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as work:
        port, stop = server(folder)
        try:
            proxy = Proxy(port)
            store = f"postgres://stillpoint@127.0.0.1:{proxy.listener.getsockname()[1]}/postgres?sslmode=disable"
            table(os.path.join(work, "visits.csv"))
            seconds, replies = {d: [] for d in DELAYS}, {d: [] for d in DELAYS}
            for turn in range(TURNS):
                for delay in DELAYS:
                    proxy.delay = 0.0
                    dataset = f"visits-{turn}-{delay}"
                    subprocess.run([program, "budget", "create", dataset, "--store", store, "--epsilon", "3", "--delta", "1e-6",
                                    "--relation", "replace-one"], check=True, stdout=subprocess.DEVNULL, cwd=work)
                    with open(os.path.join(work, "visits.yaml"), "w") as f:
                        f.write(CONFIG.format(store=store, dataset=dataset, steps=STEPS))
                    proxy.delay, proxy.replies = delay / 1000, 0
                    began = time.monotonic()
                    subprocess.run([program, "fit", "visits.yaml", "--out", f"run-{turn}-{delay}"], check=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
                    seconds[delay].append(time.monotonic() - began)
                    replies[delay].append(proxy.replies)
                    print(turn, delay, f"{seconds[delay][-1]:.2f} s", proxy.replies, "replies", file=sys.stderr, flush=True)
            print("| delay of each reply | seconds of the fit (median) | replies of the store | more than without a delay |")
            print("|---|---|---|---|")
            base = statistics.median(seconds[DELAYS[0]])
            for delay in DELAYS:
                t = statistics.median(seconds[delay])
                print(f"| {delay} ms | {t:.1f} | {statistics.median(replies[delay]):.0f} | {100 * (t / base - 1):.1f}% |")
        finally:
            stop()


if __name__ == "__main__":
    main(sys.argv[1])

"""Holds partitions of a table on a Dask cluster of two processes, for a fit that runs elsewhere.

TestDaskToTheBit (package curator) runs it: it is the fit, with coins that it can draw again. The first line of
standard input is the fit's address, the key and the partitions' files as JSON. A later line "kill" kills a process
of Dask; the answer is "killed". The end of standard input ends the fit.
"""

import json
import os
import signal
import sys

import dask.dataframe as dd
import distributed
import pandas as pd

import stillpoint.dask


def main():
    told = json.loads(sys.stdin.readline())
    parts = dd.concat([dd.from_pandas(pd.read_csv(path), npartitions=1) for path in told["files"]])
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            running = stillpoint.dask._Running(client, [(part, None) for part in parts.to_delayed()], stillpoint.dask._whole, None)
            running.key.text = told["key"]
            running.on({"event": "listening", "address": told["address"]})
            pids = list(client.run(os.getpid).values())
            for line in sys.stdin:
                if line.strip() == "kill":
                    os.kill(pids[0], signal.SIGKILL)
                    print("killed", flush=True)
            running.end()
            if running.failed.is_set():
                sys.exit(running.why)


if __name__ == "__main__":
    main()

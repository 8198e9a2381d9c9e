"""Holds partitions of a table on a Dask cluster of three processes, for a fit that runs elsewhere.

TestDaskToTheBit (package curator) runs it: it is the fit, with coins that it can draw again. The first line of
standard input is the fit's address, the key and the partitions' files as JSON. A later line "kill" kills a process
of Dask that holds a partition; the answer is "killed". The end of standard input ends the fit.
"""

import json
import os
import signal
import sys

import dask.dataframe as dd
import distributed
import pandas as pd

import stillpoint.dask


def holder(client):
    """The address of a process that holds a partition."""
    return next(at for at, keys in client.processing().items() if any(str(k).startswith(stillpoint.dask.HOLDS) for k in keys))


def main():
    told = json.loads(sys.stdin.readline())
    parts = dd.concat([dd.from_pandas(pd.read_csv(path), npartitions=1) for path in told["files"]])
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            running = stillpoint.dask._Running(client, [(part, None) for part in parts.to_delayed()], stillpoint.dask._whole, None)
            running.key.text = told["key"]
            running.on({"event": "listening", "address": told["address"]})
            pids = client.run(os.getpid)
            for line in sys.stdin:
                if line.strip() == "kill":
                    os.kill(pids[holder(client)], signal.SIGKILL)
                    print("killed", flush=True)
            running.end()
            if running.failed.is_set():
                sys.exit(running.why)


if __name__ == "__main__":
    main()

"""What the Python peers share: arguments, the bench address space, the report."""

import argparse
import json
import os
import pathlib
import sys
import threading
import time

NAMESPACE = "urn:bench"
DOUBLES = range(1000, 1500)
INT32S = range(1500, 2000)
SCALARS = range(1000, 2000)
BYTE_ARRAYS = {3010: 10, 3011: 10_000, 3012: 20_000, 3013: 65_535, 3014: 102_400}
INT16_ARRAY, INT16_LENGTH = 3020, 512
COUNTERS = {3030: 0.1, 3031: 1.0}
ECHO_METHOD, ECHO_OBJECT = 4000, 4001
NODES = 1000 + 6 + 2 + 2

STEPS = ("connect", "read", "write", "browse", "call", "subscribe")
PATIENCE = 60
# Steps for those who judge a server; only done when named.
JUDGING = ("dump", "watch", "cut", "keys")
JUDGING_PATIENCE = 170


def initial(i):
    return float(i) if i < 1500 else i


def updated(i, n):
    """The value of scalar i after update number n; Int32 wraps as an Int32 does."""
    return float(i + n) if i < 1500 else (i + n + 2**31) % 2**32 - 2**31


def server_arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--port", type=int, required=True)
    a.add_argument("--pki", type=pathlib.Path, required=True)
    a.add_argument("--update-us", type=int, default=0)
    a.add_argument("--strict", action="store_true")
    return a.parse_args()


def client_arguments():
    a = argparse.ArgumentParser()
    a.add_argument("url")
    a.add_argument("--pki", type=pathlib.Path, required=True)
    a.add_argument("--policy", default="None")
    a.add_argument("--mode", default="None")
    a.add_argument("--user")
    a.add_argument("--password", default="")
    a.add_argument("--cert", type=pathlib.Path)
    a.add_argument("--key", type=pathlib.Path)
    a.add_argument("--user-cert", type=pathlib.Path)
    a.add_argument("--user-key", type=pathlib.Path)
    a.add_argument("--do", default=",".join(STEPS))
    a.add_argument("--out", type=pathlib.Path)
    a.add_argument("--updates", type=int, default=50)
    a.add_argument("--cut", type=int)
    args = a.parse_args()
    args.do = [s for s in STEPS + JUDGING if s == "connect" or s in args.do.split(",")]
    args.patience = JUDGING_PATIENCE if set(args.do) & set(JUDGING) else PATIENCE
    return args


def end_with_stdin():
    """End this process when whoever started it closes our standard input, or is gone."""

    def watch():
        while os.read(0, 4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def ready(port):
    print(f"READY opc.tcp://127.0.0.1:{port}", flush=True)


def trusted(pki):
    """The DER certificates that a strict server trusts."""
    return {f.read_bytes() for f in (pki / "trusted" / "certs").glob("*.der")}


class Ticker:
    """Says when the next update is due; one that comes late starts again from now."""

    def __init__(self, period):
        self.period = period
        self.due = time.monotonic() + period

    def wait(self):
        now = time.monotonic()
        pause = self.due - now
        self.due = (self.due if pause > -self.period else now) + self.period
        return max(pause, 0)


class Report:
    def __init__(self, stack, version, steps):
        self.body = {"stack": stack, "version": version, "steps": {s: {"ok": False} for s in steps}, "error": None}

    def step(self, name):
        return self.body["steps"][name]

    def failed(self, name, error):
        text = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        self.step(name).update(ok=False, error=text)
        self.body["error"] = self.body["error"] or f"{name}: {text}"

    def print_and_exit(self):
        print(json.dumps(self.body), flush=True)
        # Not sys.exit: threads of a half-open connection would keep the process alive.
        os._exit(0 if all(s["ok"] for s in self.body["steps"].values()) else 1)

    def give_up_after(self, seconds):
        def give_up():
            for name, step in self.body["steps"].items():
                if not step["ok"] and "error" not in step:
                    self.failed(name, f"gave up after {seconds} s")
            self.print_and_exit()

        timer = threading.Timer(seconds, give_up)
        timer.daemon = True
        timer.start()


def rising(values):
    return len(values) >= 3 and all(a < b for a, b in zip(values, values[1:]))


def array_sum(value):
    """Length and sum of an array of numbers (or of a ByteString's bytes)."""
    return [len(value), sum(value) % 65536]


def log(*words):
    print(*words, file=sys.stderr, flush=True)

"""asyncua as a judge of aggregates: aggregates.py URL STEPS FOLDER prints one JSON object.

What the server makes of values stands beside what a few lines make of the raw ones."""

import asyncio
import json
import statistics
import sys
from datetime import datetime, timedelta, timezone

from asyncua import Client, ua

NODE = "ns=2;s=Level"
INTERVAL = timedelta(milliseconds=250)
CODES = {name: ua.NodeId(getattr(ua.ObjectIds, f"AggregateFunction_{name}")) for name in (
    "Average", "Minimum", "Maximum", "Range", "Count", "Start", "End", "TimeAverage", "Total", "Interpolative",
    "StandardDeviationSample", "VariancePopulation", "PercentGood")}


def folded(name, values, before, start):
    """By hand: the values of an interval, and the one before it."""
    numbers = [v for _, v in values]
    stands = [(start, before)] + values
    ends = [t for t, _ in stands[1:]] + [start + INTERVAL]
    area = sum(v * (end - t).total_seconds() for (t, v), end in zip(stands, ends))
    return {
        "Average": lambda: statistics.fmean(numbers), "Minimum": lambda: min(numbers), "Maximum": lambda: max(numbers),
        "Range": lambda: max(numbers) - min(numbers), "Count": lambda: len(numbers), "Start": lambda: numbers[0],
        "End": lambda: numbers[-1], "TimeAverage": lambda: area / INTERVAL.total_seconds(), "Total": lambda: area,
        "Interpolative": lambda: before, "StandardDeviationSample": lambda: statistics.stdev(numbers),
        "VariancePopulation": lambda: statistics.pvariance(numbers), "PercentGood": lambda: 100.0,
    }[name]()


async def processed(c):
    await asyncio.sleep(2.5)
    node = c.get_node(NODE)
    end = datetime.now(timezone.utc)
    raw = await node.read_raw_history(end - timedelta(seconds=2.1), end, numvalues=0)
    values = [(v.SourceTimestamp.replace(tzinfo=timezone.utc), v.Value.Value) for v in raw]
    start = values[0][0] + timedelta(milliseconds=30)
    spans = [start + n * INTERVAL for n in range(7)]
    told = {}
    for name, code in CODES.items():
        params = ua.HistoryReadParameters()
        params.HistoryReadDetails = ua.ReadProcessedDetails(
            StartTime=start, EndTime=spans[-1] + INTERVAL, ProcessingInterval=250, AggregateType=[code])
        params.TimestampsToReturn = ua.TimestampsToReturn.Both
        params.ReleaseContinuationPoints = False
        params.NodesToRead = [ua.HistoryReadValueId(NodeId=node.nodeid)]
        result = (await c.uaclient.history_read(params))[0]
        result.StatusCode.check()
        served = [v.Value.Value for v in result.HistoryData.DataValues]
        own = []
        for at in spans:
            inside = [(t, v) for t, v in values if at <= t < at + INTERVAL]
            before = [v for t, v in values if t < at][-1]
            own.append(folded(name, inside, before, at))
        told[name] = {"served": served, "own": own}
    return told


STEPS = {"processed": processed}


async def main():
    told = {}
    async with Client(sys.argv[1], timeout=60, watchdog_intervall=60) as c:
        for step in sys.argv[2].split(","):
            told[step] = await STEPS[step](c)
    print(json.dumps(told))


asyncio.run(main())

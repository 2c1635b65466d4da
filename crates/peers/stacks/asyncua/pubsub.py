"""Publishes, or subscribes to, PubSub over UDP:
pubsub.py publish|subscribe HOST:PORT --encoding variant|raw|value [--cycles N]
          [--publisher uint16|uint64]"""

import argparse
import asyncio
import json
import sys
from datetime import datetime, timezone

from asyncua import pubsub, ua

parser = argparse.ArgumentParser()
parser.add_argument("role", choices=["publish", "subscribe"])
parser.add_argument("address")
parser.add_argument("--encoding", choices=["variant", "raw", "value"], default="variant")
parser.add_argument("--cycles", type=int, default=0)
parser.add_argument("--publisher", choices=["uint16", "uint64"], default="uint16")
options = parser.parse_args()


async def input_ends():
    """Standard input is at its end as soon as whoever started this is gone."""
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    await reader.read()


def settings():
    host, port = options.address.rsplit(":", 1)
    return pubsub.UdpSettings(Addr=(host, int(port)), Adapter=(host, int(port)))


class Cycles(pubsub.PubSubDataSource):
    """A Double, an Int32, a UInt16 and a Boolean, all of them made of the cycle."""

    def __init__(self, done):
        self.cycle = 0
        self.done = done

    async def on_get_value(self):
        cycle = self.cycle
        self.cycle += 1
        if cycle >= options.cycles:
            self.done.set()
            await asyncio.Event().wait()
        now = datetime.now(timezone.utc)
        types = ua.VariantType
        values = [
            (cycle + 0.5, types.Double),
            (-cycle, types.Int32),
            (cycle, types.UInt16),
            (cycle % 2 == 1, types.Boolean),
        ]
        return [
            ua.DataValue(ua.Variant(value, kind), SourceTimestamp=now, ServerTimestamp=now)
            for value, kind in values
        ]


async def publish():
    done = asyncio.Event()
    meta = pubsub.DataSetMeta.Create("set")
    kinds = [ua.VariantType.Double, ua.VariantType.Int32, ua.VariantType.UInt16, ua.VariantType.Boolean]
    for place, kind in enumerate(kinds):
        meta.add_scalar(f"field{place}", kind)
    data_set = pubsub.PublishedDataSet.Create("set", meta, Cycles(done))
    writer = pubsub.DataSetWriter.new_uadp(
        name="writer",
        dataset_name="set",
        dataset_writer_id=ua.UInt16(62541),
        raw=options.encoding == "raw",
        datavalue=options.encoding == "value",
    )
    group = pubsub.WriterGroup.new_uadp(
        name="group",
        writer_group_id=ua.UInt16(100),
        publishing_interval=2,
        writer=[writer],
    )
    kind = ua.VariantType.UInt64 if options.publisher == "uint64" else ua.VariantType.UInt16
    publisher = ua.Variant(ua.UInt64(2234) if options.publisher == "uint64" else ua.UInt16(2234), kind)
    connection = pubsub.PubSubConnection.udp_uadp(
        "connection", publisher, settings(), writer_groups=[group]
    )
    # It receives at a port of its own: that of the listener is taken.
    connection._network_settings.Adapter = ("127.0.0.1", 0)
    await run(connection, data_set, asyncio.create_task(done.wait()))


class Rows:
    async def on_dataset_received(self, meta, fields):
        values = [field.Value.Value for field in fields]
        # What came as RawData has no Variant around it.
        row = [value.Value if isinstance(value, ua.Variant) else value for value in values]
        print(json.dumps(row), flush=True)

    async def on_state_change(self, meta, state):
        pass


async def subscribe():
    meta = pubsub.DataSetMeta.Create("set")
    for place in range(4):
        meta.add_scalar(f"field{place}", ua.VariantType.Double)
    reader = pubsub.DataSetReader.new(
        ua.Variant(ua.UInt16(1), ua.VariantType.UInt16),
        # Any group and writer: not every header layout names them.
        ua.UInt16(0),
        ua.UInt16(0),
        meta,
        enabled=True,
        subscribed=Rows(),
    )
    group = pubsub.ReaderGroup.new(name="group", reader=[reader], enable=True)
    connection = pubsub.PubSubConnection.udp_uadp(
        "connection", ua.UInt16(2234), settings(), reader_groups=[group]
    )
    await run(connection, None, asyncio.create_task(asyncio.Event().wait()))


async def run(connection, data_set, end):
    top = pubsub.PubSub.new()
    if data_set is not None:
        await top.add_published_dataset(data_set)
    # Connections that PubSub.new is given do not know it.
    await top.add_connection(connection)
    await top.start()
    # Why it has none was logged.
    if connection._transport is None:
        sys.exit("no socket")
    print("READY", flush=True)
    over = asyncio.create_task(input_ends())
    await asyncio.wait([over, end], return_when=asyncio.FIRST_COMPLETED)


asyncio.run({"publish": publish, "subscribe": subscribe}[options.role]())

"""The bench client on asyncua: does each step once and reports as JSON."""

import asyncio
import logging
import time
from importlib.metadata import version

from asyncua import Client, ua
from asyncua.crypto import security_policies

import bench
import identity
import judge

NAME, URI = "asyncua bench client", "urn:uaperf:peers:asyncua:client"


async def client(args):
    c = Client(args.url, timeout=20)
    c.name, c.application_uri = NAME, URI
    if args.policy != "None":
        cert, key = (args.cert, args.key) if args.cert else identity.own(args.pki, NAME, URI)
        policy = getattr(security_policies, "SecurityPolicy" + args.policy.replace("_", ""), None)
        if policy is None:
            raise ValueError(f"asyncua has no policy {args.policy}")
        await c.set_security(policy, cert, key, mode=getattr(ua.MessageSecurityMode, args.mode))
    if args.user:
        c.set_user(args.user)
        c.set_password(args.password)
    if args.user_cert:
        await c.load_client_certificate(args.user_cert)
        await c.load_private_key(args.user_key)
    return c


async def connect(args, step):
    c = await client(args)
    start = time.perf_counter()
    await c.connect(auto_reconnect="cut" in args.do)
    step.update(ok=True, ms=round((time.perf_counter() - start) * 1e3, 3))
    return c, await c.get_namespace_index(bench.NAMESPACE)


async def read(c, ns, step):
    scalars = [*bench.SCALARS, *bench.COUNTERS]
    values = []
    for at in range(0, len(scalars), 500):
        values += await c.read_values([c.get_node(ua.NodeId(i, ns)) for i in scalars[at : at + 500]])
    arrays = [*bench.BYTE_ARRAYS, bench.INT16_ARRAY]
    contents = [await c.get_node(ua.NodeId(i, ns)).read_value() for i in arrays]
    step.update(
        ok=all(v is not None for v in values + contents),
        values={f"i={i}": v for i, v in zip(scalars, values)},
        arrays={f"i={i}": bench.array_sum(v) for i, v in zip(arrays, contents)},
    )


async def write(c, ns, step):
    nodes = [c.get_node(ua.NodeId(i, ns)) for i in (1499, 1999)]

    def as_written(a, b):
        return [ua.DataValue(ua.Variant(a, ua.VariantType.Double)), ua.DataValue(ua.Variant(b, ua.VariantType.Int32))]

    before = await c.read_values(nodes)
    await c.write_values(nodes, as_written(0.5, -5))
    after = await c.read_values(nodes)
    await c.write_values(nodes, as_written(*before))
    step.update(ok=after == [0.5, -5])
    if not step["ok"]:
        raise ValueError(f"wrote 0.5 and -5, read back {after}")


async def browse(c, ns, step):
    seen, to_visit = set(), [c.nodes.objects]
    while to_visit:
        node = to_visit.pop()
        # get_references follows continuation points
        for r in await node.get_references(ua.ObjectIds.HierarchicalReferences, ua.BrowseDirection.Forward):
            if r.NodeId.NamespaceIndex == ns and r.NodeId not in seen:
                seen.add(r.NodeId)
                if r.NodeClass == ua.NodeClass.Object:
                    to_visit.append(c.get_node(r.NodeId))
    step.update(ok=len(seen) >= bench.NODES, count=len(seen))


async def call(c, ns, step):
    echo = c.get_node(ua.NodeId(bench.ECHO_OBJECT, ns))
    result = await echo.call_method(ua.NodeId(bench.ECHO_METHOD, ns), ua.Variant(12.5, ua.VariantType.Double))
    step.update(ok=result == 12.5, result=result)


async def subscribe(c, ns, step):
    values, enough = [], asyncio.Event()

    class Handler:
        def datachange_notification(self, _node, value, _data):
            values.append(value)
            if len(values) >= 5:
                enough.set()

    subscription = await c.create_subscription(100, Handler())
    await subscription.subscribe_data_change(c.get_node(ua.NodeId(3030, ns)), queuesize=10, sampling_interval=100)
    try:
        await asyncio.wait_for(enough.wait(), 5)
    except asyncio.TimeoutError:
        pass
    await subscription.delete()
    step.update(ok=bench.rising(values), notifications=len(values), values=values)


async def main():
    args = bench.client_arguments()
    logging.basicConfig(level=logging.WARNING)
    report = bench.Report("asyncua", version("asyncua"), args.do)
    report.give_up_after(args.patience)
    try:
        c, ns = await connect(args, report.step("connect"))
    except Exception as e:
        for name in args.do:
            report.failed(name, e if name == "connect" else "not connected")
        report.print_and_exit()
    for name, step in (("read", read), ("write", write), ("browse", browse), ("call", call), ("subscribe", subscribe)):
        if name in args.do:
            try:
                await step(c, ns, report.step(name))
                if not report.step(name)["ok"]:
                    report.failed(name, "not as expected")
            except Exception as e:
                report.failed(name, e)
    for name, step in (("dump", judge.dump), ("watch", judge.watch), ("cut", judge.cut), ("keys", judge.keys)):
        if name in args.do:
            try:
                await step(c, ns, args, report.step(name))
            except Exception as e:
                report.failed(name, e)
    try:
        await c.disconnect()
    except Exception as e:
        bench.log("disconnect:", e)
    report.print_and_exit()


asyncio.run(main())

"""The bench client on python-opcua: does each step once and reports as JSON."""

import logging
import threading
import time
from importlib.metadata import version

from opcua import Client, ua
from opcua.crypto import security_policies

import bench
import identity

NAME, URI = "python-opcua bench client", "urn:uaperf:peers:pyopcua:client"


def client(args):
    c = Client(args.url, timeout=20)
    c.name, c.application_uri = NAME, URI
    if args.policy != "None":
        cert, key = (args.cert, args.key) if args.cert else identity.own(args.pki, NAME, URI)
        policy = getattr(security_policies, "SecurityPolicy" + args.policy.replace("_", ""), None)
        if policy is None:
            raise ValueError(f"python-opcua has no policy {args.policy}")
        c.set_security(policy, str(cert), str(key), mode=getattr(ua.MessageSecurityMode, args.mode))
    if args.user:
        c.set_user(args.user)
        c.set_password(args.password)
    if args.user_cert:
        c.load_client_certificate(str(args.user_cert))
        c.load_private_key(str(args.user_key))
    return c


def connect(args, step):
    c = client(args)
    start = time.perf_counter()
    c.connect()
    step.update(ok=True, ms=round((time.perf_counter() - start) * 1e3, 3))
    return c, c.get_namespace_index(bench.NAMESPACE)


def read(c, ns, step):
    scalars = [*bench.SCALARS, *bench.COUNTERS]
    values = []
    for at in range(0, len(scalars), 500):
        values += c.get_values([c.get_node(ua.NodeId(i, ns)) for i in scalars[at : at + 500]])
    arrays = [*bench.BYTE_ARRAYS, bench.INT16_ARRAY]
    contents = [c.get_node(ua.NodeId(i, ns)).get_value() for i in arrays]
    step.update(
        ok=all(v is not None for v in values + contents),
        values={f"i={i}": v for i, v in zip(scalars, values)},
        arrays={f"i={i}": bench.array_sum(v) for i, v in zip(arrays, contents)},
    )


def write(c, ns, step):
    nodes = [c.get_node(ua.NodeId(i, ns)) for i in (1499, 1999)]

    def as_written(a, b):
        # DataValue without timestamps: many servers refuse to have theirs set
        return [ua.DataValue(ua.Variant(a, ua.VariantType.Double)), ua.DataValue(ua.Variant(b, ua.VariantType.Int32))]

    before = c.get_values(nodes)
    c.set_values(nodes, as_written(0.5, -5))
    after = c.get_values(nodes)
    c.set_values(nodes, as_written(*before))
    step.update(ok=after == [0.5, -5])
    if not step["ok"]:
        raise ValueError(f"wrote 0.5 and -5, read back {after}")


def browse(c, ns, step):
    seen, to_visit = set(), [c.get_objects_node()]
    while to_visit:
        node = to_visit.pop()
        # get_references follows continuation points
        for r in node.get_references(ua.ObjectIds.HierarchicalReferences, ua.BrowseDirection.Forward):
            if r.NodeId.NamespaceIndex == ns and r.NodeId not in seen:
                seen.add(r.NodeId)
                if r.NodeClass == ua.NodeClass.Object:
                    to_visit.append(c.get_node(r.NodeId))
    step.update(ok=len(seen) >= bench.NODES, count=len(seen))


def call(c, ns, step):
    echo = c.get_node(ua.NodeId(bench.ECHO_OBJECT, ns))
    result = echo.call_method(ua.NodeId(bench.ECHO_METHOD, ns), ua.Variant(12.5, ua.VariantType.Double))
    step.update(ok=result == 12.5, result=result)


def subscribe(c, ns, step):
    values, enough = [], threading.Event()

    class Handler:
        def datachange_notification(self, _node, value, _data):
            values.append(value)
            if len(values) >= 5:
                enough.set()

    subscription = c.create_subscription(100, Handler())
    # the sampling interval is the subscription's publishing interval
    subscription.subscribe_data_change(c.get_node(ua.NodeId(3030, ns)), queuesize=10)
    enough.wait(5)
    subscription.delete()
    step.update(ok=bench.rising(values), notifications=len(values), values=values)


def main():
    args = bench.client_arguments()
    logging.basicConfig(level=logging.WARNING)
    report = bench.Report("pyopcua", version("opcua"), args.do)
    report.give_up_after(bench.PATIENCE)
    try:
        c, ns = connect(args, report.step("connect"))
    except Exception as e:
        for name in args.do:
            report.failed(name, e if name == "connect" else "not connected")
        report.print_and_exit()
    for name, step in (("read", read), ("write", write), ("browse", browse), ("call", call), ("subscribe", subscribe)):
        if name in args.do:
            try:
                step(c, ns, report.step(name))
                if not report.step(name)["ok"]:
                    report.failed(name, "not as expected")
            except Exception as e:
                report.failed(name, e)
    try:
        c.disconnect()
    except Exception as e:
        bench.log("disconnect:", e)
    report.print_and_exit()


main()

"""The bench server on python-opcua; see the README one folder up for what it keeps to."""

import gc
import logging
import sys
import threading
import time
from datetime import datetime

# The standard address space is some hundred thousand objects that stay: looking for garbage
# among them while they are made doubles the time it takes.
gc.disable()

from opcua import Server, ua, uamethod  # noqa: E402
from opcua.server.user_manager import UserManager  # noqa: E402

import bench  # noqa: E402
import identity  # noqa: E402

NAME, URI = "python-opcua bench server", "urn:uaperf:peers:pyopcua:server"


def check_user(session, user, password):
    session.user = UserManager.User.User
    return (user, password) == ("bench", "bench")


@uamethod
def echo(_parent, value):
    return value


def add_nodes(server):
    ns = server.register_namespace(bench.NAMESPACE)
    objects = server.get_objects_node()

    def variable(i, value, kind, writable=True):
        datatype = ua.NodeId(getattr(ua.ObjectIds, kind.name))
        node = objects.add_variable(
            ua.NodeId(i, ns), ua.QualifiedName(f"v{i}", ns), ua.Variant(value, kind), datatype=datatype)
        if writable:
            node.set_writable()
        return node.nodeid

    scalars = [(i, variable(i, bench.initial(i), ua.VariantType.Double)) for i in bench.DOUBLES]
    scalars += [(i, variable(i, bench.initial(i), ua.VariantType.Int32)) for i in bench.INT32S]
    for i, length in bench.BYTE_ARRAYS.items():
        variable(i, [k % 256 for k in range(length)], ua.VariantType.Byte)
    variable(bench.INT16_ARRAY, list(range(bench.INT16_LENGTH)), ua.VariantType.Int16)
    counters = {i: variable(i, 0, ua.VariantType.UInt32, writable=False) for i in bench.COUNTERS}

    def argument():
        a = ua.Argument()
        a.Name, a.DataType, a.ValueRank = "value", ua.NodeId(ua.ObjectIds.Double), -1
        return a

    bench_object = objects.add_object(ua.NodeId(bench.ECHO_OBJECT, ns), ua.QualifiedName("bench", ns))
    bench_object.add_method(
        ua.NodeId(bench.ECHO_METHOD, ns), ua.QualifiedName("echo", ns), echo, [argument()], [argument()])
    return scalars, counters


def set_value(server, node, value, kind):
    data = ua.DataValue(ua.Variant(value, kind))
    data.SourceTimestamp = data.ServerTimestamp = datetime.utcnow()
    server.set_attribute_value(node, data)


def every(period, action):
    def loop():
        ticker, n = bench.Ticker(period), 0
        while True:
            time.sleep(ticker.wait())
            n += 1
            action(n)

    threading.Thread(target=loop, daemon=True).start()


def main():
    args = bench.server_arguments()
    if args.strict:
        sys.exit("python-opcua has no trust list: every client certificate is accepted")
    bench.end_with_stdin()
    logging.basicConfig(level=logging.WARNING)

    server = Server()
    server.set_application_uri(URI)
    server.set_server_name(NAME)
    server.set_endpoint(f"opc.tcp://127.0.0.1:{args.port}")
    server.set_security_policy(list(ua.SecurityPolicyType))
    server.set_security_IDs(["Anonymous", "Basic256Sha256", "Username"])
    server.user_manager.set_user_manager(check_user)
    cert, key = identity.own(args.pki, NAME, URI)
    server.load_certificate(str(cert))
    server.load_private_key(str(key))
    scalars, counters = add_nodes(server)
    gc.enable()
    server.start()
    bench.ready(args.port)

    for i, period in bench.COUNTERS.items():
        every(period, lambda n, node=counters[i]: set_value(server, node, n, ua.VariantType.UInt32))
    if args.update_us:
        def update(n):
            for i, node in scalars:
                kind = ua.VariantType.Double if i in bench.DOUBLES else ua.VariantType.Int32
                set_value(server, node, bench.updated(i, n), kind)

        every(args.update_us / 1e6, update)
    while True:
        time.sleep(3600)


main()

"""The bench server on asyncua; see the README one folder up for what it keeps to."""

import asyncio
import gc
import logging

# The standard address space is some hundred thousand objects that stay: looking for garbage
# among them while they are made doubles the time it takes.
gc.disable()

from asyncua import Server, ua  # noqa: E402
from asyncua.crypto.permission_rules import User, UserRole  # noqa: E402
from asyncua.server.uaprocessor import ServiceError  # noqa: E402
from cryptography.hazmat.primitives.serialization import Encoding  # noqa: E402

import bench  # noqa: E402
import identity  # noqa: E402

NAME, URI = "asyncua bench server", "urn:uaperf:peers:asyncua:server"


class Users:
    """Anonymous, bench/bench, and everyone with a certificate (its proof asyncua checks)."""

    def get_user(self, iserver, username=None, password=None, certificate=None):
        if username is not None and (username, password) != ("bench", "bench"):
            return None
        return User(role=UserRole.User, name=username)


def strict(trusted):
    async def validate(certificate, _application):
        if certificate.public_bytes(Encoding.DER) not in trusted:
            raise ServiceError(ua.StatusCodes.BadCertificateUntrusted)

    return validate


async def add_nodes(server):
    ns = await server.register_namespace(bench.NAMESPACE)
    objects = server.nodes.objects

    async def variable(i, value, kind, writable=True):
        # the data type is always named: asyncua would otherwise guess it from the value
        datatype = ua.NodeId(getattr(ua.ObjectIds, kind.name))
        node = await objects.add_variable(
            ua.NodeId(i, ns), ua.QualifiedName(f"v{i}", ns), ua.Variant(value, kind), datatype=datatype)
        if writable:
            await node.set_writable()
        return node.nodeid

    scalars = [(i, await variable(i, bench.initial(i), ua.VariantType.Double)) for i in bench.DOUBLES]
    scalars += [(i, await variable(i, bench.initial(i), ua.VariantType.Int32)) for i in bench.INT32S]
    for i, length in bench.BYTE_ARRAYS.items():
        await variable(i, [k % 256 for k in range(length)], ua.VariantType.Byte)
    await variable(bench.INT16_ARRAY, list(range(bench.INT16_LENGTH)), ua.VariantType.Int16)
    counters = {i: await variable(i, 0, ua.VariantType.UInt32, writable=False) for i in bench.COUNTERS}

    async def echo(_parent, value):
        return [value]

    def argument():
        return ua.Argument(Name="value", DataType=ua.NodeId(ua.ObjectIds.Double), ValueRank=-1)

    bench_object = await objects.add_object(ua.NodeId(bench.ECHO_OBJECT, ns), ua.QualifiedName("bench", ns))
    await bench_object.add_method(
        ua.NodeId(bench.ECHO_METHOD, ns), ua.QualifiedName("echo", ns), echo, [argument()], [argument()])
    return scalars, counters


async def count(server, node, period):
    ticker, n = bench.Ticker(period), 0
    while True:
        await asyncio.sleep(ticker.wait())
        n += 1
        await server.write_attribute_value(node, ua.DataValue(ua.Variant(n, ua.VariantType.UInt32)))


async def update(server, scalars, period):
    ticker, n = bench.Ticker(period), 0
    kinds = [(i, node, ua.VariantType.Double if i in bench.DOUBLES else ua.VariantType.Int32) for i, node in scalars]
    while True:
        await asyncio.sleep(ticker.wait())
        n += 1
        for i, node, kind in kinds:
            await server.write_attribute_value(node, ua.DataValue(ua.Variant(bench.updated(i, n), kind)))


async def main():
    args = bench.server_arguments()
    bench.end_with_stdin()
    logging.basicConfig(level=logging.WARNING)

    server = Server(user_manager=Users())
    await server.init()
    await server.set_application_uri(URI)
    server.set_server_name(NAME)
    server.set_endpoint(f"opc.tcp://127.0.0.1:{args.port}")
    server.set_security_policy(list(ua.SecurityPolicyType))
    cert, key = identity.own(args.pki, NAME, URI)
    await server.load_certificate(cert)
    await server.load_private_key(key)
    if args.strict:
        server.set_certificate_validator(strict(bench.trusted(args.pki)))

    scalars, counters = await add_nodes(server)
    # Many sessions come and go in a load test, and stay for as long as it lasts.
    server.iserver.max_connections = 10_000
    server.iserver.max_subscriptions = 100_000
    server.iserver.max_session_timeout_ms = 3_600_000
    server.iserver.max_pending_messages_per_connection = 10_000
    gc.enable()
    async with server:
        bench.ready(args.port)
        tasks = [count(server, counters[i], period) for i, period in bench.COUNTERS.items()]
        if args.update_us:
            tasks.append(update(server, scalars, args.update_us / 1e6))
        await asyncio.gather(*tasks)


asyncio.run(main())

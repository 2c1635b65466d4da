"""The steps that judge a server: what was seen goes to a file, line by line, for somebody else to compare."""

import asyncio

from asyncua import ua
from asyncua.common.utils import NotEnoughData
from asyncua.ua.ua_binary import nodeid_to_binary, struct_to_binary, variant_to_binary

NODES_AT_ONCE = 100
REFERENCES_AT_ONCE = 100
ATTRIBUTES = range(1, 28)


async def references(c, ids):
    """All references of each node, both ways, by BrowseNext where there are many."""
    parameters = ua.BrowseParameters()
    parameters.RequestedMaxReferencesPerNode = REFERENCES_AT_ONCE
    for i in ids:
        one = ua.BrowseDescription()
        one.NodeId, one.BrowseDirection = i, ua.BrowseDirection.Both
        one.ReferenceTypeId, one.IncludeSubtypes = ua.NodeId(), True
        one.NodeClassMask, one.ResultMask = ua.NodeClass(0), ua.BrowseResultMask.All
        parameters.NodesToBrowse.append(one)
    found = []
    for result in await c.uaclient.browse(parameters):
        result.StatusCode.check()
        all_of_one = list(result.References or [])
        while result.ContinuationPoint:
            following = ua.BrowseNextParameters(False, [result.ContinuationPoint])
            [result] = await c.uaclient.browse_next(following)
            result.StatusCode.check()
            all_of_one += result.References or []
        found.append(all_of_one)
    return found


async def attributes(c, wanted):
    """The values; where the stack cannot decode a response, the error for those that it is about."""
    parameters = ua.ReadParameters()
    parameters.TimestampsToReturn = ua.TimestampsToReturn.Neither
    parameters.NodesToRead = [ua.ReadValueId(i, ua.AttributeIds(a)) for i, a in wanted]
    try:
        return await c.uaclient.read(parameters)
    except NotEnoughData as e:
        if len(wanted) == 1:
            return [e]
        half = len(wanted) // 2
        return await attributes(c, wanted[:half]) + await attributes(c, wanted[half:])


async def dump(c, _ns, args, step):
    root = ua.NodeId(ua.ObjectIds.RootFolder)
    seen, pending, lines = {root}, [root], 0
    with open(args.out, "w") as out:
        while pending:
            ids, pending = pending[:NODES_AT_ONCE], pending[NODES_AT_ONCE:]
            names = [nodeid_to_binary(i).hex() for i in ids]
            for name, found in zip(names, await references(c, ids)):
                for r in found:
                    print("R", name, struct_to_binary(r).hex(), sep="\t", file=out)
                    lines += 1
                    target = ua.NodeId(r.NodeId.Identifier, r.NodeId.NamespaceIndex, r.NodeId.NodeIdType)
                    if getattr(r.NodeId, "ServerIndex", 0) == 0 and target not in seen:
                        seen.add(target)
                        pending.append(target)
            values = iter(await attributes(c, [(i, a) for i in ids for a in ATTRIBUTES]))
            for name in names:
                for attribute, value in zip(ATTRIBUTES, values):
                    if isinstance(value, NotEnoughData):
                        print("U", name, attribute, value, sep="\t", file=out)
                        continue
                    status = value.StatusCode.value if value.StatusCode is not None else 0
                    if status == ua.StatusCodes.BadAttributeIdInvalid:
                        continue
                    body = variant_to_binary(value.Value).hex() if value.Value is not None else ""
                    print("A", name, attribute, f"{status:08x}", body, sep="\t", file=out)
                    lines += 1
    step.update(ok=True, nodes=len(seen), lines=lines)


async def watch(c, ns, args, step):
    wanted = args.updates + 1
    values, enough = [], asyncio.Event()
    counts, done = {}, 0

    class Handler:
        def datachange_notification(self, node, value, data):
            nonlocal done
            i = node.nodeid.Identifier
            status = data.monitored_item.Value.StatusCode
            values.append((i, value, status.value if status is not None else 0))
            counts[i] = counts.get(i, 0) + 1
            if counts[i] == wanted:
                done += 1
                if done == 1000:
                    enough.set()

    subscription = await c.create_subscription(100, Handler())
    nodes = [c.get_node(ua.NodeId(i, ns)) for i in range(1000, 2000)]
    await subscription.subscribe_data_change(nodes, queuesize=1000, sampling_interval=0)
    await enough.wait()
    await subscription.delete()
    with open(args.out, "w") as out:
        for i, value, status in values:
            print(i, int(value), f"{status:08x}", sep="\t", file=out)
    step.update(ok=True, notifications=len(values))


async def cut(c, ns, args, step):
    values, some, enough = [], asyncio.Event(), asyncio.Event()

    class Handler:
        def datachange_notification(self, _node, value, _data):
            values.append(value)
            if len(values) == 5:
                some.set()
            if "CUT" in values and len(values) > values.index("CUT") + args.updates:
                enough.set()

    subscription = await c.create_subscription(100, Handler())
    await subscription.subscribe_data_change(c.get_node(ua.NodeId(3030, ns)), queuesize=1000, sampling_interval=0)
    await some.wait()
    values.append("CUT")
    _, writer = await asyncio.open_connection("127.0.0.1", args.cut)
    writer.close()
    await enough.wait()
    await subscription.delete()
    args.out.write_text("".join(f"{value}\n" for value in values))
    step.update(ok=True, notifications=len(values) - 1)


async def keys(c, _ns, args, step):
    """GetSecurityKeys of Part 14: the group `bench`, three keys from the current one on."""
    method = ua.NodeId(ua.ObjectIds.PublishSubscribe_GetSecurityKeys)
    service = c.get_node(ua.NodeId(ua.ObjectIds.PublishSubscribe))
    inputs = [ua.Variant("bench", ua.VariantType.String), ua.Variant(0, ua.VariantType.UInt32)]
    try:
        outputs = await service.call_method(method, *inputs, ua.Variant(3, ua.VariantType.UInt32))
        policy, first, all_keys, to_next, lifetime = outputs
        lines = [policy, str(first), str(int(to_next)), str(int(lifetime)), *(key.hex() for key in all_keys)]
    except ua.UaStatusCodeError as e:
        lines = [ua.StatusCode(e.code).name]
    with open(args.out, "w") as out:
        out.write("".join(f"{line}\n" for line in lines))
    step.update(ok=True)

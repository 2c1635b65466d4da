"""asyncua as a judge of events, conditions, histories and node management: prints one JSON object."""

import asyncio
import itertools
import json
import struct
import sys
from datetime import datetime, timedelta, timezone

from asyncua import Client, ua


class Heard:
    def __init__(self):
        self.events = []

    def event_notification(self, event):
        self.events.append(event)


def number(event_id):
    source, n, _ = struct.unpack(">IQI", event_id)
    return source, n


def gaps(ids):
    """Events that are missing between the first and the last of each source, and how often one came twice."""
    by_source = {}
    for source, n in ids:
        by_source.setdefault(source, []).append(n)
    missing = sum(max(ns) - min(ns) + 1 - len(set(ns)) for ns in by_source.values())
    twice = sum(len(ns) - len(set(ns)) for ns in by_source.values())
    return {"sources": len(by_source), "missing": missing, "twice": twice}


async def until(true):
    # A busy machine takes its time; what never comes is missed by what is told in the end.
    for _ in range(600):
        if true():
            return
        await asyncio.sleep(0.1)


async def flood(c, seconds):
    heard = Heard()
    sub = await c.create_subscription(100, heard)
    node = c.get_node("ns=2;s=Flood")
    await sub.subscribe_events(node, ua.ObjectIds.SystemEventType, queuesize=0)
    await until(lambda: len(heard.events) >= 5000 * seconds)
    await sub.delete()
    # Who is too slow is told so by an overflow event (Part 4, 7.22.3); before it nothing may be missing.
    overflow = ua.NodeId(ua.ObjectIds.EventQueueOverflowEventType)
    kept = list(itertools.takewhile(lambda e: e.EventType != overflow, heard.events))
    ids = [number(e.EventId) for e in kept]
    return {"count": len(ids), **gaps(ids), "severity": max(e.Severity for e in kept)}


async def where(c, seconds):
    heard = Heard()
    sub = await c.create_subscription(100, heard)
    of = ua.SimpleAttributeOperand(
        TypeDefinitionId=ua.NodeId(ua.ObjectIds.BaseEventType),
        BrowsePath=[ua.QualifiedName("Severity")],
        AttributeId=ua.AttributeIds.Value,
    )
    low = ua.ContentFilterElement(ua.FilterOperator.GreaterThan, [of, ua.LiteralOperand(ua.Variant(800, ua.VariantType.UInt16))])
    evfilter = ua.EventFilter()
    evfilter.SelectClauses = [
        ua.SimpleAttributeOperand(ua.NodeId(ua.ObjectIds.BaseEventType), [ua.QualifiedName(n)], ua.AttributeIds.Value)
        for n in ("EventId", "EventType", "SourceName", "Severity")
    ]
    evfilter.WhereClause = ua.ContentFilter([low])
    await sub.subscribe_events(c.nodes.server, evfilter=evfilter, queuesize=0)
    await asyncio.sleep(seconds)
    await until(lambda: heard.events)
    await sub.delete()
    return {"count": len(heard.events), "least": min(e.Severity for e in heard.events)}


async def conditions(c):
    heard = Heard()
    sub = await c.create_subscription(100, heard)
    alarm = ua.ObjectIds.AlarmConditionType
    await sub.subscribe_alarms_and_conditions(c.get_node("ns=2;s=Tanks"), alarm, queuesize=0)

    def active():
        return [e for e in heard.events if getattr(e, "ActiveState/Id", None) is True]

    await until(active)
    first = active()[-1]
    condition = c.get_node(first.NodeId)
    comment = ua.Variant(ua.LocalizedText("seen", "en"), ua.VariantType.LocalizedText)
    await condition.call_method(ua.NodeId(ua.ObjectIds.AcknowledgeableConditionType_Acknowledge),
                                ua.Variant(first.EventId, ua.VariantType.ByteString), comment)

    def acked():
        return [e for e in heard.events if e.Comment and e.Comment.Text == "seen" and getattr(e, "AckedState/Id")]

    await until(acked)
    before = len(heard.events)
    kind = c.get_node(ua.NodeId(ua.ObjectIds.ConditionType))
    await kind.call_method(ua.NodeId(ua.ObjectIds.ConditionType_ConditionRefresh),
                           ua.Variant(sub.subscription_id, ua.VariantType.UInt32))

    def kinds():
        return [e.EventType.Identifier for e in heard.events[before:]]

    await until(lambda: ua.ObjectIds.RefreshEndEventType in kinds())
    kinds = kinds()
    start, end = kinds.index(ua.ObjectIds.RefreshStartEventType), kinds.index(ua.ObjectIds.RefreshEndEventType)
    shown = await c.get_node(f"{first.NodeId.to_string()}.AckedState.Id").read_value()
    await sub.delete()
    return {"acked": len(acked()) > 0, "refreshed": end - start - 1, "shown": shown}


async def history(c):
    node = c.get_node("ns=2;s=Fill00")
    end = datetime.now(timezone.utc)
    details = ua.ReadRawModifiedDetails(
        IsReadModified=False, StartTime=end - timedelta(seconds=2), EndTime=end, NumValuesPerNode=7, ReturnBounds=False
    )
    values, pages, point = [], 0, None
    while True:
        params = ua.HistoryReadParameters()
        params.HistoryReadDetails = details
        params.TimestampsToReturn = ua.TimestampsToReturn.Both
        params.ReleaseContinuationPoints = False
        params.NodesToRead = [ua.HistoryReadValueId(NodeId=node.nodeid, ContinuationPoint=point)]
        result = (await c.uaclient.history_read(params))[0]
        result.StatusCode.check()
        values += result.HistoryData.DataValues
        pages += 1
        point = result.ContinuationPoint
        if not point:
            break
    times = [v.SourceTimestamp for v in values]
    steps = {round((b - a).total_seconds() * 1000) for a, b in zip(times, times[1:])}
    # The stack's own way through the pages.
    own = await node.read_raw_history(end - timedelta(seconds=2), end, numvalues=0)
    return {"values": len(values), "pages": pages, "steps": sorted(steps), "own": len(own)}


async def manage(c):
    objects = c.nodes.objects
    folder = await objects.add_folder(ua.NodeId("Added", 2), ua.QualifiedName("Added", 2))
    variable = await folder.add_variable(ua.NodeId("Added.Value", 2), ua.QualifiedName("Value", 2), 42.5)
    read = await variable.read_value()
    names = [(await n.read_browse_name()).Name for n in await folder.get_children()]
    await c.delete_nodes([folder], recursive=True)
    gone = False
    try:
        await variable.read_value()
    except ua.UaError:
        gone = True
    return {"read": read, "names": names, "gone": gone}


async def rights(c):
    node = c.get_node("ns=3;s=Setpoint")
    await node.write_value(ua.DataValue(ua.Variant(5, ua.VariantType.Int32)))
    return {"level": int((await node.read_attribute(ua.AttributeIds.UserAccessLevel)).Value.Value)}


async def nodeset(c):
    """What stands in a NodeSet2 file, found by browsing from Objects."""
    index = await c.get_namespace_index("urn:test:set")
    line = await c.nodes.objects.get_child(f"{index}:Line")
    speed, table = await line.get_child(f"{index}:Speed"), await line.get_child(f"{index}:Table")
    await speed.write_value(2.5)
    types = await c.load_data_type_definitions()
    point = await (await line.get_child(f"{index}:Kind")).read_value()
    called = ""
    try:
        await line.call_method(f"{index}:Start")
    except ua.UaError as error:
        called = type(error).__name__
    return {
        "speed": await speed.read_value(), "table": await table.read_value(), "kind": point.to_string(),
        "point": list(types["Point"].__annotations__), "called": called,
        "parent": (await table.get_parent()).nodeid == line.nodeid,
    }


STEPS = {"nodeset": nodeset, "flood": lambda c: flood(c, 5), "where": lambda c: where(c, 2), "conditions": conditions,
         "history": history, "manage": manage, "rights": rights}


async def main():
    told = {}
    client = Client(sys.argv[1], timeout=60)
    if len(sys.argv) > 4:
        # A user's own certificate and key.
        await client.load_client_certificate(sys.argv[3])
        await client.load_private_key(sys.argv[4])
    async with client as c:
        for step in sys.argv[2].split(","):
            told[step] = await STEPS[step](c)
    print(json.dumps(told))


asyncio.run(main())

"""asyncua as a judge of what is beside values: judge.py URL STEPS FOLDER prints one JSON object."""

import asyncio
import itertools
import json
import struct
import sys
from datetime import datetime, timedelta, timezone

from asyncua import Client, ua
from asyncua.ua.ua_binary import struct_from_binary


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


def patient():
    """One that waits: on a busy machine a flood of events takes longer to read than its watchdog has patience."""
    return Client(sys.argv[1], timeout=60, watchdog_intervall=60)


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


async def where(c):
    """Events of one source of the flood, and of no other."""
    heard = Heard()
    sub = await c.create_subscription(100, heard)

    def field(name):
        return ua.SimpleAttributeOperand(
            ua.NodeId(ua.ObjectIds.BaseEventType), [ua.QualifiedName(name)], ua.AttributeIds.Value
        )

    def literal(value, kind):
        return ua.LiteralOperand(ua.Variant(value, kind))

    evfilter = ua.EventFilter()
    evfilter.SelectClauses = [field(n) for n in ("EventId", "EventType", "SourceName", "Time")]
    kind = literal(ua.NodeId(ua.ObjectIds.SystemEventType), ua.VariantType.NodeId)
    evfilter.WhereClause = ua.ContentFilter([
        ua.ContentFilterElement(ua.FilterOperator.And, [ua.ElementOperand(1), ua.ElementOperand(2)]),
        ua.ContentFilterElement(ua.FilterOperator.OfType, [kind]),
        ua.ContentFilterElement(
            ua.FilterOperator.Equals, [field("SourceName"), literal("Flood07", ua.VariantType.String)]
        ),
    ])
    await sub.subscribe_events(c.nodes.server, evfilter=evfilter, queuesize=0)
    await until(lambda: len(heard.events) >= 200)
    await sub.delete()
    told = gaps(number(e.EventId) for e in heard.events)
    times = [e.Time.replace(tzinfo=timezone.utc).timestamp() * 1000 for e in heard.events]
    return {
        "count": len(heard.events), "others": sum(e.SourceName != "Flood07" for e in heard.events),
        "missing": told["missing"], "twice": told["twice"], "first": min(times), "last": max(times),
    }


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
    node = c.get_node("ns=3;s=Count")
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
    # The stack's own way through the pages.
    own = await node.read_raw_history(end - timedelta(seconds=2), end, numvalues=0)
    told = [[v.SourceTimestamp.replace(tzinfo=timezone.utc).timestamp() * 1000, v.Value.Value] for v in values]
    return {"values": told, "pages": pages, "own": len(own)}


async def manage(c):
    folder = await c.nodes.objects.add_folder(ua.NodeId("Added", 3), ua.QualifiedName("Added", 3))
    variable = await folder.add_variable(ua.NodeId("Added.Value", 3), ua.QualifiedName("Value", 3), 42.5)
    read = await variable.read_value()
    fill, organizes = c.get_node("ns=2;s=Fill00"), ua.NodeId(ua.ObjectIds.Organizes)

    async def shown():
        return fill in await folder.get_referenced_nodes(ua.ObjectIds.Organizes)

    def one(item):
        item.SourceNodeId, item.ReferenceTypeId, item.IsForward = folder.nodeid, organizes, True
        item.TargetNodeId = fill.nodeid
        return item

    add = one(ua.AddReferencesItem())
    add.TargetNodeClass = ua.NodeClass.Variable
    referenced = (await c.uaclient.add_references([add]))[0].name
    after_adding = await shown()
    remove = one(ua.DeleteReferencesItem())
    remove.DeleteBidirectional = True
    unreferenced = (await c.uaclient.delete_references([remove]))[0].name
    after_deleting = await shown()
    _, deleted = await c.delete_nodes([folder], recursive=True)
    gone = (await variable.read_attribute(ua.AttributeIds.Value, raise_on_bad_status=False)).StatusCode
    return {
        "added": "Good", "read": read, "referenced": referenced, "shown": after_adding, "unreferenced": unreferenced,
        "hidden": not after_deleting, "deleted": "Good" if all(s.is_good() for s in deleted) else str(deleted),
        "gone": gone.name,
    }


async def login(_):
    """Who comes with a certificate: anna, eve whom nobody knows, and eve with what belongs to anna."""

    async def come(certificate, key, work):
        client = patient()
        client.application_uri = "urn:test:judge"
        folder = sys.argv[3]
        await client.set_security_string(f"Basic256Sha256,SignAndEncrypt,{folder}/judge.der,{folder}/judge.pem")
        await client.load_client_certificate(f"{folder}/{certificate}")
        await client.load_private_key(f"{folder}/{key}")
        try:
            async with client as c:
                if work:
                    node = c.get_node("ns=3;s=Setpoint")
                    await node.write_value(ua.DataValue(ua.Variant(5, ua.VariantType.Int32)))
        except ua.UaStatusCodeError as error:
            return type(error).__name__
        return "Good"

    return {
        "wrote": await come("anna.der", "anna.pem", True), "stranger": await come("eve.der", "eve.pem", False),
        "forged": await come("anna.der", "eve.pem", False),
    }


async def nodeset(c):
    """What stands in a NodeSet2 file, found by browsing from Objects."""
    index = await c.get_namespace_index("urn:test:set")
    line = await c.nodes.objects.get_child(f"{index}:Line")
    speed, table = await line.get_child(f"{index}:Speed"), await line.get_child(f"{index}:Table")
    await speed.write_value(2.5)
    types = await c.load_data_type_definitions()
    point = await (await line.get_child(f"{index}:Kind")).read_value()
    parts = await (await line.get_child(f"{index}:Parts")).read_value()
    recipe_node = await line.get_child(f"{index}:Recipe")
    recipe = await recipe_node.read_value()
    recipe.Steps.append(ua.Point(X=5, Y=6))
    await recipe_node.write_value(recipe)
    recipe = await recipe_node.read_value()
    token = await c.get_node(ua.ObjectIds.UserNameIdentityToken).read_data_type_definition()
    called = ""
    try:
        await line.call_method(f"{index}:Start")
    except ua.UaError as error:
        called = type(error).__name__
    return {
        "speed": await speed.read_value(), "table": await table.read_value(), "kind": point.to_string(),
        "point": list(types["Point"].__annotations__), "called": called,
        "parts": [[part.X, part.Y, part.Z] for part in parts],
        "recipe": [recipe.Name, recipe.Mode.name, [[step.X, step.Y] for step in recipe.Steps],
                   recipe.Limits.Low, recipe.Limits.High, recipe.Until.isoformat(), recipe.Note],
        "token": [field.Name for field in token.Fields],
        "parent": (await table.get_parent()).nodeid == line.nodeid,
    }


async def sessions(c):
    """The objects of sessions below ServerDiagnostics, while they are there and while diagnostics are enabled."""
    diagnostics = await c.nodes.server.get_child("0:ServerDiagnostics")
    summary = await diagnostics.get_child("0:SessionsDiagnosticsSummary")

    async def objects():
        children = await summary.get_children(nodeclassmask=ua.NodeClass.Object)
        kind = ua.NodeId(ua.ObjectIds.SessionDiagnosticsObjectType)
        return [child for child in children if await child.read_type_definition() == kind]

    before = await objects()
    async with patient() as other:
        during = await objects()
        new = [child for child in during if child not in before]
        own = await new[0].get_child("0:SessionDiagnostics")
        subscription = await other.create_subscription(10000, None)
        told = await own.read_value()
        array = await (await new[0].get_child("0:SubscriptionDiagnosticsArray")).read_value()
        fields = await own.get_children()
        name = (await new[0].read_browse_name()).Name
        uri = (await (await own.get_child("0:ClientDescription")).read_value()).ApplicationUri
        count = await (await own.get_child("0:CreateSubscriptionCount")).read_value()
        same = name == told.SessionName and told.SessionId == new[0].nodeid and uri == other.application_uri
        listed = [one.SubscriptionId for one in array] == [subscription.subscription_id]
    after = await objects()
    flag = await diagnostics.get_child("0:EnabledFlag")
    await flag.write_value(False)
    refused = ""
    try:
        await (await summary.get_child("0:SessionDiagnosticsArray")).read_value()
    except ua.UaError as error:
        refused = type(error).__name__
    off = await objects()
    await flag.write_value(True)
    return {
        "before": len(before), "during": len(during), "after": len(after), "fields": len(fields), "same": same,
        "subscriptions": count.TotalCount, "listed": listed, "refused": refused, "off": len(off),
        "on": len(await objects()),
    }


async def limits(c):
    """One more than is granted of everything, and what is not there: the status code of each."""
    signals = [ua.NodeId(n, 2) for n in range(1, 41)]
    method, objects = (ua.NodeId("Echo", 2), ua.NodeId("Methods", 2)), ua.ObjectIds.ObjectsFolder

    async def code(doing):
        try:
            await doing
            return "Good"
        except ua.UaStatusCodeError as error:
            return type(error).__name__

    async def ask(name, **parameters):
        request = getattr(ua, f"{name}Request")()
        for key, value in parameters.items():
            setattr(request.Parameters if hasattr(request, "Parameters") else request, key, value)
        data = await c.uaclient.session._send_request(request, 0 if name == "Publish" else None)
        response = struct_from_binary(getattr(ua, f"{name}Response"), data)
        response.ResponseHeader.ServiceResult.check()
        return response

    def named(results):
        return [getattr(r, "StatusCode", r).name for r in results]

    def value(node):
        return ua.ReadValueId(NodeId=node, AttributeId=ua.AttributeIds.Value)

    def write(node):
        variant = ua.Variant(1, ua.VariantType.Int32)
        return ua.WriteValue(NodeId=node, AttributeId=ua.AttributeIds.Value, Value=ua.DataValue(variant))

    def browse(node):
        return ua.BrowseDescription(NodeId=ua.NodeId(node), BrowseDirection=ua.BrowseDirection.Both,
                                    IncludeSubtypes=True, ResultMask=63)

    def path(_):
        return ua.BrowsePath(StartingNode=ua.NodeId(objects), RelativePath=ua.RelativePath())

    def item(node, mask=None):
        parameters = ua.MonitoringParameters(ClientHandle=1, SamplingInterval=1000, QueueSize=1, Filter=mask)
        return ua.MonitoredItemCreateRequest(ItemToMonitor=value(node), MonitoringMode=ua.MonitoringMode.Disabled,
                                             RequestedParameters=parameters)

    def node(n):
        attributes = ua.ObjectAttributes(SpecifiedAttributes=64, DisplayName=ua.LocalizedText("x"))
        return ua.AddNodesItem(
            ParentNodeId=ua.ExpandedNodeId(objects), ReferenceTypeId=ua.NodeId(ua.ObjectIds.Organizes),
            RequestedNewNodeId=ua.ExpandedNodeId(f"added{n}", 2), BrowseName=ua.QualifiedName(f"added{n}", 2),
            NodeClass=ua.NodeClass.Object, NodeAttributes=attributes,
            TypeDefinition=ua.ExpandedNodeId(ua.ObjectIds.FolderType))

    told = {
        "nothing": await code(ask("Read", NodesToRead=[])),
        "read": await code(ask("Read", NodesToRead=[value(n) for n in signals] * 2)),
        "write": await code(ask("Write", NodesToWrite=[write(n) for n in signals[:11]])),
        "call": await code(ask("Call", MethodsToCall=[
            ua.CallMethodRequest(ObjectId=method[1], MethodId=method[0]) for _ in range(11)])),
        "browse": await code(ask("Browse", NodesToBrowse=[browse(objects)] * 11)),
        "translate": await code(ask("TranslateBrowsePathsToNodeIds", BrowsePaths=[path(n) for n in range(11)])),
        "register": await code(ask("RegisterNodes", NodesToRegister=signals[:11])),
    }
    browsed = await ask("Browse", NodesToBrowse=[browse(objects)] * 3, RequestedMaxReferencesPerNode=1)
    told["points"] = named(browsed.Results)
    await ask("BrowseNext", ContinuationPoints=[r.ContinuationPoint for r in browsed.Results[:2]],
              ReleaseContinuationPoints=True)
    added = await ask("AddNodes", NodesToAdd=[node(n) for n in range(3)])
    told["nodes"] = named(added.Results)

    slow = {"RequestedPublishingInterval": 60000, "RequestedLifetimeCount": 1000, "RequestedMaxKeepAliveCount": 100}
    made = [(await ask("CreateSubscription", **slow)).Parameters.SubscriptionId for _ in range(2)]
    told["subscriptions"] = await code(ask("CreateSubscription", **slow))

    def items(those):
        return ask("CreateMonitoredItems", SubscriptionId=made[0], ItemsToCreate=those)

    told["items"] = await code(items([item(n) for n in signals[:11]]))
    noted = ua.NodeId(ua.ObjectIds.AggregateFunction_AnnotationCount)
    aggregate = ua.AggregateFilter(AggregateType=noted, ProcessingInterval=1000)
    told["aggregate"] = named((await items([item(signals[0], aggregate)])).Results)
    await items([item(n) for n in signals[:10]])
    told["monitored"] = named((await items([item(n) for n in signals[:10]])).Results)
    publishing = [asyncio.create_task(code(ask("Publish"))) for _ in range(4)]
    done, others = await asyncio.wait(publishing, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    told["publish"] = done.pop().result()
    for other in others:
        other.cancel()

    end = datetime.now(timezone.utc)
    span = {"StartTime": end - timedelta(seconds=1), "EndTime": end}
    processed = ua.ReadProcessedDetails(**span, ProcessingInterval=100, AggregateType=[noted])
    modified = ua.ReadRawModifiedDetails(IsReadModified=True, **span, NumValuesPerNode=0, ReturnBounds=False)
    for name, details in (("processed", processed), ("modified", modified)):
        params = ua.HistoryReadParameters(HistoryReadDetails=details, ReleaseContinuationPoints=False,
                                          NodesToRead=[ua.HistoryReadValueId(NodeId=ua.NodeId("Count", 2))])
        told[name] = named(await c.uaclient.history_read(params))
    told["query"] = await code(ask("QueryFirst"))

    small = patient()
    small.max_messagesize = 65536
    async with small:
        told["answer"] = await code(small.get_node(ua.NodeId("Big", 2)).read_value())
    others = [patient() for _ in range(3)]
    told["sessions"] = [await code(other.connect()) for other in others]
    for other in others[:2]:
        await other.disconnect()
    return told


STEPS = {"limits": limits, "nodeset": nodeset, "sessions": sessions, "flood": lambda c: flood(c, 5), "where": where,
         "conditions": conditions, "history": history, "manage": manage, "login": login}


async def main():
    told = {}
    async with patient() as c:
        for step in sys.argv[2].split(","):
            told[step] = await STEPS[step](c)
    print(json.dumps(told))


asyncio.run(main())

"""asyncua as a judge of audit events: audit.py URL STEPS FOLDER prints one JSON object."""

import asyncio
import json
import sys

from asyncua import Client, ua


class Heard:
    def __init__(self):
        self.events = []

    def event_notification(self, event):
        self.events.append(event)


async def told(c, security):
    """What a client over this channel hears of its own write."""
    heard = Heard()
    sub = await c.create_subscription(50, heard)
    await sub.subscribe_events(c.nodes.server, ua.ObjectIds.AuditWriteUpdateEventType, queuesize=0)
    node = c.get_node("ns=2;s=Setpoint")
    await node.write_value(ua.DataValue(ua.Variant(41, ua.VariantType.Int32)))
    for _ in range(100 if security else 10):
        if heard.events:
            break
        await asyncio.sleep(0.1)
    await sub.delete()
    return [[e.SourceName, e.SourceNode.to_string(), e.Status, e.NewValue, e.AttributeId] for e in heard.events]


async def main():
    folder = sys.argv[3]
    plain = Client(sys.argv[1], timeout=60, watchdog_intervall=60)
    secured = Client(sys.argv[1], timeout=60, watchdog_intervall=60)
    secured.application_uri = "urn:test:judge"
    await secured.set_security_string(f"Basic256Sha256,SignAndEncrypt,{folder}/judge.der,{folder}/judge.pem")
    async with secured as c:
        auditing = await c.get_node(ua.ObjectIds.Server_Auditing).read_value()
        own = await told(c, True)
    async with plain as c:
        nothing = await told(c, False)
    print(json.dumps({"audit": {"auditing": auditing, "secured": own, "plain": nothing}}))


asyncio.run(main())

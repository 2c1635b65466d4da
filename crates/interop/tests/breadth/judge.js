// node-opcua as a judge of events, conditions and histories: prints one JSON object.
"use strict";

const print = console.log;
console.log = console.info = console.warn = console.error;

const {
  AttributeIds, ClientMonitoredItem, ContentFilter, DataType, FilterOperator, HistoryReadRequest, OPCUAClient,
  ReadRawModifiedDetails, TimestampsToReturn, Variant, constructEventFilter, ofType,
} = require("node-opcua");

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A busy machine takes its time; what never comes is missed by what is told in the end.
const until = async (isTrue) => {
  for (let n = 0; n < 600 && !isTrue(); n++) await sleep(100);
};

// A subscription with one item of events; what it hears is pushed to the array given back.
async function listen(session, nodeId, fields, where) {
  const subscription = await session.createSubscription2({
    requestedPublishingInterval: 100, requestedLifetimeCount: 1000, requestedMaxKeepAliveCount: 10,
    maxNotificationsPerPublish: 0, publishingEnabled: true, priority: 1,
  });
  const item = ClientMonitoredItem.create(
    subscription, { nodeId, attributeId: AttributeIds.EventNotifier },
    { filter: constructEventFilter(fields, where), queueSize: 1000000, discardOldest: true, samplingInterval: 0 },
    TimestampsToReturn.Both,
  );
  const heard = [];
  item.on("changed", (values) => heard.push(values.map((v) => v.value)));
  await new Promise((resolve, reject) => { item.on("initialized", resolve); item.on("err", reject); });
  return { subscription, heard };
}

function gaps(ids) {
  const sources = new Map();
  for (const id of ids) {
    const source = id.readUInt32BE(0);
    if (!sources.has(source)) sources.set(source, []);
    sources.get(source).push(Number(id.readBigUInt64BE(4)));
  }
  let missing = 0, twice = 0;
  for (const ns of sources.values()) {
    const own = new Set(ns).size;
    missing += Math.max(...ns) - Math.min(...ns) + 1 - own;
    twice += ns.length - own;
  }
  return { sources: sources.size, missing, twice };
}

const steps = {
  async flood(session) {
    const { subscription, heard } = await listen(session, "ns=2;s=Flood", ["EventId", "EventType", "Severity"]);
    await until(() => heard.length >= 25000);
    await subscription.terminate();
    // Who is too slow is told so by an overflow event (Part 4, 7.22.3); before it nothing may be missing.
    const end = heard.findIndex((e) => e[1].toString() === "ns=0;i=3035");
    const kept = end < 0 ? heard : heard.slice(0, end);
    return { count: kept.length, ...gaps(kept.map((e) => e[0])), severity: Math.max(...kept.map((e) => e[2])) };
  },

  async where(session) {
    const { subscription, heard } = await listen(
      session, "i=2253", ["EventId", "SourceName"], ofType("AlarmConditionType"),
    );
    await sleep(2000);
    await until(() => heard.length > 0);
    await subscription.terminate();
    const own = heard.filter((e) => /^(Level|Temperature|Door)/.test(e[1]));
    return { count: heard.length, alarms: own.length };
  },

  async conditions(session) {
    const fields = ["EventId", "EventType", "ConditionId", "ActiveState.Id", "AckedState.Id", "Comment"];
    const { subscription, heard } = await listen(session, "ns=2;s=Tanks", fields);
    await until(() => heard.some((e) => e[3] === true));
    const first = heard.filter((e) => e[3] === true).pop();
    const status = await session.acknowledgeCondition(first[2], first[0], "seen");
    const seen = () => heard.some((e) => e[4] === true && e[5] && e[5].text === "seen");
    await until(seen);
    const acked = seen();
    const before = heard.length;
    const refreshed = await session.call({
      objectId: "i=2782", methodId: "i=3875",
      inputArguments: [new Variant({ dataType: DataType.UInt32, value: subscription.subscriptionId })],
    });
    const came = () => heard.slice(before).map((e) => e[1].value);
    await until(() => came().includes(2788));
    const kinds = came();
    await subscription.terminate();
    return {
      status: status.name, acked, call: refreshed.statusCode.name,
      refreshed: kinds.indexOf(2788) - kinds.indexOf(2787) - 1,
    };
  },

  async history(session) {
    const end = new Date();
    const details = new ReadRawModifiedDetails({
      isReadModified: false, startTime: new Date(end - 2000), endTime: end, numValuesPerNode: 7, returnBounds: false,
    });
    const values = [];
    let pages = 0, continuationPoint = null;
    do {
      const response = await session.historyRead(new HistoryReadRequest({
        historyReadDetails: details, timestampsToReturn: TimestampsToReturn.Both, releaseContinuationPoints: false,
        nodesToRead: [{ nodeId: "ns=2;s=Fill00", continuationPoint }],
      }));
      const result = response.results[0];
      if (!result.statusCode.isGood()) throw new Error(result.statusCode.toString());
      values.push(...result.historyData.dataValues);
      continuationPoint = result.continuationPoint;
      pages++;
    } while (continuationPoint && continuationPoint.length);
    const times = values.map((v) => v.sourceTimestamp.getTime());
    const gap = new Set(times.slice(1).map((t, n) => t - times[n]));
    const own = await session.readHistoryValue("ns=2;s=Fill00", new Date(end - 2000), end);
    return { values: values.length, pages, steps: [...gap], own: own.historyData.dataValues.length };
  },
};

(async () => {
  const client = OPCUAClient.create({ endpointMustExist: false, connectionStrategy: { maxRetry: 0 } });
  await client.connect(process.argv[2]);
  const session = await client.createSession();
  const told = {};
  for (const step of process.argv[3].split(",")) told[step] = await steps[step](session);
  await session.close();
  await client.disconnect();
  print(JSON.stringify(told));
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });

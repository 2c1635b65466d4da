// node-opcua as a judge of aggregates: aggregates.js URL STEPS FOLDER prints one JSON object. What the server makes of values
// stands beside what node-opcua's own implementation of Part 13 makes of the same.
"use strict";

const print = console.log;
console.log = console.info = console.warn = console.error;

const {
  AggregateFunction, AttributeIds, ClientMonitoredItem, DataType, DataValue, OPCUAClient, StatusCodes, TimestampsToReturn,
} = require("node-opcua");
const { AddressSpace } = require("node-opcua-address-space");
const { generateAddressSpace } = require("node-opcua-address-space/nodeJS");
const { nodesets } = require("node-opcua-nodesets");
const { AggregateFilter } = require("node-opcua-types");
const aggregates = require("node-opcua-aggregates");

const NODE = "ns=2;s=Level";
const INTERVAL = 250;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The stack has no InfoType in what it calculates itself; severity and code, and the bits of aggregates, are what counts.
const shown = (value) => {
  const status = value.statusCode.value >>> 0;
  return [value.sourceTimestamp.getTime(), value.value ? value.value.value : null, status >>> 16, status & 0x1f];
};

const OWN = {
  Average: aggregates.getAverageData, Minimum: aggregates.getMinData, Maximum: aggregates.getMaxData,
  Count: aggregates.getCountData, Interpolative: aggregates.getInterpolatedData,
  PercentGood: aggregates.getPercentGoodData, DurationBad: aggregates.getDurationBadData,
};

const steps = {
  async processed(session) {
    await sleep(2500);
    const end = new Date();
    const raw = await session.readHistoryValue(NODE, new Date(end - 2100), end);
    const values = raw.historyData.dataValues;
    const addressSpace = AddressSpace.create();
    await generateAddressSpace(addressSpace, [nodesets.standard]);
    addressSpace.registerNamespace("urn:test:own");
    aggregates.addAggregateSupport(addressSpace);
    const node = addressSpace.getOwnNamespace().addVariable({ browseName: "Level", dataType: "Double" });
    addressSpace.installHistoricalDataNode(node);
    aggregates.installAggregateConfigurationOptions(node, {
      percentDataBad: 100, percentDataGood: 100, stepped: true, treatUncertainAsBad: true, useSlopedExtrapolation: false,
    });
    for (const value of values) {
      node._historyPush(new DataValue({
        value: { dataType: DataType.Double, value: value.value.value }, statusCode: StatusCodes.Good,
        sourceTimestamp: value.sourceTimestamp, serverTimestamp: value.sourceTimestamp,
      }));
    }
    // Between two values: times are those of a clock of milliseconds here.
    const start = new Date(values[0].sourceTimestamp.getTime() + 30);
    const last = new Date(start.getTime() + 7 * INTERVAL);
    const told = { raw: values.length };
    for (const [name, make] of Object.entries(OWN)) {
      const result = await session.readAggregateValue(
        { nodeId: NODE }, start, last, AggregateFunction[name], INTERVAL,
      );
      if (!result.statusCode.isGood()) throw new Error(`${name}: ${result.statusCode}`);
      const own = await new Promise((resolve, reject) => {
        make(node, INTERVAL, start, last, (error, made) => (error ? reject(error) : resolve(made)));
      });
      // It knows of no values before the first interval and after the last.
      told[name] = { served: result.historyData.dataValues.map(shown).slice(1, -1), own: own.map(shown).slice(1, -1) };
    }
    addressSpace.dispose();
    return told;
  },

  // An item that tells averages, and the history of the same intervals.
  async item(session) {
    const subscription = await session.createSubscription2({
      requestedPublishingInterval: 100, requestedLifetimeCount: 1000, requestedMaxKeepAliveCount: 10,
      maxNotificationsPerPublish: 0, publishingEnabled: true, priority: 1,
    });
    const startTime = new Date(Date.now() + 300);
    const item = ClientMonitoredItem.create(
      subscription, { nodeId: NODE, attributeId: AttributeIds.Value },
      {
        samplingInterval: 50, queueSize: 100, discardOldest: true,
        filter: new AggregateFilter({
          startTime, aggregateType: "i=2342", processingInterval: INTERVAL,
          aggregateConfiguration: { useServerCapabilitiesDefaults: true },
        }),
      },
      TimestampsToReturn.Both,
    );
    const heard = [];
    item.on("changed", (value) => heard.push(value));
    await new Promise((resolve, reject) => { item.on("initialized", resolve); item.on("err", reject); });
    for (let n = 0; n < 300 && heard.length < 6; n++) await sleep(100);
    await subscription.terminate();
    await sleep(300);
    const first = heard[0].sourceTimestamp;
    const end = new Date(first.getTime() + heard.length * INTERVAL);
    const result = await session.readAggregateValue({ nodeId: NODE }, first, end, AggregateFunction.Average, INTERVAL);
    return {
      asked: startTime.getTime(), interval: item.result?.filterResult?.revisedProcessingInterval ?? null,
      heard: heard.map(shown), history: result.historyData.dataValues.map(shown),
    };
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

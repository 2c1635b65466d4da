// node-opcua as a judge of what is beside values: judge.js URL STEPS FOLDER prints one JSON object.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const print = console.log;
console.log = console.info = console.warn = console.error;

const {
  AddNodesRequest, AddReferencesRequest, AttributeIds, ClientMonitoredItem, ContentFilter, DataType, DeleteNodesRequest,
  DeleteReferencesRequest, ElementOperand, FilterOperator, HistoryReadRequest, LiteralOperand, MessageSecurityMode,
  NodeClass, OPCUACertificateManager, OPCUAClient, ReadRawModifiedDetails, SecurityPolicy, SimpleAttributeOperand,
  TimestampsToReturn, UserTokenType, Variant, constructEventFilter, resolveNodeId,
} = require("node-opcua");
const types = require("node-opcua-types");
const { ObjectAttributes, VariableAttributes } = types;

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

  // Events of one source of the flood, and of no other.
  async where(session) {
    const element = (index) => new ElementOperand({ index });
    const literal = (dataType, value) => new LiteralOperand({ value: { dataType, value } });
    const name = new SimpleAttributeOperand({
      typeDefinitionId: "i=2041", browsePath: [{ name: "SourceName" }], attributeId: AttributeIds.Value,
    });
    const where = new ContentFilter({
      elements: [
        { filterOperator: FilterOperator.And, filterOperands: [element(1), element(2)] },
        { filterOperator: FilterOperator.OfType, filterOperands: [literal(DataType.NodeId, resolveNodeId("i=2130"))] },
        { filterOperator: FilterOperator.Equals, filterOperands: [name, literal(DataType.String, "Flood07")] },
      ],
    });
    const { subscription, heard } = await listen(session, "i=2253", ["EventId", "SourceName", "Time"], where);
    await until(() => heard.length >= 200);
    await subscription.terminate();
    const { missing, twice } = gaps(heard.map((e) => e[0]));
    const times = heard.map((e) => e[2].getTime());
    return {
      count: heard.length, others: heard.filter((e) => e[1] !== "Flood07").length, missing, twice,
      first: Math.min(...times), last: Math.max(...times),
    };
  },

  async conditions(session) {
    const fields = ["EventId", "EventType", "ConditionId", "ActiveState.Id", "AckedState.Id", "Comment"];
    const { subscription, heard } = await listen(session, "ns=2;s=Tanks", fields);
    await until(() => heard.some((e) => e[3] === true));
    const first = heard.filter((e) => e[3] === true).pop();
    const good = (code) => { if (!code.isGood()) throw new Error(code.toString()); };
    good(await session.acknowledgeCondition(first[2], first[0], "seen"));
    const seen = () => heard.some((e) => e[4] === true && e[5] && e[5].text === "seen");
    await until(seen);
    const acked = seen();
    const before = heard.length;
    const refreshed = await session.call({
      objectId: "i=2782", methodId: "i=3875",
      inputArguments: [new Variant({ dataType: DataType.UInt32, value: subscription.subscriptionId })],
    });
    good(refreshed.statusCode);
    const came = () => heard.slice(before).map((e) => e[1].value);
    await until(() => came().includes(2788));
    const kinds = came();
    await subscription.terminate();
    return { acked, refreshed: kinds.indexOf(2788) - kinds.indexOf(2787) - 1 };
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
        nodesToRead: [{ nodeId: "ns=3;s=Count", continuationPoint }],
      }));
      const result = response.results[0];
      if (!result.statusCode.isGood()) throw new Error(result.statusCode.toString());
      values.push(...result.historyData.dataValues);
      continuationPoint = result.continuationPoint;
      pages++;
    } while (continuationPoint && continuationPoint.length);
    const own = await session.readHistoryValue("ns=3;s=Count", new Date(end - 2000), end);
    return {
      values: values.map((v) => [v.sourceTimestamp.getTime(), v.value.value]), pages,
      own: own.historyData.dataValues.length,
    };
  },

  // The client has no calls for these services, but its sessions carry every request that the stack knows.
  async manage(session) {
    const ask = (request) => new Promise((resolve, reject) => {
      session.performMessageTransaction(request, (error, response) => (error ? reject(error) : resolve(response)));
    });
    const done = async (request) => {
      const { results } = await ask(request);
      return (results.map((r) => r.statusCode ?? r).find((code) => !code.isGood()) ?? { name: "Good" }).name;
    };
    const folder = "ns=3;s=Added", variable = "ns=3;s=Added.Value", fill = "ns=2;s=Fill00", organizes = "i=35";
    const added = await done(new AddNodesRequest({
      nodesToAdd: [{
        parentNodeId: "i=85", referenceTypeId: organizes, requestedNewNodeId: folder, nodeClass: NodeClass.Object,
        browseName: { namespaceIndex: 3, name: "Added" }, typeDefinition: "i=61",
        nodeAttributes: new ObjectAttributes({ specifiedAttributes: 64, displayName: "Added" }),
      }, {
        parentNodeId: folder, referenceTypeId: "i=47", requestedNewNodeId: variable, nodeClass: NodeClass.Variable,
        browseName: { namespaceIndex: 3, name: "Value" }, typeDefinition: "i=63",
        nodeAttributes: new VariableAttributes({
          specifiedAttributes: 64 + 16 + 2097152, displayName: "Value", dataType: "i=11", valueRank: -1,
          value: { dataType: DataType.Double, value: 42.5 },
        }),
      }],
    }));
    const { value } = await session.read({ nodeId: variable, attributeId: AttributeIds.Value });
    const targets = async () => {
      const result = await session.browse({ nodeId: folder, referenceTypeId: organizes, resultMask: 63 });
      return result.references.map((r) => r.nodeId.toString());
    };
    const reference = {
      sourceNodeId: folder, referenceTypeId: organizes, isForward: true, targetNodeId: fill,
      targetNodeClass: NodeClass.Variable, deleteBidirectional: true,
    };
    const referenced = await done(new AddReferencesRequest({ referencesToAdd: [reference] }));
    const shown = (await targets()).includes(fill);
    const unreferenced = await done(new DeleteReferencesRequest({ referencesToDelete: [reference] }));
    const hidden = !(await targets()).includes(fill);
    const deleted = await done(new DeleteNodesRequest({
      nodesToDelete: [{ nodeId: variable, deleteTargetReferences: true }, { nodeId: folder, deleteTargetReferences: true }],
    }));
    const gone = await session.read({ nodeId: variable, attributeId: AttributeIds.Value });
    return {
      added, read: value.value, referenced, shown, unreferenced, hidden, deleted, gone: gone.statusCode.name,
    };
  },

  // One more than is granted of everything, and what is not there: the status code of each.
  async limits(session) {
    const fill = (n, make) => Array.from({ length: n }, (_, at) => make(at));
    const ask = (request) => new Promise((resolve, reject) => {
      session.performMessageTransaction(request, (error, response) => (error ? reject(error) : resolve(response)));
    });
    const code = async (doing) => {
      try {
        const response = await doing;
        return response?.responseHeader?.serviceResult.name ?? "Good";
      } catch (error) {
        return /Bad\w+/.exec(error.message)?.[0] ?? error.message;
      }
    };
    const named = ({ results }) => results.map((r) => (r.statusCode ?? r).name);
    const id = (n) => `ns=2;i=${n + 1}`;
    const value = (nodeId) => ({ nodeId, attributeId: AttributeIds.Value });
    const write = (nodeId) => ({ ...value(nodeId), value: { value: { dataType: DataType.Int32, value: 1 } } });
    const browse = () => ({ nodeId: "i=85", browseDirection: 2, includeSubtypes: true, resultMask: 63 });
    const item = (nodeId, filter) => ({
      itemToMonitor: value(nodeId), monitoringMode: 0,
      requestedParameters: { clientHandle: 1, samplingInterval: 1000, queueSize: 1, filter },
    });
    const node = (n) => ({
      parentNodeId: "i=85", referenceTypeId: "i=35", requestedNewNodeId: `ns=2;s=added${n}`, nodeClass: NodeClass.Object,
      browseName: { namespaceIndex: 2, name: `added${n}` }, typeDefinition: "i=61",
      nodeAttributes: new ObjectAttributes({ specifiedAttributes: 64, displayName: "x" }),
    });
    const told = {
      nothing: await code(ask(new types.ReadRequest({ nodesToRead: [] }))),
      read: await code(ask(new types.ReadRequest({ nodesToRead: fill(80, (n) => value(id(n % 40))) }))),
      write: await code(ask(new types.WriteRequest({ nodesToWrite: fill(11, (n) => write(id(n))) }))),
      call: await code(ask(new types.CallRequest({
        methodsToCall: fill(11, () => ({ objectId: "ns=2;s=Methods", methodId: "ns=2;s=Echo" })),
      }))),
      browse: await code(ask(new types.BrowseRequest({ nodesToBrowse: fill(11, browse) }))),
      translate: await code(ask(new types.TranslateBrowsePathsToNodeIdsRequest({
        browsePaths: fill(11, () => ({ startingNode: "i=85", relativePath: { elements: [] } })),
      }))),
      register: await code(ask(new types.RegisterNodesRequest({ nodesToRegister: fill(11, id) }))),
    };
    const browsed = await ask(new types.BrowseRequest({
      nodesToBrowse: fill(3, browse), requestedMaxReferencesPerNode: 1,
    }));
    told.points = named(browsed);
    await ask(new types.BrowseNextRequest({
      continuationPoints: browsed.results.slice(0, 2).map((r) => r.continuationPoint), releaseContinuationPoints: true,
    }));
    told.nodes = named(await ask(new AddNodesRequest({ nodesToAdd: fill(3, node) })));

    const slow = () => new types.CreateSubscriptionRequest({
      requestedPublishingInterval: 60000, requestedLifetimeCount: 1000, requestedMaxKeepAliveCount: 100,
      publishingEnabled: true,
    });
    const { subscriptionId } = await ask(slow());
    await ask(slow());
    told.subscriptions = await code(ask(slow()));
    const items = (itemsToCreate) => ask(new types.CreateMonitoredItemsRequest({
      subscriptionId, timestampsToReturn: TimestampsToReturn.Both, itemsToCreate,
    }));
    told.items = await code(items(fill(11, (n) => item(id(n)))));
    const noted = { startTime: new Date(), aggregateType: "i=2351", processingInterval: 1000 };
    told.aggregate = named(await items([item(id(0), new types.AggregateFilter(noted))]));
    await items(fill(10, (n) => item(id(n))));
    told.monitored = named(await items(fill(10, (n) => item(id(n)))));
    const publishing = () => code(ask(new types.PublishRequest({ requestHeader: { timeoutHint: 60000 } })));
    told.publish = await Promise.race(fill(4, publishing));

    const end = new Date();
    const span = { startTime: new Date(end - 1000), endTime: end };
    const history = async (historyReadDetails) => named(await ask(new HistoryReadRequest({
      historyReadDetails, timestampsToReturn: TimestampsToReturn.Both, releaseContinuationPoints: false,
      nodesToRead: [{ nodeId: "ns=2;s=Count" }],
    })));
    told.processed = await history(new types.ReadProcessedDetails({
      ...span, processingInterval: 100, aggregateType: ["i=2351"],
    }));
    told.modified = await history(new ReadRawModifiedDetails({ ...span, isReadModified: true }));
    told.query = await code(ask(new types.QueryFirstRequest({ nodeTypes: [] })));

    const connected = async (options, work) => {
      const client = OPCUAClient.create({ endpointMustExist: false, connectionStrategy: { maxRetry: 0 }, ...options });
      await client.connect(process.argv[2]);
      try {
        const own = await client.createSession();
        return await work(own, client);
      } catch (error) {
        await client.disconnect();
        throw error;
      }
    };
    const leave = async (own, client) => { await own.close(); await client.disconnect(); };
    told.answer = await connected({ transportSettings: { maxMessageSize: 65536 } }, async (own, client) => {
      const request = new types.ReadRequest({ nodesToRead: [value("ns=2;s=Big")] });
      const got = await code(new Promise((resolve, reject) => {
        own.performMessageTransaction(request, (error, response) => (error ? reject(error) : resolve(response)));
      }));
      await leave(own, client);
      return got;
    });
    told.sessions = [];
    const stay = [];
    for (let n = 0; n < 3; n++) {
      told.sessions.push(await code(connected({}, (own, client) => { stay.push([own, client]); })));
    }
    for (const [own, client] of stay) await leave(own, client);
    return told;
  },

  // Who comes with a certificate: anna, eve whom nobody knows, and eve with what belongs to anna.
  async login() {
    const file = (name) => path.join(process.argv[4], name);
    const manager = new OPCUACertificateManager({ rootFolder: file("node"), automaticallyAcceptUnknownCertificate: true });
    await manager.initialize();
    const as = async (certificate, key, work) => {
      const client = OPCUAClient.create({
        applicationUri: "urn:test:judge", certificateFile: file("judge.der"), privateKeyFile: file("judge.pem"),
        clientCertificateManager: manager, endpointMustExist: false, connectionStrategy: { maxRetry: 0 },
        securityMode: MessageSecurityMode.SignAndEncrypt, securityPolicy: SecurityPolicy.Basic256Sha256,
      });
      await client.connect(process.argv[2]);
      try {
        const session = await client.createSession({
          type: UserTokenType.Certificate, certificateData: fs.readFileSync(file(certificate)),
          privateKey: fs.readFileSync(file(key), "utf8"),
        });
        const told = await work(session);
        await session.close();
        return told;
      } catch (error) {
        return /Bad\w+/.exec(error.message)?.[0] ?? error.message;
      } finally {
        await client.disconnect();
      }
    };
    const write = (session) => session.write({
      nodeId: "ns=3;s=Setpoint", attributeId: AttributeIds.Value, value: { value: { dataType: DataType.Int32, value: 5 } },
    });
    const told = {
      wrote: await as("anna.der", "anna.pem", async (session) => (await write(session)).name),
      stranger: await as("eve.der", "eve.pem", () => "Good"),
      forged: await as("anna.der", "eve.pem", () => "Good"),
    };
    await manager.dispose();
    return told;
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

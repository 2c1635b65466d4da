// The bench client on node-opcua: does each step once and reports as JSON.
"use strict";

// The report has standard output for itself.
console.log = console.info = console.warn = console.error;

const fs = require("node:fs");
const path = require("node:path");
const bench = require("./bench.js");
const judge = require("./judge.js");
const {
  AttributeIds, BrowseDirection, ClientMonitoredItem, DataType, MessageSecurityMode, NodeClass, OPCUAClient,
  SecurityPolicy, TimestampsToReturn, UserTokenType, resolveNodeId,
} = require("node-opcua");

const NAME = "node-opcua bench client";
const URI = "urn:uaperf:peers:node-opcua:client";

async function connect(args, step) {
  const clientCertificateManager = await bench.certificates(args.pki, true);
  const own = args.cert
    ? { certificateFile: args.cert, privateKeyFile: args.key }
    : await bench.own(clientCertificateManager, args.pki, NAME, URI);
  if (!(args.policy in SecurityPolicy)) throw new Error(`node-opcua has no policy ${args.policy}`);
  const client = OPCUAClient.create({
    applicationName: NAME, applicationUri: URI, clientName: NAME, ...own, clientCertificateManager,
    securityPolicy: SecurityPolicy[args.policy], securityMode: MessageSecurityMode[args.mode],
    endpointMustExist: false,
    connectionStrategy: args.cut ? { initialDelay: 100, maxDelay: 1000 } : { maxRetry: 0 },
  });
  let identity = { type: UserTokenType.Anonymous };
  if (args.user) identity = { type: UserTokenType.UserName, userName: args.user, password: args.password };
  if (args["user-cert"]) {
    identity = {
      type: UserTokenType.Certificate,
      certificateData: fs.readFileSync(args["user-cert"]),
      privateKey: fs.readFileSync(args["user-key"], "utf8"),
    };
  }
  const start = performance.now();
  await client.connect(args.url);
  const session = await client.createSession(identity);
  step.ms = performance.now() - start;
  const namespaces = await session.readNamespaceArray();
  const ns = namespaces.indexOf(bench.NAMESPACE);
  if (ns < 0) throw new Error(`the server has no namespace ${bench.NAMESPACE}`);
  step.ok = true;
  return { client, session, id: (i) => resolveNodeId(`ns=${ns};i=${i}`), ns };
}

async function values({ session, id }, ids) {
  const results = await session.read(ids.map((i) => ({ nodeId: id(i), attributeId: AttributeIds.Value })));
  const bad = results.findIndex((r) => !r.statusCode.isGood());
  if (bad >= 0) throw new Error(`i=${ids[bad]}: ${results[bad].statusCode.name}`);
  return results.map((r) => r.value.value);
}

async function read(c, step) {
  const scalars = [...bench.SCALARS, ...bench.COUNTERS.map(([i]) => i)];
  step.values = {};
  for (let at = 0; at < scalars.length; at += 500) {
    const ids = scalars.slice(at, at + 500);
    (await values(c, ids)).forEach((v, k) => { step.values[`i=${ids[k]}`] = v; });
  }
  step.arrays = {};
  for (const [i] of [...bench.BYTE_ARRAYS, bench.INT16_ARRAY]) {
    const [array] = await values(c, [i]);
    step.arrays[`i=${i}`] = [array.length, array.reduce((sum, v) => (sum + v) % 65536, 0)];
  }
  step.ok = Object.values(step.values).every((v) => v !== null && v !== undefined);
}

async function write(c, step) {
  const put = async (double, int32) => {
    const one = (i, dataType, value) => ({
      nodeId: c.id(i), attributeId: AttributeIds.Value, value: { value: { dataType, value } },
    });
    const codes = await c.session.write([one(1499, DataType.Double, double), one(1999, DataType.Int32, int32)]);
    const bad = codes.find((code) => !code.isGood());
    if (bad) throw new Error(bad.name);
  };
  const before = await values(c, [1499, 1999]);
  await put(0.5, -5);
  const after = await values(c, [1499, 1999]);
  await put(...before);
  step.ok = after[0] === 0.5 && after[1] === -5;
  if (!step.ok) throw new Error(`wrote 0.5 and -5, read back ${after}`);
}

async function browse(c, step) {
  const seen = new Set();
  const toVisit = [resolveNodeId("ObjectsFolder")];
  while (toVisit.length) {
    let result = await c.session.browse({
      nodeId: toVisit.pop(), referenceTypeId: "HierarchicalReferences", includeSubtypes: true,
      browseDirection: BrowseDirection.Forward, resultMask: 0x3f,
    });
    for (;;) {
      if (!result.statusCode.isGood()) throw new Error(result.statusCode.name);
      for (const r of result.references ?? []) {
        const key = r.nodeId.toString();
        if (r.nodeId.namespace !== c.ns || seen.has(key)) continue;
        seen.add(key);
        if (r.nodeClass === NodeClass.Object) toVisit.push(r.nodeId);
      }
      if (!result.continuationPoint?.length) break;
      result = await c.session.browseNext(result.continuationPoint, false);
    }
  }
  step.count = seen.size;
  step.ok = seen.size >= bench.NODES;
}

async function call(c, step) {
  const result = await c.session.call({
    objectId: c.id(bench.ECHO_OBJECT), methodId: c.id(bench.ECHO_METHOD),
    inputArguments: [{ dataType: DataType.Double, value: 12.5 }],
  });
  if (!result.statusCode.isGood()) throw new Error(result.statusCode.name);
  step.result = result.outputArguments[0].value;
  step.ok = step.result === 12.5;
}

async function subscribe(c, step) {
  const subscription = await c.session.createSubscription2({
    requestedPublishingInterval: 100, requestedLifetimeCount: 600, requestedMaxKeepAliveCount: 10,
    maxNotificationsPerPublish: 0, publishingEnabled: true, priority: 0,
  });
  step.values = [];
  await new Promise((resolve, reject) => {
    setTimeout(resolve, 5000).unref();
    const item = ClientMonitoredItem.create(
      subscription, { nodeId: c.id(3030), attributeId: AttributeIds.Value },
      { samplingInterval: 100, queueSize: 10, discardOldest: true }, TimestampsToReturn.Both);
    item.on("err", (error) => reject(new Error(error)));
    item.on("changed", (data) => {
      if (step.values.push(data.value.value) >= 5) resolve();
    });
  });
  await subscription.terminate();
  step.notifications = step.values.length;
  step.ok = step.notifications >= 3 && step.values.every((v, k, all) => k === 0 || all[k - 1] < v);
}

async function main() {
  const text = { type: "string" };
  const args = bench.arguments({
    policy: { ...text, default: "None" }, mode: { ...text, default: "None" },
    user: text, password: { ...text, default: "" }, cert: text, key: text, "user-cert": text, "user-key": text,
    do: { ...text, default: bench.STEPS.join() }, out: text, updates: { ...text, default: "50" }, cut: text,
  }, true);
  args.url = args.positionals[0];
  args.updates = Number(args.updates);
  args.cut = Number(args.cut);
  const asked = [...bench.STEPS, ...Object.keys(judge)].filter((s) => s === "connect" || args.do.split(",").includes(s));
  const { version } = JSON.parse(fs.readFileSync(path.join(path.dirname(require.resolve("node-opcua")), "../package.json")));
  const report = { stack: "node-opcua", version, steps: Object.fromEntries(asked.map((s) => [s, { ok: false }])), error: null };

  const failed = (name, error) => {
    const what = String(error?.message ?? error).trim();
    Object.assign(report.steps[name], { ok: false, error: what });
    report.error ??= `${name}: ${what}`;
  };
  const end = () => {
    // a write to a file or pipe by its number is complete when it returns
    fs.writeSync(1, JSON.stringify(report) + "\n");
    process.exit(Object.values(report.steps).every((s) => s.ok) ? 0 : 1);
  };
  setTimeout(() => {
    for (const name of asked) if (!report.steps[name].ok && !report.steps[name].error) failed(name, "gave up");
    end();
  }, args.out ? bench.JUDGING_PATIENCE_MS : bench.PATIENCE_MS).unref();

  let c;
  try {
    c = await connect(args, report.steps.connect);
  } catch (error) {
    asked.forEach((name) => failed(name, name === "connect" ? error : "not connected"));
    end();
  }
  for (const [name, step] of Object.entries({ read, write, browse, call, subscribe })) {
    if (!asked.includes(name)) continue;
    try {
      await step(c, report.steps[name]);
      if (!report.steps[name].ok) failed(name, "not as expected");
    } catch (error) {
      failed(name, error);
    }
  }
  for (const [name, step] of Object.entries(judge)) {
    if (!asked.includes(name)) continue;
    try {
      await step(c, args, report.steps[name]);
    } catch (error) {
      failed(name, error);
    }
  }
  await c.session.close().catch(console.error);
  await c.client.disconnect().catch(console.error);
  end();
}

main();

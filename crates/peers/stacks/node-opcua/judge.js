// The steps that judge a server: what was seen goes to a file, line by line, for somebody else to
// compare. They are only done when named.
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const {
  AttributeIds, BinaryStream, BrowseDirection, ClientMonitoredItem, ClientMonitoredItemGroup, DataType, StatusCodes,
  TimestampsToReturn, coerceNodeId, resolveNodeId,
} = require("node-opcua");
const { encodeNodeId } = require("node-opcua-basic-types");
const { encodeVariant } = require("node-opcua-variant");

const NODES_AT_ONCE = 100;
const REFERENCES_AT_ONCE = 100;
const ATTRIBUTES = 27;

const bytes = (encode) => {
  const stream = new BinaryStream(1 << 20);
  encode(stream);
  return stream.buffer.subarray(0, stream.length).toString("hex");
};

// All references of each node, both ways, by BrowseNext where there are many.
async function references(session, nodes) {
  const results = await session.browse(nodes.map((nodeId) => ({
    nodeId, browseDirection: BrowseDirection.Both, referenceTypeId: coerceNodeId("i=0"), includeSubtypes: true,
    nodeClassMask: 0, resultMask: 0x3f,
  })));
  const all = [];
  for (let result of results) {
    const found = [];
    for (;;) {
      if (!result.statusCode.isGood()) throw new Error(result.statusCode.name);
      found.push(...result.references ?? []);
      if (!result.continuationPoint?.length) break;
      result = await session.browseNext(result.continuationPoint, false);
    }
    all.push(found);
  }
  return all;
}

function attributes(session, nodes) {
  const one = (nodeId) => Array.from({ length: ATTRIBUTES }, (_, a) => ({ nodeId, attributeId: a + 1 }));
  return session.read(nodes.flatMap(one));
}

async function dump({ session }, args, step) {
  const out = fs.createWriteStream(args.out);
  const root = resolveNodeId("RootFolder");
  const seen = new Set([root.toString()]);
  const pending = [root];
  step.lines = 0;
  session.requestedMaxReferencesPerNode = REFERENCES_AT_ONCE;
  while (pending.length) {
    const nodes = pending.splice(0, NODES_AT_ONCE);
    const found = await references(session, nodes);
    const values = await attributes(session, nodes);
    nodes.forEach((node, n) => {
      const name = bytes((s) => encodeNodeId(node, s));
      for (const r of found[n]) {
        out.write(`R\t${name}\t${bytes((s) => r.encode(s))}\n`);
        step.lines++;
        const key = r.nodeId.toString();
        if (!r.nodeId.serverIndex && !seen.has(key)) {
          seen.add(key);
          pending.push(coerceNodeId(key));
        }
      }
      for (let a = 0; a < ATTRIBUTES; a++) {
        const { statusCode, value } = values[n * ATTRIBUTES + a];
        if (statusCode === StatusCodes.BadAttributeIdInvalid) continue;
        const body = value ? bytes((s) => encodeVariant(value, s)) : "";
        out.write(`A\t${name}\t${a + 1}\t${statusCode.value.toString(16).padStart(8, "0")}\t${body}\n`);
        step.lines++;
      }
    });
  }
  await new Promise((resolve) => out.end(resolve));
  step.nodes = seen.size;
  step.ok = true;
}

const subscribe = (session) => session.createSubscription2({
  requestedPublishingInterval: 100, requestedLifetimeCount: 600, requestedMaxKeepAliveCount: 10,
  maxNotificationsPerPublish: 0, publishingEnabled: true, priority: 0,
});

const PARAMETERS = { samplingInterval: 0, queueSize: 1000, discardOldest: true };

async function watch({ session, id }, args, step) {
  const numbers = Array.from({ length: 1000 }, (_, k) => 1000 + k);
  const subscription = await subscribe(session);
  const lines = [];
  await new Promise((resolve, reject) => {
    const counts = new Map();
    let complete = 0;
    const items = numbers.map((i) => ({ nodeId: id(i), attributeId: AttributeIds.Value }));
    const group = ClientMonitoredItemGroup.create(subscription, items, PARAMETERS, TimestampsToReturn.Both);
    group.on("err", (error) => reject(new Error(error)));
    group.on("changed", (item, data, at) => {
      const i = numbers[at];
      lines.push(`${i}\t${data.value.value}\t${data.statusCode.value.toString(16).padStart(8, "0")}\n`);
      counts.set(i, (counts.get(i) ?? 0) + 1);
      if (counts.get(i) === args.updates + 1 && ++complete === numbers.length) resolve();
    });
  });
  await subscription.terminate();
  fs.writeFileSync(args.out, lines.join(""));
  step.notifications = lines.length;
  step.ok = true;
}

async function cut({ session, id }, args, step) {
  const subscription = await subscribe(session);
  const lines = [];
  await new Promise((resolve, reject) => {
    const item = ClientMonitoredItem.create(
      subscription, { nodeId: id(3030), attributeId: AttributeIds.Value }, PARAMETERS, TimestampsToReturn.Both);
    item.on("err", (error) => reject(new Error(error)));
    item.on("changed", (data) => {
      lines.push(`${data.value.value}\n`);
      if (lines.length === 5) {
        lines.push("CUT\n");
        net.connect(args.cut, "127.0.0.1").on("error", reject).end();
      }
      if (lines.length === 6 + args.updates) resolve();
    });
  });
  await subscription.terminate();
  fs.writeFileSync(args.out, lines.join(""));
  step.notifications = lines.length - 1;
  step.ok = true;
}

// GetSecurityKeys of Part 14: the group `bench`, three keys from the current one on.
async function keys({ session }, args, step) {
  const input = (dataType, value) => ({ dataType, value });
  const result = await session.call({
    objectId: resolveNodeId("PublishSubscribe"), methodId: coerceNodeId("i=15215"),
    inputArguments: [input(DataType.String, "bench"), input(DataType.UInt32, 0), input(DataType.UInt32, 3)],
  });
  let lines = [result.statusCode.name];
  if (result.statusCode.isGood()) {
    const [policy, first, all, toNext, lifetime] = result.outputArguments.map((it) => it.value);
    lines = [policy, first, Math.trunc(toNext), Math.trunc(lifetime), ...all.map((key) => key.toString("hex"))];
  }
  fs.writeFileSync(args.out, lines.map((line) => `${line}\n`).join(""));
  step.ok = true;
}

module.exports = { dump, watch, cut, keys };

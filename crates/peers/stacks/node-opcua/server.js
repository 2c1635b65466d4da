// The bench server on node-opcua; see the README one folder up for what it keeps to.
"use strict";

const path = require("node:path");
const bench = require("./bench.js");
const {
  DataType, MessageSecurityMode, OPCUAServer, SecurityPolicy, ServerSession, StatusCodes, Variant, VariantArrayType,
} = require("node-opcua");

const NAME = "node-opcua bench server";
const URI = "urn:uaperf:peers:node-opcua:server";

function addNodes(addressSpace) {
  const ns = addressSpace.registerNamespace(bench.NAMESPACE);
  const objects = addressSpace.rootFolder.objects;
  const variable = (id, value, more = {}) => ns.addVariable({
    organizedBy: objects, nodeId: `i=${id}`, browseName: `v${id}`, dataType: DataType[value.dataType],
    minimumSamplingInterval: 10, value, ...more,
  });
  const scalar = (id, dataType, value, more) => variable(id, new Variant({ dataType, value }), more);
  const array = (id, dataType, value) => variable(
    id, new Variant({ dataType, arrayType: VariantArrayType.Array, value }),
    { valueRank: 1, arrayDimensions: [value.length] });

  const kind = (i) => (bench.isDouble(i) ? DataType.Double : DataType.Int32);
  const scalars = bench.SCALARS.map((i) => [i, kind(i), scalar(i, kind(i), bench.value(i, 0))]);
  for (const [id, length] of bench.BYTE_ARRAYS) {
    array(id, DataType.Byte, Uint8Array.from({ length }, (_, k) => k % 256));
  }
  const [id, length] = bench.INT16_ARRAY;
  array(id, DataType.Int16, Int16Array.from({ length }, (_, k) => k));
  const counters = bench.COUNTERS.map(([i, period]) => [
    period, scalar(i, DataType.UInt32, 0, { accessLevel: "CurrentRead", userAccessLevel: "CurrentRead" }),
  ]);

  const argument = { name: "value", dataType: DataType.Double };
  const object = ns.addObject({ organizedBy: objects, nodeId: `i=${bench.ECHO_OBJECT}`, browseName: "bench" });
  const echo = ns.addMethod(object, {
    nodeId: `i=${bench.ECHO_METHOD}`, browseName: "echo", inputArguments: [argument], outputArguments: [argument],
  });
  echo.bindMethod((inputs, _context, done) => done(null, { statusCode: StatusCodes.Good, outputArguments: inputs }));
  return { scalars, counters };
}

async function main() {
  const args = bench.arguments({
    port: { type: "string" }, "update-us": { type: "string", default: "0" }, strict: { type: "boolean", default: false },
  });
  bench.endWithStdin();
  const serverCertificateManager = await bench.certificates(args.pki, !args.strict);
  const userCertificateManager = await bench.certificates(path.join(args.pki, "users"), true);
  const own = await bench.own(serverCertificateManager, args.pki, NAME, URI);

  // not an option of the server, but a limit of every session
  ServerSession.maxPublishRequestInQueue = 1000;
  const server = new OPCUAServer({
    port: +args.port, host: "127.0.0.1", hostname: "127.0.0.1", resourcePath: "",
    serverInfo: { applicationUri: URI, applicationName: { text: NAME } },
    ...own, serverCertificateManager, userCertificateManager,
    securityModes: [MessageSecurityMode.None, MessageSecurityMode.Sign, MessageSecurityMode.SignAndEncrypt],
    // the first two have to be asked for by name
    securityPolicies: [
      SecurityPolicy.Basic128Rsa15, SecurityPolicy.Basic256, SecurityPolicy.Basic256Sha256,
      SecurityPolicy.Aes128_Sha256_RsaOaep, SecurityPolicy.Aes256_Sha256_RsaPss,
    ],
    userManager: { isValidUser: (user, password) => user === "bench" && password === "bench" },
    maxConnectionsPerEndpoint: 10_000,
    serverCapabilities: {
      maxSessions: 10_000, maxSubscriptions: 100_000, maxSubscriptionsPerSession: 10_000, minSupportedSampleRate: 10,
      maxBrowseContinuationPoints: 1000,
      operationLimits: { maxNodesPerMethodCall: 10_000, maxMonitoredItemsPerCall: 100_000 },
    },
  });
  await server.initialize();
  const { scalars, counters } = addNodes(server.engine.addressSpace);
  await server.start();
  console.log(`READY opc.tcp://127.0.0.1:${args.port}`);

  for (const [period, node] of counters) {
    bench.every(period, (n) => node.setValueFromSource({ dataType: DataType.UInt32, value: n }));
  }
  if (+args["update-us"]) {
    bench.every(+args["update-us"] / 1000, (n) => {
      for (const [i, dataType, node] of scalars) node.setValueFromSource({ dataType, value: bench.value(i, n) });
    });
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

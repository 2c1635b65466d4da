// A server of node-opcua that dials a client, again and again. It says READY and its URL, and ends with its standard input.
"use strict";

const [port, client, pki] = process.argv.slice(2);
const print = console.log;
console.log = console.info = console.warn = console.error;

const { OPCUACertificateManager, OPCUAServer } = require("node-opcua");

process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();

async function main() {
  const manager = new OPCUACertificateManager({
    rootFolder: pki, automaticallyAcceptUnknownCertificate: true, disableFileWatchers: true,
  });
  await manager.initialize();
  const server = new OPCUAServer({
    port: +port, hostname: "127.0.0.1", serverCertificateManager: manager,
    reverseConnect: { connections: [{ endpointUrl: client }], reconnectDelay: 50, maxReconnectDelay: 200 },
  });
  await server.start();
  print("READY", server.getEndpointUrl());
}

main().catch((error) => { console.error(error); process.exit(1); });

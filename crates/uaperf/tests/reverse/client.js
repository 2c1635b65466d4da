// A client of node-opcua that awaits a server which dials. It says LISTENING, and what it read from that server.
"use strict";

const [port, endpointUrl, pki] = process.argv.slice(2);
const print = console.log;
console.log = console.info = console.warn = console.error;

const { AttributeIds, ClientReverseConnect, OPCUACertificateManager, OPCUAClient } = require("node-opcua");

async function main() {
  const manager = new OPCUACertificateManager({
    rootFolder: pki, automaticallyAcceptUnknownCertificate: true, disableFileWatchers: true,
  });
  await manager.initialize();
  const listener = new ClientReverseConnect({ connectionUrl: `opc.tcp://127.0.0.1:${port}` });
  await listener.start();
  print("LISTENING", port);
  for (let n = 0; n < 2; n++) {
    const client = OPCUAClient.create({ endpointMustExist: false, clientCertificateManager: manager });
    await client.connectReverse(listener, { endpointUrl });
    const session = await client.createSession();
    const value = await session.read({ nodeId: "i=2258", attributeId: AttributeIds.Value });
    print("READ", value.statusCode.name);
    await session.close();
    await client.disconnect();
  }
  await listener.stop();
  process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });

// A server of node-opcua that is a certificate manager, as far as it checks certificates: one that a file holds was revoked,
// every other is good for an hour. It says READY, and ends with its standard input.
"use strict";

const [port, pki, applicationUri, own, key, revoked] = process.argv.slice(2);
const print = console.log;
console.log = console.info = console.warn = console.error;

const fs = require("fs");
const { pem } = require("./pem.js");
const { DataType, OPCUACertificateManager, OPCUAServer, StatusCodes, nodesets } = require("node-opcua");

process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();

async function main() {
  const manager = new OPCUACertificateManager({
    rootFolder: pki, automaticallyAcceptUnknownCertificate: true, disableFileWatchers: true,
  });
  await manager.initialize();
  const server = new OPCUAServer({
    port: +port, hostname: "127.0.0.1", serverCertificateManager: manager, serverInfo: { applicationUri },
    nodeset_filename: [nodesets.standard, nodesets.gds], ...pem(pki, own, key),
  });
  await server.initialize();
  const space = server.engine.addressSpace;
  const gds = space.getNamespaceIndex("http://opcfoundation.org/UA/GDS/");
  space.findNode(`ns=${gds};i=177`).bindMethod((inputs, _context, callback) => {
    const gone = fs.existsSync(revoked) && inputs[0].value.equals(fs.readFileSync(revoked));
    const status = gone ? StatusCodes.BadCertificateRevoked : StatusCodes.Good;
    const until = new Date(Date.now() + 3600000);
    callback(null, {
      statusCode: StatusCodes.Good,
      outputArguments: [
        { dataType: DataType.StatusCode, value: status },
        { dataType: DataType.DateTime, value: until },
      ],
    });
  });
  await server.start();
  print("READY");
}

main().catch((error) => { console.error(error); process.exit(1); });

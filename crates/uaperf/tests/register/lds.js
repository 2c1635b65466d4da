// The discovery server of node-opcua on a port, with certificates in a folder. It says READY, and from then on a
// line for each server that registers, is refused, or goes. It ends with its standard input.
"use strict";

const [port, pki, newest] = process.argv.slice(2);
const print = console.log;
console.log = console.info = console.warn = console.error;

const fs = require("node:fs");
const path = require("node:path");
const {
  OPCUACertificateManager, OPCUADiscoveryServer, MessageSecurityMode, SecurityPolicy,
} = require("node-opcua");

process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();
// A machine without multicast has no announcements; whoever asks finds what registered all the same.
process.on("uncaughtException", (error) => console.error("uncaught", error.message));

async function main() {
  const applicationUri = "urn:test:lds";
  const manager = new OPCUACertificateManager({
    rootFolder: pki, automaticallyAcceptUnknownCertificate: true, disableFileWatchers: true,
  });
  await manager.initialize();
  const certificateFile = path.join(pki, "lds.pem");
  await manager.createSelfSignedCertificate({
    applicationUri, subject: "/CN=lds", dns: ["localhost"], ip: ["127.0.0.1"],
    startDate: new Date(Date.now() - 86_400_000), validity: 30, outputFile: certificateFile,
  });
  const server = new OPCUADiscoveryServer({
    port: +port, hostname: "127.0.0.1", serverInfo: { applicationUri },
    serverCertificateManager: manager, certificateFile, privateKeyFile: manager.privateKey,
    securityModes: [MessageSecurityMode.None, MessageSecurityMode.SignAndEncrypt],
    securityPolicies: [SecurityPolicy.None, SecurityPolicy.Basic256Sha256],
  });
  if (newest === "before-1.03") {
    // One that has never heard of RegisterServer2.
    server._on_RegisterServer2Request = (message, channel) => {
      const { ServiceFault, StatusCodes } = require("node-opcua");
      const responseHeader = { serviceResult: StatusCodes.BadServiceUnsupported };
      channel.send_response("MSG", new ServiceFault({ responseHeader }), message);
    };
  }
  const capabilities = (of) => (of.discoveryConfiguration || []).map((conf) => conf.serverCapabilities.join("+"));
  server.on("onRegisterServer", (of, first) => setTimeout(
    () => print(first ? "NEW" : "AGAIN", of.serverUri, of.discoveryUrls.join(","), capabilities(of).join(",")), 0));
  server.on("onUnregisterServer", (of) => print("GONE", of.serverUri));
  server.on("onRegistrationRefused", (of, why) => print("REFUSED", of.serverUri, why.statusCode.name));
  await server.start();
  print("READY", `opc.tcp://127.0.0.1:${port}`);
}

main().catch((error) => { console.error(error); process.exit(1); });

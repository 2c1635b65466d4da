// A client of node-opcua that asks a certificate manager about certificates. Of each it says what the manager says, and for
// how many days that is true.
"use strict";

const [url, pki, applicationUri, own, key, ...files] = process.argv.slice(2);
const print = console.log;
console.log = console.info = console.warn = console.error;

const fs = require("fs");
const { pem } = require("./pem.js");
const {
  DataType, MessageSecurityMode, OPCUACertificateManager, OPCUAClient, SecurityPolicy, makeBrowsePath,
} = require("node-opcua");

async function main() {
  const manager = new OPCUACertificateManager({
    rootFolder: pki, automaticallyAcceptUnknownCertificate: true, disableFileWatchers: true,
  });
  await manager.initialize();
  const client = OPCUAClient.create({
    applicationUri, endpointMustExist: false, clientCertificateManager: manager,
    securityMode: MessageSecurityMode.SignAndEncrypt, securityPolicy: SecurityPolicy.Basic256Sha256,
    connectionStrategy: { maxRetry: 0 }, ...pem(pki, own, key),
  });
  await client.connect(url);
  const session = await client.createSession();
  const gds = (await session.readNamespaceArray()).indexOf("http://opcfoundation.org/UA/GDS/");
  const find = async (path) => {
    const found = await session.translateBrowsePath(makeBrowsePath("RootFolder", path));
    return found.targets[0].targetId;
  };
  const objectId = await find(`/Objects/${gds}:Directory`);
  const methodId = await find(`/Objects/${gds}:Directory/${gds}:CheckRevocationStatus`);
  for (const file of files) {
    const inputArguments = [{ dataType: DataType.ByteString, value: fs.readFileSync(file) }];
    const { statusCode, outputArguments } = await session.call({ objectId, methodId, inputArguments });
    const [status, until] = outputArguments.map((it) => it.value);
    const days = Math.round((until.getTime() - Date.now()) / 86400000);
    print(statusCode.name, status.name, days < 0 ? "unknown" : days);
  }
  await session.close();
  await client.disconnect();
  process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });

// What server and client share: arguments, the bench address space, certificates.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const path = require("node:path");
const { parseArgs } = require("node:util");

// Since CVE-2023-46809 Node refuses to decrypt RSA PKCS#1 v1.5, which the deprecated policy
// Basic128Rsa15 is made of. A peer for tests on loopback has nothing to lose by it, so the
// padding is taken off here. Must stand before node-opcua is loaded.
const { privateDecrypt } = crypto;
crypto.privateDecrypt = (key, buffer) => {
  if (key?.padding !== crypto.constants.RSA_PKCS1_PADDING) return privateDecrypt(key, buffer);
  const block = privateDecrypt({ ...key, padding: crypto.constants.RSA_NO_PADDING }, buffer);
  const end = block.indexOf(0, 2);
  if (block[0] !== 0 || block[1] !== 2 || end < 10) throw new Error("bad PKCS#1 v1.5 padding");
  return block.subarray(end + 1);
};
syncBuiltinESMExports();

const { OPCUACertificateManager } = require("node-opcua");

const range = (from, to) => Array.from({ length: to - from }, (_, k) => from + k);

exports.NAMESPACE = "urn:bench";
exports.SCALARS = range(1000, 2000);
exports.isDouble = (i) => i < 1500;
exports.BYTE_ARRAYS = [[3010, 10], [3011, 10_000], [3012, 20_000], [3013, 65_535], [3014, 102_400]];
exports.INT16_ARRAY = [3020, 512];
exports.COUNTERS = [[3030, 100], [3031, 1000]];
exports.ECHO_METHOD = 4000;
exports.ECHO_OBJECT = 4001;
exports.NODES = 1000 + 6 + 2 + 2;
exports.STEPS = ["connect", "read", "write", "browse", "call", "subscribe"];
exports.PATIENCE_MS = 60_000;
exports.JUDGING_PATIENCE_MS = 170_000;

// The value of scalar i after update number n; Int32 wraps as an Int32 does.
exports.value = (i, n) => (exports.isDouble(i) ? i + n : (i + n) | 0);

exports.arguments = (options, allowPositionals = false) => {
  const { values, positionals } = parseArgs({ options: { pki: { type: "string" }, ...options }, allowPositionals });
  if (!values.pki) throw new Error("--pki is required");
  return { ...values, positionals };
};

exports.endWithStdin = () => {
  // whoever started us closes our standard input, or is gone
  process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();
  process.on("SIGTERM", () => process.exit(0));
};

// Calls action(n) every so many milliseconds; one that comes late starts again from now.
exports.every = (period, action) => {
  let n = 0;
  let due = performance.now() + period;
  const tick = () => {
    action(++n);
    const now = performance.now();
    due = Math.max(due + period, now);
    setTimeout(tick, due - now);
  };
  setTimeout(tick, period);
};

// The certificate manager of a PKI folder. The stack's own layout is the one of the contract,
// but for the key and the PEM file that it makes first.
exports.certificates = async (pki, automaticallyAcceptUnknownCertificate) => {
  fs.mkdirSync(pki, { recursive: true });
  const manager = new OPCUACertificateManager({
    rootFolder: pki, automaticallyAcceptUnknownCertificate, disableFileWatchers: true,
  });
  await manager.initialize();
  return manager;
};

exports.own = async (manager, pki, name, applicationUri) => {
  const certificateFile = path.join(pki, "own", "certs", "own.pem");
  if (!fs.existsSync(certificateFile)) {
    await manager.createSelfSignedCertificate({
      applicationUri, subject: `/CN=${name}`, dns: ["localhost"], ip: ["127.0.0.1"],
      startDate: new Date(Date.now() - 86_400_000), validity: 3650, outputFile: certificateFile,
    });
  }
  return { certificateFile, privateKeyFile: manager.privateKey };
};

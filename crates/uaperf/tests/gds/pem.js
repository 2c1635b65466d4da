// A certificate and its key as node-opcua wants them: PEM.
"use strict";

const crypto = require("crypto");
const fs = require("fs");
const path = require("path");

exports.pem = (folder, own, key) => {
  const certificateFile = path.join(folder, "own.pem");
  const privateKeyFile = path.join(folder, "own-key.pem");
  fs.writeFileSync(certificateFile, new crypto.X509Certificate(fs.readFileSync(own)).toString());
  const text = fs.readFileSync(key);
  const der = text.includes("PRIVATE KEY") ? { key: text } : { key: text, format: "der", type: "pkcs8" };
  fs.writeFileSync(privateKeyFile, crypto.createPrivateKey(der).export({ type: "pkcs8", format: "pem" }));
  return { certificateFile, privateKeyFile };
};

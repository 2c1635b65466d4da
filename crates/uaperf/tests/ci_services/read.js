// Prints a YAML file as JSON.
const { readFileSync } = require("fs");
const { load } = require("js-yaml");
console.log(JSON.stringify(load(readFileSync(process.argv[2], "utf8"))));

#!/usr/bin/env python3
"""Writes of what a program is made: a bill of materials in CycloneDX 1.5, from the lock file.

    python3 deploy/release/parts.py TARGET > uaperf.cdx.json

The parts are the packages that `cargo tree` has for the target: those that are linked, and as `excluded` those that only run
while it is built. What they are is said by `cargo metadata`, which resolves more: it does not look which features are used. Checksums are those of the lock file. The same commit gives the same bytes.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import urllib.parse
import uuid


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: parts.py TARGET")
    target = sys.argv[1]
    metadata = json.loads(
        subprocess.check_output(
            ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"],
            stderr=subprocess.DEVNULL,
        )
    )
    packages = {it["id"]: it for it in metadata["packages"]}
    nodes = {it["id"]: it for it in metadata["resolve"]["nodes"]}
    [root] = [id for id in metadata["workspace_members"] if packages[id]["name"] == "uaperf"]
    linked, used = tree(target, "normal,no-proc-macro"), tree(target, "normal,build")
    everything = {id for id in reached(nodes, root) if named(packages[id]) in used} | {root}
    sums = checksums()
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    about = component(packages[root], "application", sums, None)
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([about['purl'], target, sorted(everything)]))}",
        "version": 1,
        "metadata": {
            "timestamp": date.isoformat().replace("+00:00", "Z"),
            "component": about,
            "properties": [{"name": "cdx:rustc:target", "value": target}],
        },
        "components": [
            component(packages[id], "library", sums, "required" if named(packages[id]) in linked else "excluded")
            for id in sorted(everything - {root}, key=lambda id: purl(packages[id]))
        ],
        "dependencies": [
            {
                "ref": purl(packages[id]),
                "dependsOn": sorted({purl(packages[it]) for it in uses(nodes, id) if it in everything}),
            }
            for id in sorted(everything, key=lambda id: purl(packages[id]))
        ],
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


def tree(target, edges):
    """Names and versions of what the program is made of by these edges."""
    lines = subprocess.check_output(
        ["cargo", "tree", "--locked", "--package=uaperf", "--prefix=none", f"--target={target}", f"--edges={edges}"],
        text=True,
        stderr=subprocess.DEVNULL,
    )
    return {tuple(line.split()[:2]) for line in lines.splitlines() if line.strip()}


def named(package):
    return package["name"], "v" + package["version"]


def uses(nodes, id):
    """What a package uses, but for its tests."""
    for it in nodes[id]["deps"]:
        if any(kind["kind"] in (None, "build") for kind in it["dep_kinds"]):
            yield it["pkg"]


def reached(nodes, root):
    """What is used, by whomever."""
    found, left = set(), [root]
    while left:
        id = left.pop()
        if id not in found:
            found.add(id)
            left.extend(uses(nodes, id))
    return found


def purl(package):
    name = urllib.parse.quote(package["name"])
    return f"pkg:cargo/{name}@{urllib.parse.quote(package['version'], safe='')}"


def component(package, kind, sums, scope):
    it = {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if scope:
        it["scope"] = scope
    if package["description"]:
        it["description"] = " ".join(package["description"].split())
    if package["license"]:
        # Packages of before 2018 have a slash for OR.
        it["licenses"] = [{"expression": package["license"].replace("/", " OR ").replace("  ", " ")}]
    sum = sums.get((package["name"], package["version"]))
    if sum:
        it["hashes"] = [{"alg": "SHA-256", "content": sum}]
    links = [("vcs", package["repository"]), ("website", package["homepage"])]
    links = [{"type": kind, "url": url} for kind, url in links if url]
    if links:
        it["externalReferences"] = links
    return it


def checksums():
    """By name and version; packages of the workspace have none."""
    with open("Cargo.lock", encoding="utf-8") as file:
        entries = file.read().split("[[package]]")
    found = {}
    for entry in entries:
        fields = dict(re.findall(r'^(name|version|checksum) = "(.*)"$', entry, re.M))
        if "checksum" in fields:
            found[fields["name"], fields["version"]] = fields["checksum"]
    return found


main()

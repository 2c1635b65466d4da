"""zeroconf as the other side of multicast DNS: announces a server until standard input ends, or browses for one.

peer.py announce NAME HOST PORT PATH CAPS
peer.py browse: a line for each service that comes ("+") or goes ("-")
"""

import socket
import sys

from zeroconf import IPVersion, ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf

TYPES = ["_opcua-tcp._tcp.local.", "_opcua-tls._tcp.local.", "_opcua-https._tcp.local."]


def announce(zeroconf, name, host, port, path, caps):
    info = ServiceInfo(
        TYPES[0],
        f"{name}.{TYPES[0]}",
        addresses=[socket.inet_aton("127.0.0.1")],
        port=int(port),
        server=f"{host}.local.",
        properties={"path": path, "caps": caps},
    )
    zeroconf.register_service(info)
    print("READY", flush=True)
    sys.stdin.read()
    zeroconf.unregister_service(info)


def told(info):
    text = ",".join(f"{key.decode()}={(value or b'').decode()}" for key, value in sorted(info.properties.items()))
    addresses = ",".join(info.parsed_addresses(IPVersion.V4Only))
    return f"{info.server} {info.port} {addresses} {text}"


def browse(zeroconf):
    def changed(zeroconf, service_type, name, state_change):
        if state_change is ServiceStateChange.Added:
            info = zeroconf.get_service_info(service_type, name, timeout=30000)
            print(f"+ {name} {told(info)}" if info else f"? {name}", flush=True)
        elif state_change is ServiceStateChange.Removed:
            print(f"- {name}", flush=True)

    ServiceBrowser(zeroconf, TYPES, handlers=[changed])
    print("READY", flush=True)
    sys.stdin.read()


with Zeroconf(interfaces=["127.0.0.1"]) as zeroconf:
    if sys.argv[1] == "announce":
        announce(zeroconf, *sys.argv[2:])
    else:
        browse(zeroconf)

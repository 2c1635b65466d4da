//! What stands below the help of each search.

pub const ALL: &str = "\
Each trial runs for --duration. The load doubles until the objective is missed. Then each trial is \
made where the trials so far leave the most doubt, at random near the limit, until the interval is as narrow as --precision.

Examples:
  uaperf saturate read opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --slo 'p99<10ms'
  uaperf saturate read opc.tcp://plc1:4840 -n i=2258 --grow sessions --slo 'p99<50ms,errors=0'
  uaperf saturate subscribe opc.tcp://plc1:4840 -n 'ns=2;i=1..500' --grow items --slo loss=0
  uaperf saturate connect opc.tcp://plc1:4840 --sessions 50 --allow storm --slo 'p99<100ms,errors=0'
  uaperf saturate --resume results/20260301T093000Z-saturate";

pub const READ: &str = "\
Examples:
  uaperf saturate read opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --slo 'p99<10ms'
  uaperf saturate read opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --grow batch --slo 'p99<50ms'
  uaperf saturate read opc.tcp://plc1:4840 -n i=2258 --grow sessions --slo 'p99<50ms,errors=0'
  uaperf saturate read opc.tcp://plc1:4840 -n i=2258 --grow sessions --rate 1/s --slo 'p99<50ms'";

pub const WRITE: &str = "\
Examples:
  uaperf saturate write opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --allow write --slo 'p99<20ms'
  uaperf saturate write opc.tcp://plc1:4840 -n 'ns=2;i=5' --values =1 --allow write \\
    --grow batch --slo 'p99<50ms'";

pub const BROWSE: &str = "\
Examples:
  uaperf saturate browse opc.tcp://plc1:4840 -n i=85 --slo 'p99<20ms'
  uaperf saturate browse opc.tcp://plc1:4840 -n i=85 --grow in-flight --slo 'p99<100ms'";

pub const TRANSLATE: &str = "\
Examples:
  uaperf saturate translate opc.tcp://plc1:4840 --path /Objects/Server --slo 'p99<20ms'";

pub const CALL: &str = "\
Examples:
  uaperf saturate call opc.tcp://plc1:4840 --object 'ns=2;i=4001' --method 'ns=2;i=4000' --arg 1.5 \\
    --allow call --slo 'p99<20ms,errors=0'";

pub const SUBSCRIBE: &str = "\
A rate is the server's own: --grow items, subscriptions or sessions.

Examples:
  uaperf saturate subscribe opc.tcp://plc1:4840 -n 'ns=2;i=1..500' --grow items --slo loss=0
  uaperf saturate subscribe opc.tcp://plc1:4840 -n 'ns=2;i=1..10' --grow subscriptions \\
    --publishing 100ms --slo 'delay.p99<200ms,loss=0'
  uaperf saturate subscribe opc.tcp://plc1:4840 -n 'ns=2;i=1..10' --grow sessions --from 10";

pub const CONNECT: &str = "\
Each client has one connection at a time: --sessions says how many there may be.

Examples:
  uaperf saturate connect opc.tcp://plc1:4840 --sessions 50 --allow storm --slo 'p99<100ms,errors=0'
  uaperf saturate connect opc.tcp://plc1:4840 --grow sessions --allow storm --slo 'p99<1s,errors=0'";

pub const ITEMS: &str = "\
The load is made of rounds: each creates, modifies and deletes all items. Each client has one round at a \
time: --sessions says how many there may be.

Examples:
  uaperf saturate items opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --sessions 20 \\
    --slo 'p99<100ms,errors=0'
  uaperf saturate items opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --grow items --slo 'p99<1s,errors=0'";

pub const NODES: &str = "\
The load is made of rounds: each adds and deletes --count variables. Each client has one round at a time: \
--sessions says how many there may be.

Examples:
  uaperf saturate nodes opc.tcp://plc1:4840 --count 10 --sessions 20 --allow nodes --slo 'p99<100ms'";

pub const HISTORY: &str = "\
Examples:
  uaperf saturate history opc.tcp://plc1:4840 -n 'ns=2;i=1..10' --last 10m --slo 'p99<500ms'
  uaperf saturate history opc.tcp://plc1:4840 -n 'ns=2;i=1..10' --last 10m --grow sessions \\
    --slo 'p99<2s,errors=0'";

pub const SEQUENCE: &str = "\
Each user does one thing after the other: --sessions says how many there are.

Examples:
  uaperf saturate sequence opc.tcp://plc1:4840 --grow sessions --slo 'p99<2s,errors=0' \\
    --sequence 'look: browse i=85 -> think 1s -> read i=2258'";

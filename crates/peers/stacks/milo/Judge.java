import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

import java.io.BufferedWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.eclipse.milo.opcua.stack.core.StatusCodes;
import org.eclipse.milo.opcua.stack.core.types.builtin.ByteString;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.QualifiedName;
import org.eclipse.milo.opcua.stack.core.types.builtin.StatusCode;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.enumerated.BrowseDirection;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseResult;
import org.eclipse.milo.opcua.stack.core.types.structured.ReadValueId;
import org.eclipse.milo.opcua.stack.core.types.structured.ReferenceDescription;

/**
 * The steps that judge a server: what was seen goes to a file, line by line, for somebody else to
 * compare. They are only done when named.
 */
final class Judge {
    /** What these steps need of a connected client. */
    interface Connection extends Steps.Connection {
        DataValue[] readPlain(List<ReadValueId> nodes) throws Exception;

        BrowseResult[] browse(List<BrowseDescription> descriptions, int references) throws Exception;

        byte[] encode(NodeId node) throws Exception;

        byte[] encode(ReferenceDescription reference) throws Exception;

        byte[] encode(Variant value) throws Exception;

        /** Items with the fastest sampling and queues of 1000, published every 100 ms. */
        void follow(List<ReadValueId> nodes, BiConsumer<Integer, DataValue> listener) throws Exception;
    }

    private static final int NODES_AT_ONCE = 100;
    private static final int REFERENCES_AT_ONCE = 100;
    private static final int ATTRIBUTES = 27;

    private final Connection connection;
    private final int index;
    private final Options options;
    private final int updates;

    Judge(Connection connection, int index, Options options) {
        this.connection = connection;
        this.index = index;
        this.options = options;
        this.updates = Integer.parseInt(options.get("--updates", "50"));
    }

    private BufferedWriter out() throws Exception {
        return Files.newBufferedWriter(Path.of(options.get("--out")));
    }

    /** All references of each node, both ways, by BrowseNext where there are many. */
    private List<List<ReferenceDescription>> references(List<NodeId> nodes) throws Exception {
        List<List<ReferenceDescription>> all = new ArrayList<>();
        List<BrowseDescription> each = nodes.stream().map(node -> new BrowseDescription(
            node, BrowseDirection.Both, NodeId.NULL_VALUE, true, uint(0), uint(63))).toList();
        for (BrowseResult page : connection.browse(each, REFERENCES_AT_ONCE)) {
            List<ReferenceDescription> found = new ArrayList<>();
            while (true) {
                if (!page.getStatusCode().isGood()) {
                    throw new IllegalStateException("Browse: " + page.getStatusCode());
                }
                if (page.getReferences() != null) {
                    found.addAll(List.of(page.getReferences()));
                }
                ByteString more = page.getContinuationPoint();
                if (more == null || more.isNullOrEmpty()) {
                    break;
                }
                page = connection.browseNext(more);
            }
            all.add(found);
        }
        return all;
    }

    private DataValue[] attributes(List<NodeId> nodes) throws Exception {
        List<ReadValueId> wanted = new ArrayList<>();
        for (NodeId node : nodes) {
            for (int attribute = 1; attribute <= ATTRIBUTES; attribute++) {
                wanted.add(new ReadValueId(node, uint(attribute), null, QualifiedName.NULL_VALUE));
            }
        }
        return connection.readPlain(wanted);
    }

    String dump() throws Exception {
        HexFormat hex = HexFormat.of();
        NodeId root = new NodeId(0, uint(84));
        Set<NodeId> seen = new HashSet<>(Set.of(root));
        ArrayDeque<NodeId> pending = new ArrayDeque<>(List.of(root));
        int lines = 0;
        try (BufferedWriter out = out()) {
            while (!pending.isEmpty()) {
                List<NodeId> nodes = new ArrayList<>();
                while (!pending.isEmpty() && nodes.size() < NODES_AT_ONCE) {
                    nodes.add(pending.remove());
                }
                List<List<ReferenceDescription>> found = references(nodes);
                DataValue[] values = attributes(nodes);
                for (int n = 0; n < nodes.size(); n++) {
                    String name = hex.formatHex(connection.encode(nodes.get(n)));
                    for (ReferenceDescription r : found.get(n)) {
                        out.write("R\t" + name + "\t" + hex.formatHex(connection.encode(r)) + "\n");
                        lines++;
                        NodeId target = NodeId.parse(r.getNodeId().toParseableString());
                        if (r.getNodeId().getServerIndex().intValue() == 0 && seen.add(target)) {
                            pending.add(target);
                        }
                    }
                    for (int a = 0; a < ATTRIBUTES; a++) {
                        DataValue value = values[n * ATTRIBUTES + a];
                        StatusCode status = value.getStatusCode() == null ? StatusCode.GOOD : value.getStatusCode();
                        if (status.getValue() == StatusCodes.Bad_AttributeIdInvalid) {
                            continue;
                        }
                        Variant body = value.getValue();
                        out.write("A\t" + name + "\t" + (a + 1) + "\t" + String.format("%08x", status.getValue()) + "\t"
                            + (body == null ? "" : hex.formatHex(connection.encode(body))) + "\n");
                        lines++;
                    }
                }
            }
        }
        return "\"nodes\": " + seen.size() + ", \"lines\": " + lines;
    }

    private ReadValueId value(int number) {
        return new ReadValueId(new NodeId(index, uint(number)), uint(13), null, QualifiedName.NULL_VALUE);
    }

    private record Change(int at, DataValue value) {
        long whole() {
            return value.getValue().getValue() instanceof Number number ? number.longValue() : -1;
        }
    }

    private LinkedBlockingQueue<Change> follow(int from, int to) throws Exception {
        LinkedBlockingQueue<Change> changes = new LinkedBlockingQueue<>();
        connection.follow(IntStream.range(from, to).mapToObj(this::value).toList(),
            (at, value) -> changes.add(new Change(from + at, value)));
        return changes;
    }

    String watch() throws Exception {
        LinkedBlockingQueue<Change> changes = follow(1000, 2000);
        Map<Integer, Integer> counts = new HashMap<>();
        int complete = 0;
        int lines = 0;
        try (BufferedWriter out = out()) {
            while (complete < 1000) {
                Change change = changes.take();
                long status = change.value.getStatusCode() == null ? 0 : change.value.getStatusCode().getValue();
                out.write(change.at + "\t" + change.whole() + "\t" + String.format("%08x", status) + "\n");
                lines++;
                if (counts.merge(change.at, 1, Integer::sum) == updates + 1) {
                    complete++;
                }
            }
        }
        return "\"notifications\": " + lines;
    }

    String cut() throws Exception {
        LinkedBlockingQueue<Change> changes = follow(3030, 3031);
        try (BufferedWriter out = out()) {
            for (int i = 0; i < 5 + updates; i++) {
                if (i == 5) {
                    out.write("CUT\n");
                    int port = Integer.parseInt(options.get("--cut"));
                    new Socket(InetAddress.getLoopbackAddress(), port).close();
                }
                out.write(changes.take().whole() + "\n");
            }
        }
        return "\"notifications\": " + (5 + updates);
    }
}

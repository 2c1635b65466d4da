import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.eclipse.milo.opcua.stack.core.AttributeId;
import org.eclipse.milo.opcua.stack.core.StatusCodes;
import org.eclipse.milo.opcua.stack.core.UaException;
import org.eclipse.milo.opcua.stack.core.types.builtin.ByteString;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.QualifiedName;
import org.eclipse.milo.opcua.stack.core.types.builtin.StatusCode;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.UByte;
import org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.UInteger;
import org.eclipse.milo.opcua.stack.core.types.enumerated.BrowseDirection;
import org.eclipse.milo.opcua.stack.core.types.enumerated.NodeClass;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseResult;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodRequest;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodResult;
import org.eclipse.milo.opcua.stack.core.types.structured.ReadValueId;
import org.eclipse.milo.opcua.stack.core.types.structured.ReferenceDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.WriteValue;

/** What a client does and reports, whichever generation of Milo it is made with. */
abstract class Steps {
    static final String NAMESPACE = "urn:bench";

    /** A connected client, as far as the steps need it. */
    interface Connection {
        DataValue[] read(List<ReadValueId> nodes) throws Exception;

        StatusCode[] write(List<WriteValue> values) throws Exception;

        BrowseResult browse(BrowseDescription description) throws Exception;

        BrowseResult browseNext(ByteString continuationPoint) throws Exception;

        CallMethodResult call(CallMethodRequest request) throws Exception;

        /** One item, queue 10, sampled and published every 100 ms. */
        void subscribe(ReadValueId node, Consumer<DataValue> listener) throws Exception;

        void close() throws Exception;
    }

    abstract Judge.Connection connect() throws Exception;

    abstract Options options();

    private interface Work {
        String run() throws Exception;
    }

    private Judge.Connection connection;
    private int index;
    private String failure;
    private final Map<String, String> report = new LinkedHashMap<>();

    /** Prints the report; the exit code. */
    int run(String stack, String version, String asked) {
        step("connect", () -> "\"ms\": " + open());
        Map<String, Work> all = new LinkedHashMap<>();
        all.put("read", this::read);
        all.put("write", this::write);
        all.put("browse", this::browse);
        all.put("call", this::call);
        all.put("subscribe", this::subscribe);
        all.put("dump", () -> judge().dump());
        all.put("watch", () -> judge().watch());
        all.put("cut", () -> judge().cut());
        all.keySet().retainAll(Set.of(asked.split(",")));
        all.forEach(this::step);
        close();
        String steps = report.entrySet().stream()
            .map(e -> quote(e.getKey()) + ": " + e.getValue()).collect(Collectors.joining(", "));
        System.out.printf("{\"stack\": %s, \"version\": %s, \"steps\": {%s}, \"error\": %s}%n",
            quote(stack), quote(version), steps, failure == null ? "null" : quote(failure));
        System.out.flush();
        return failure == null ? 0 : 1;
    }

    private Judge judge() {
        return new Judge(connection, index, options());
    }

    private void step(String name, Work work) {
        try {
            if (connection == null && !name.equals("connect")) {
                throw new IllegalStateException("not connected");
            }
            String members = work.run();
            report.put(name, "{\"ok\": true" + (members.isEmpty() ? "" : ", " + members) + "}");
        } catch (Exception e) {
            String text = text(e);
            failure = failure == null ? text : failure;
            report.put(name, "{\"ok\": false, \"error\": " + quote(text) + "}");
            // One step's broken connection shall not be the next one's failure.
            if (connection != null) {
                close();
                try {
                    open();
                } catch (Exception again) {
                    close();
                }
            }
        }
    }

    private double open() throws Exception {
        long start = System.nanoTime();
        connection = connect();
        double ms = (System.nanoTime() - start) / 1e6;
        String[] uris = (String[]) values(List.of(new NodeId(0, uint(2255)))).get(0);
        index = List.of(uris).indexOf(NAMESPACE);
        if (index < 0) {
            throw new IllegalStateException("no namespace " + NAMESPACE);
        }
        return ms;
    }

    private void close() {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (Exception e) {
            // It was broken; that has been reported.
        }
        connection = null;
    }

    private NodeId id(int number) {
        return new NodeId(index, uint(number));
    }

    private static ReadValueId value(NodeId node) {
        return new ReadValueId(node, AttributeId.Value.uid(), null, QualifiedName.NULL_VALUE);
    }

    private List<Object> values(List<NodeId> nodes) throws Exception {
        DataValue[] results = connection.read(nodes.stream().map(Steps::value).toList());
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < results.length; i++) {
            good(results[i].getStatusCode(), nodes.get(i).toParseableString());
            values.add(results[i].getValue().getValue());
            if (values.get(i) == null) {
                throw new IllegalStateException(nodes.get(i).toParseableString() + ": no value");
            }
        }
        return values;
    }

    private static void good(StatusCode code, String what) {
        if (code != null && !code.isGood()) {
            throw new IllegalStateException(what + ": " + name(code.getValue()));
        }
    }

    private String read() throws Exception {
        List<String> scalars = new ArrayList<>();
        List<String> arrays = new ArrayList<>();
        for (int first : new int[] {1000, 1500}) {
            List<Object> list = values(IntStream.range(first, first + 500).mapToObj(this::id).toList());
            for (int i = 0; i < list.size(); i++) {
                scalars.add("\"i=" + (first + i) + "\": " + list.get(i));
            }
        }
        // One by one: not every server splits its answers.
        for (int number : new int[] {3030, 3031, 3020, 3010, 3011, 3012, 3013, 3014}) {
            Object value = values(List.of(id(number))).get(0);
            if (number < 3030) {
                arrays.add("\"i=" + number + "\": " + summary(value));
            } else {
                scalars.add("\"i=" + number + "\": " + value);
            }
        }
        return "\"values\": {" + String.join(", ", scalars) + "}, \"arrays\": {" + String.join(", ", arrays) + "}";
    }

    /** Length, and sum of the elements modulo 65536. */
    private static String summary(Object list) {
        long sum = 0;
        int length = 0;
        if (list instanceof ByteString bytes) {
            for (byte b : bytes.bytesOrEmpty()) {
                sum += b & 0xff;
                length++;
            }
        } else if (list instanceof UByte[] bytes) {
            for (UByte b : bytes) {
                sum += b.intValue();
                length++;
            }
        } else {
            for (Short word : (Short[]) list) {
                sum += word;
                length++;
            }
        }
        return "[" + length + ", " + (sum & 0xffff) + "]";
    }

    private void put(Object number, Object integer) throws Exception {
        List<WriteValue> values = new ArrayList<>();
        Object[] wanted = {number, integer};
        for (int i = 0; i < 2; i++) {
            // Neither status nor timestamps: many servers refuse to write those.
            DataValue value = DataValue.valueOnly(new Variant(wanted[i]));
            values.add(new WriteValue(id(i == 0 ? 1499 : 1999), AttributeId.Value.uid(), null, value));
        }
        for (StatusCode code : connection.write(values)) {
            good(code, "Write");
        }
    }

    private String write() throws Exception {
        List<NodeId> nodes = List.of(id(1499), id(1999));
        List<Object> before = values(nodes);
        put(0.5, -5);
        List<Object> after = values(nodes);
        put(before.get(0), before.get(1));
        if (!after.equals(List.of(0.5, -5))) {
            throw new IllegalStateException("wrote 0.5 and -5, read " + after);
        }
        return "";
    }

    private String browse() throws Exception {
        Set<String> seen = new HashSet<>();
        ArrayDeque<NodeId> queue = new ArrayDeque<>(List.of(new NodeId(0, uint(85))));
        while (!queue.isEmpty()) {
            BrowseResult page = connection.browse(new BrowseDescription(
                queue.remove(), BrowseDirection.Forward, new NodeId(0, uint(33)), true, uint(0), uint(63)));
            while (true) {
                good(page.getStatusCode(), "Browse");
                ReferenceDescription[] references = page.getReferences();
                for (ReferenceDescription r : references == null ? new ReferenceDescription[0] : references) {
                    boolean ours = r.getNodeId().getNamespaceIndex().intValue() == index;
                    if (ours && seen.add(r.getNodeId().toParseableString()) && r.getNodeClass() == NodeClass.Object
                        && r.getNodeId().getIdentifier() instanceof UInteger number) {
                        queue.add(new NodeId(index, number));
                    }
                }
                ByteString more = page.getContinuationPoint();
                if (more == null || more.isNullOrEmpty()) {
                    break;
                }
                page = connection.browseNext(more);
            }
        }
        if (seen.size() < 1010) {
            throw new IllegalStateException("found " + seen.size() + " nodes of " + NAMESPACE + ", want 1010 or more");
        }
        return "\"count\": " + seen.size();
    }

    private String call() throws Exception {
        CallMethodResult result = connection.call(
            new CallMethodRequest(id(4001), id(4000), new Variant[] {new Variant(12.5)}));
        good(result.getStatusCode(), "Call");
        Variant[] out = result.getOutputArguments();
        if (out == null || out.length != 1 || !Double.valueOf(12.5).equals(out[0].getValue())) {
            throw new IllegalStateException("echo(12.5) gave something else");
        }
        return "\"result\": " + out[0].getValue();
    }

    private String subscribe() throws Exception {
        LinkedBlockingQueue<DataValue> changes = new LinkedBlockingQueue<>();
        connection.subscribe(value(id(3030)), changes::add);
        List<Long> counts = new ArrayList<>();
        long end = System.nanoTime() + 5_000_000_000L;
        while (counts.size() < 5 && System.nanoTime() < end) {
            DataValue change = changes.poll(50, TimeUnit.MILLISECONDS);
            if (change != null && change.getValue().getValue() instanceof UInteger count) {
                counts.add(count.longValue());
            }
        }
        for (int i = 1; i < counts.size(); i++) {
            if (counts.get(i) <= counts.get(i - 1)) {
                throw new IllegalStateException("the counter does not rise: " + counts);
            }
        }
        if (counts.size() < 3) {
            throw new IllegalStateException("notified of " + counts + " in 5 s");
        }
        return "\"notifications\": " + counts.size() + ", \"values\": " + counts;
    }

    /** The innermost cause, with the name of its status code where it has one. */
    private static String text(Throwable e) {
        while (e.getCause() != null && e.getCause() != e) {
            e = e.getCause();
        }
        String message = String.valueOf(e.getMessage() == null ? e : e.getMessage());
        return e instanceof UaException ua ? name(ua.getStatusCode().getValue()) + ": " + message : message;
    }

    private static String name(long code) {
        return StatusCodes.lookup(code).map(found -> found[0]).orElse(String.format("0x%08X", code))
            .replace("_", "");
    }

    private static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\');
            }
            out.append(c < ' ' ? ' ' : c);
        }
        return out.append('"').toString();
    }
}

import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.ubyte;
import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.eclipse.milo.opcua.sdk.client.DiscoveryClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClientConfig;
import org.eclipse.milo.opcua.sdk.client.identity.AnonymousProvider;
import org.eclipse.milo.opcua.sdk.client.identity.IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.identity.X509IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.subscriptions.MonitoredItemServiceOperationResult;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaMonitoredItem;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaSubscription;
import org.eclipse.milo.opcua.stack.core.StatusCodes;
import org.eclipse.milo.opcua.stack.core.UaException;
import org.eclipse.milo.opcua.stack.core.channel.EncodingLimits;
import org.eclipse.milo.opcua.stack.core.types.UaStructuredType;
import org.eclipse.milo.opcua.stack.core.types.builtin.ByteString;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.DateTime;
import org.eclipse.milo.opcua.stack.core.types.builtin.ExtensionObject;
import org.eclipse.milo.opcua.stack.core.types.builtin.LocalizedText;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.QualifiedName;
import org.eclipse.milo.opcua.stack.core.types.builtin.StatusCode;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.enumerated.BrowseDirection;
import org.eclipse.milo.opcua.stack.core.types.enumerated.FilterOperator;
import org.eclipse.milo.opcua.stack.core.types.enumerated.MessageSecurityMode;
import org.eclipse.milo.opcua.stack.core.types.enumerated.NodeClass;
import org.eclipse.milo.opcua.stack.core.types.enumerated.TimestampsToReturn;
import org.eclipse.milo.opcua.stack.core.types.structured.AddNodesItem;
import org.eclipse.milo.opcua.stack.core.types.structured.AddNodesResult;
import org.eclipse.milo.opcua.stack.core.types.structured.AddReferencesItem;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseResult;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodRequest;
import org.eclipse.milo.opcua.stack.core.types.structured.ContentFilter;
import org.eclipse.milo.opcua.stack.core.types.structured.ContentFilterElement;
import org.eclipse.milo.opcua.stack.core.types.structured.DeleteNodesItem;
import org.eclipse.milo.opcua.stack.core.types.structured.DeleteReferencesItem;
import org.eclipse.milo.opcua.stack.core.types.structured.ElementOperand;
import org.eclipse.milo.opcua.stack.core.types.structured.EndpointDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.EventFilter;
import org.eclipse.milo.opcua.stack.core.types.structured.HistoryData;
import org.eclipse.milo.opcua.stack.core.types.structured.HistoryReadResult;
import org.eclipse.milo.opcua.stack.core.types.structured.HistoryReadValueId;
import org.eclipse.milo.opcua.stack.core.types.structured.LiteralOperand;
import org.eclipse.milo.opcua.stack.core.types.structured.ObjectAttributes;
import org.eclipse.milo.opcua.stack.core.types.structured.ReadRawModifiedDetails;
import org.eclipse.milo.opcua.stack.core.types.structured.ReadValueId;
import org.eclipse.milo.opcua.stack.core.types.structured.ReferenceDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.SimpleAttributeOperand;
import org.eclipse.milo.opcua.stack.core.types.structured.VariableAttributes;
import org.eclipse.milo.opcua.stack.core.types.structured.WriteValue;

/** Milo as a judge of what is beside values: {@code Breadth URL STEPS FOLDER} prints one JSON object. */
final class Breadth {
    private static final NodeId BASE_EVENT = new NodeId(0, uint(2041));
    private static final NodeId SYSTEM_EVENT = new NodeId(0, uint(2130));
    private static final NodeId CONDITION = new NodeId(0, uint(2782));
    private static final NodeId ACKNOWLEDGEABLE = new NodeId(0, uint(2881));
    private static final NodeId ALARM = new NodeId(0, uint(2915));
    private static final NodeId ORGANIZES = new NodeId(0, uint(35));
    private static final int VALUE = 13;

    private final String url;
    private final Path folder;
    private OpcUaClient client;

    private Breadth(String url, Path folder) {
        this.url = url;
        this.folder = folder;
    }

    public static void main(String[] args) throws Exception {
        Breadth judge = new Breadth(args[0], Path.of(args[2]));
        judge.client = judge.connect("None", MessageSecurityMode.None, AnonymousProvider.INSTANCE);
        List<String> told = new ArrayList<>();
        for (String step : args[1].split(",")) {
            String members = switch (step) {
                case "flood" -> judge.flood();
                case "where" -> judge.where();
                case "conditions" -> judge.conditions();
                case "history" -> judge.history();
                case "manage" -> judge.manage();
                case "login" -> judge.login();
                default -> throw new IllegalArgumentException(step);
            };
            told.add("\"" + step + "\":{" + members + "}");
        }
        judge.client.disconnectAsync().get(5, TimeUnit.SECONDS);
        System.out.println("{" + String.join(",", told) + "}");
        // Not every thread of the stack ends with the client.
        System.exit(0);
    }

    private OpcUaClient connect(String policy, MessageSecurityMode mode, IdentityProvider user) throws Exception {
        Identity own = Identity.load(folder.resolve("judge.der"), folder.resolve("judge.pem"));
        EndpointDescription endpoint = DiscoveryClient.getEndpoints(url).get(60, TimeUnit.SECONDS).stream()
            .filter(e -> e.getSecurityPolicyUri().endsWith("#" + policy) && e.getSecurityMode() == mode)
            .findFirst().orElseThrow();
        OpcUaClient client = OpcUaClient.create(OpcUaClientConfig.builder()
            .setApplicationUri(own.uri()).setEndpoint(endpoint)
            .setKeyPair(own.keys()).setCertificate(own.certificate())
            .setCertificateChain(new X509Certificate[] {own.certificate()})
            .setCertificateValidator((chain, uri, hosts) -> {})
            .setIdentityProvider(user)
            .setRequestTimeout(uint(60_000))
            .setEncodingLimits(new EncodingLimits(65_535, 4096, 1 << 24, 64))
            .build());
        client.connectAsync().get(60, TimeUnit.SECONDS);
        return client;
    }

    /** A busy machine takes its time; what never comes is missed by what is told in the end. */
    private static void until(BooleanSupplier done) throws InterruptedException {
        for (int n = 0; n < 600 && !done.getAsBoolean(); n++) {
            Thread.sleep(100);
        }
    }

    private static SimpleAttributeOperand field(NodeId type, String... path) {
        QualifiedName[] names = Stream.of(path).map(name -> new QualifiedName(0, name)).toArray(QualifiedName[]::new);
        // Part 4, 7.4.4.5: an empty path with the attribute NodeId is the ConditionId (Part 9, 5.5.2).
        return new SimpleAttributeOperand(type, names, uint(names.length == 0 ? 1 : VALUE), null);
    }

    private static SimpleAttributeOperand field(String name) {
        return field(BASE_EVENT, name);
    }

    private ContentFilterElement element(FilterOperator operator, UaStructuredType... operands) {
        return new ContentFilterElement(operator,
            ExtensionObject.encodeArray(client.getStaticEncodingContext(), operands));
    }

    /** Events as they come, and the subscription that brings them. */
    private record Listening(OpcUaSubscription subscription, List<Variant[]> arriving) {
        List<Variant[]> heard() {
            return new ArrayList<>(arriving);
        }
    }

    private Listening listen(NodeId node, ContentFilter where, SimpleAttributeOperand... select) throws Exception {
        List<Variant[]> heard = Collections.synchronizedList(new ArrayList<>());
        OpcUaSubscription subscription = new OpcUaSubscription(client, 100.0);
        subscription.setMaxNotificationsPerPublish(uint(0));
        subscription.create();
        OpcUaMonitoredItem item = OpcUaMonitoredItem.newEventItem(node, new EventFilter(select, where));
        item.setQueueSize(uint(1_000_000));
        item.setEventValueListener((from, values) -> heard.add(values));
        subscription.addMonitoredItem(item);
        for (MonitoredItemServiceOperationResult result : subscription.createMonitoredItems()) {
            if (!result.isGood()) {
                throw new UaException(result.operationResult().orElse(result.serviceResult()));
            }
        }
        return new Listening(subscription, heard);
    }

    private static String gaps(Stream<Object> ids) {
        Map<Integer, Set<Long>> sources = new HashMap<>();
        int[] twice = {0};
        ids.forEach(id -> {
            ByteBuffer bytes = ByteBuffer.wrap(((ByteString) id).bytes());
            if (!sources.computeIfAbsent(bytes.getInt(), source -> new HashSet<>()).add(bytes.getLong())) {
                twice[0]++;
            }
        });
        long missing = 0;
        for (Set<Long> own : sources.values()) {
            long first = own.stream().min(Long::compare).orElseThrow();
            long last = own.stream().max(Long::compare).orElseThrow();
            missing += last - first + 1 - own.size();
        }
        return "\"sources\":" + sources.size() + ",\"missing\":" + missing + ",\"twice\":" + twice[0];
    }

    private String flood() throws Exception {
        Listening l = listen(new NodeId(2, "Flood"), new ContentFilter(null), field("EventId"), field("EventType"));
        until(() -> l.arriving.size() >= 25_000);
        l.subscription.delete();
        // Who is too slow is told so by an overflow event (Part 4, 7.22.3); before it nothing may be missing.
        NodeId overflow = new NodeId(0, uint(3035));
        List<Object> ids = new ArrayList<>();
        for (Variant[] event : l.heard()) {
            if (overflow.equals(event[1].getValue())) {
                break;
            }
            ids.add(event[0].getValue());
        }
        return "\"count\":" + ids.size() + "," + gaps(ids.stream());
    }

    /** Events of one source of the flood, and of no other. */
    private String where() throws Exception {
        ContentFilter where = new ContentFilter(new ContentFilterElement[] {
            element(FilterOperator.And, new ElementOperand(uint(1)), new ElementOperand(uint(2))),
            element(FilterOperator.OfType, new LiteralOperand(new Variant(SYSTEM_EVENT))),
            element(FilterOperator.Equals, field("SourceName"), new LiteralOperand(new Variant("Flood07"))),
        });
        NodeId server = new NodeId(0, uint(2253));
        Listening l = listen(server, where, field("EventId"), field("SourceName"), field("Time"));
        until(() -> l.arriving.size() >= 200);
        l.subscription.delete();
        long others = l.heard().stream().filter(event -> !"Flood07".equals(event[1].getValue())).count();
        List<Long> times = l.heard().stream().map(event -> ((DateTime) event[2].getValue()).getJavaTime()).toList();
        return "\"count\":" + l.heard().size() + ",\"others\":" + others
            + "," + gaps(l.heard().stream().map(event -> event[0].getValue()))
            + ",\"first\":" + times.stream().min(Long::compare).orElseThrow()
            + ",\"last\":" + times.stream().max(Long::compare).orElseThrow();
    }

    private void call(NodeId object, int method, Object... arguments) throws UaException {
        Variant[] inputs = Stream.of(arguments).map(Variant::new).toArray(Variant[]::new);
        CallMethodRequest request = new CallMethodRequest(object, new NodeId(0, uint(method)), inputs);
        StatusCode status = client.call(List.of(request)).getResults()[0].getStatusCode();
        if (!status.isGood()) {
            throw new UaException(status);
        }
    }

    private String conditions() throws Exception {
        Listening l = listen(new NodeId(2, "Tanks"), new ContentFilter(null),
            field("EventId"), field("EventType"), field(CONDITION), field(ALARM, "ActiveState", "Id"),
            field(ACKNOWLEDGEABLE, "AckedState", "Id"), field(CONDITION, "Comment"));
        until(() -> l.heard().stream().anyMatch(event -> Boolean.TRUE.equals(event[3].getValue())));
        Variant[] active = l.heard().stream().filter(event -> Boolean.TRUE.equals(event[3].getValue()))
            .reduce((before, after) -> after).orElseThrow();
        call((NodeId) active[2].getValue(), 9111, active[0].getValue(), LocalizedText.english("seen"));
        BooleanSupplier acked = () -> l.heard().stream().anyMatch(event -> Boolean.TRUE.equals(event[4].getValue())
            && event[5].getValue() instanceof LocalizedText text && "seen".equals(text.getText()));
        until(acked);
        int before = l.heard().size();
        call(CONDITION, 3875, l.subscription.getSubscriptionId().orElseThrow());
        until(() -> kinds(l, before).contains(new NodeId(0, uint(2788))));
        List<Object> kinds = kinds(l, before);
        l.subscription.delete();
        int refreshed = kinds.indexOf(new NodeId(0, uint(2788))) - kinds.indexOf(new NodeId(0, uint(2787))) - 1;
        return "\"acked\":" + acked.getAsBoolean() + ",\"refreshed\":" + refreshed;
    }

    private static List<Object> kinds(Listening l, int from) {
        return l.heard().stream().skip(from).map(event -> event[1].getValue()).toList();
    }

    private String history() throws Exception {
        DateTime end = DateTime.now();
        DateTime start = new DateTime(end.getUtcTime() - 20_000_000);
        ReadRawModifiedDetails details = new ReadRawModifiedDetails(false, start, end, uint(7), false);
        List<String> values = new ArrayList<>();
        ByteString point = ByteString.NULL_VALUE;
        int pages = 0;
        do {
            HistoryReadValueId node =
                new HistoryReadValueId(new NodeId(3, "Count"), null, QualifiedName.NULL_VALUE, point);
            HistoryReadResult page =
                client.historyRead(details, TimestampsToReturn.Both, false, List.of(node)).getResults()[0];
            if (!page.getStatusCode().isGood()) {
                throw new UaException(page.getStatusCode());
            }
            HistoryData data = (HistoryData) page.getHistoryData().decode(client.getStaticEncodingContext());
            for (DataValue value : data.getDataValues()) {
                values.add("[" + value.getSourceTime().getJavaTime() + "," + value.getValue().getValue() + "]");
            }
            point = page.getContinuationPoint();
            pages++;
        } while (point != null && !point.isNullOrEmpty());
        return "\"values\":[" + String.join(",", values) + "],\"pages\":" + pages;
    }

    private ExtensionObject attributes(UaStructuredType attributes) {
        return ExtensionObject.encode(client.getStaticEncodingContext(), attributes);
    }

    private static String name(StatusCode... codes) {
        for (StatusCode code : codes) {
            if (!code.isGood()) {
                return "\"" + StatusCodes.lookup(code.getValue()).map(found -> found[0].replace("_", ""))
                    .orElse(code.toString()) + "\"";
            }
        }
        return "\"Good\"";
    }

    private boolean organizes(NodeId folder, NodeId target) throws UaException {
        BrowseResult found = client.browse(
            new BrowseDescription(folder, BrowseDirection.Forward, ORGANIZES, true, uint(0), uint(63)));
        for (ReferenceDescription reference : found.getReferences()) {
            if (reference.getNodeId().equalTo(target)) {
                return true;
            }
        }
        return false;
    }

    private DataValue value(NodeId node) throws UaException {
        return client.read(0, TimestampsToReturn.Neither,
            List.of(new ReadValueId(node, uint(VALUE), null, QualifiedName.NULL_VALUE))).getResults()[0];
    }

    private String manage() throws Exception {
        NodeId folder = new NodeId(3, "Added");
        NodeId variable = new NodeId(3, "Added.Value");
        NodeId fill = new NodeId(2, "Fill00");
        LocalizedText none = LocalizedText.NULL_VALUE;
        AddNodesResult[] added = client.addNodes(List.of(
            new AddNodesItem(new NodeId(0, uint(85)).expanded(), ORGANIZES, folder.expanded(),
                new QualifiedName(3, "Added"), NodeClass.Object,
                attributes(new ObjectAttributes(uint(64), LocalizedText.english("Added"), none, uint(0), uint(0), ubyte(0))),
                new NodeId(0, uint(61)).expanded()),
            // Value, DataType and DisplayName are told (Part 4, 7.24.1).
            new AddNodesItem(folder.expanded(), new NodeId(0, uint(47)), variable.expanded(),
                new QualifiedName(3, "Value"), NodeClass.Variable,
                attributes(new VariableAttributes(uint(64 + 16 + (1 << 21)), LocalizedText.english("Value"), none,
                    uint(0), uint(0), new Variant(42.5), new NodeId(0, uint(11)), -1, null, ubyte(1), ubyte(1), 0.0, false)),
                new NodeId(0, uint(63)).expanded()))).getResults();
        Object read = value(variable).getValue().getValue();
        StatusCode[] referenced = client.addReferences(List.of(
            new AddReferencesItem(folder, ORGANIZES, true, null, fill.expanded(), NodeClass.Variable))).getResults();
        boolean shown = organizes(folder, fill);
        StatusCode[] unreferenced = client.deleteReferences(List.of(
            new DeleteReferencesItem(folder, ORGANIZES, true, fill.expanded(), true))).getResults();
        boolean hidden = !organizes(folder, fill);
        StatusCode[] deleted = client.deleteNodes(
            List.of(new DeleteNodesItem(variable, true), new DeleteNodesItem(folder, true))).getResults();
        StatusCode[] each = Stream.of(added).map(AddNodesResult::getStatusCode).toArray(StatusCode[]::new);
        return "\"added\":" + name(each) + ",\"read\":" + read + ",\"referenced\":" + name(referenced)
            + ",\"shown\":" + shown + ",\"unreferenced\":" + name(unreferenced) + ",\"hidden\":" + hidden
            + ",\"deleted\":" + name(deleted) + ",\"gone\":" + name(value(variable).getStatusCode());
    }

    /** Who comes with a certificate: anna, eve whom nobody knows, and eve with what belongs to anna. */
    private String login() throws Exception {
        return "\"wrote\":" + come("anna.der", "anna.pem", true) + ",\"stranger\":" + come("eve.der", "eve.pem", false)
            + ",\"forged\":" + come("anna.der", "eve.pem", false);
    }

    private String come(String certificate, String key, boolean write) throws Exception {
        Identity user = Identity.load(folder.resolve(certificate), folder.resolve(key));
        IdentityProvider provider = new X509IdentityProvider(user.certificate(), user.keys().getPrivate());
        try {
            OpcUaClient client = connect("Basic256Sha256", MessageSecurityMode.SignAndEncrypt, provider);
            StatusCode[] written = {StatusCode.GOOD};
            if (write) {
                DataValue five = DataValue.valueOnly(new Variant(5));
                written = client.write(List.of(new WriteValue(new NodeId(3, "Setpoint"), uint(VALUE), null, five)))
                    .getResults();
            }
            client.disconnectAsync().get(5, TimeUnit.SECONDS);
            return name(written);
        } catch (ExecutionException refused) {
            if (UaException.extract(refused).isPresent()) {
                return name(UaException.extract(refused).get().getStatusCode());
            }
            throw refused;
        }
    }
}

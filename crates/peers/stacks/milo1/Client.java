import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.eclipse.milo.opcua.sdk.client.DiscoveryClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClientConfig;
import org.eclipse.milo.opcua.sdk.client.identity.AnonymousProvider;
import org.eclipse.milo.opcua.sdk.client.identity.IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.identity.UsernameProvider;
import org.eclipse.milo.opcua.sdk.client.identity.X509IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.subscriptions.MonitoredItemServiceOperationResult;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaMonitoredItem;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaSubscription;
import org.eclipse.milo.opcua.stack.core.UaException;
import org.eclipse.milo.opcua.stack.core.channel.EncodingLimits;
import org.eclipse.milo.opcua.stack.core.encoding.binary.OpcUaBinaryEncoder;
import org.eclipse.milo.opcua.stack.core.types.builtin.ByteString;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.DateTime;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.StatusCode;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.enumerated.TimestampsToReturn;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseResult;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodRequest;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodResult;
import org.eclipse.milo.opcua.stack.core.types.structured.EndpointDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.ReadValueId;
import org.eclipse.milo.opcua.stack.core.types.structured.ReferenceDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.ViewDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.WriteValue;
import org.eclipse.milo.opcua.stack.core.util.EndpointUtil;

/** The client of Milo 1: {@code Client URL --pki DIR …}. */
final class Client extends Steps {
    private final String url;
    private final Options options;

    private Client(String url, Options options) {
        this.url = url;
        this.options = options;
    }

    public static void main(String[] args) {
        Options options = new Options(args, 1);
        Thread watchdog = new Thread(() -> {
            try {
                TimeUnit.SECONDS.sleep(options.get("--out") == null ? 60 : 170);
            } catch (InterruptedException e) {
                return;
            }
            System.exit(1);
        });
        watchdog.setDaemon(true);
        watchdog.start();
        String steps = options.get("--do", "read,write,browse,call,subscribe");
        // Not every thread of the stack ends with the client.
        System.exit(new Client(args[0], options).run("milo1", "1.1.2", steps));
    }

    @Override
    Options options() {
        return options;
    }

    @Override
    Judge.Connection connect() throws Exception {
        Identity own = options.get("--cert") == null
            ? Identity.own(Path.of(options.get("--pki", "pki")), "urn:uaperf:peers:milo1:client")
            : Identity.load(Path.of(options.get("--cert")), Path.of(options.get("--key")));
        String policy = options.get("--policy", "None");
        String mode = options.get("--mode", "None");
        EndpointDescription endpoint = DiscoveryClient.getEndpoints(url).get(10, TimeUnit.SECONDS).stream()
            .filter(e -> e.getSecurityPolicyUri().endsWith("#" + policy))
            .filter(e -> e.getSecurityMode().name().equals(mode))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("the server has no endpoint " + policy + " " + mode));
        // Whatever host and port the server believes to have.
        endpoint = EndpointUtil.updateUrl(endpoint, EndpointUtil.getHost(url), EndpointUtil.getPort(url));
        OpcUaClient client = OpcUaClient.create(OpcUaClientConfig.builder()
            .setApplicationUri(own.uri())
            .setEndpoint(endpoint)
            .setKeyPair(own.keys())
            .setCertificate(own.certificate())
            .setCertificateChain(new X509Certificate[] {own.certificate()})
            .setCertificateValidator((chain, uri, hosts) -> {})
            // Otherwise the list of CreateSession must equal that of GetEndpoints to the letter.
            .setSessionEndpointValidationEnabled(false)
            .setIdentityProvider(user())
            .setRequestTimeout(uint(10_000))
            .setEncodingLimits(new EncodingLimits(65_535, 4096, 1 << 24, 64))
            .build());
        client.connectAsync().get(20, TimeUnit.SECONDS);
        return new Session(client);
    }

    private IdentityProvider user() throws Exception {
        if (options.get("--user") != null) {
            return new UsernameProvider(options.get("--user"), options.get("--password", ""));
        }
        if (options.get("--user-cert") != null) {
            Identity user = Identity.load(Path.of(options.get("--user-cert")), Path.of(options.get("--user-key")));
            return new X509IdentityProvider(user.certificate(), user.keys().getPrivate());
        }
        return AnonymousProvider.INSTANCE;
    }

    private record Session(OpcUaClient client) implements Judge.Connection {
        @Override
        public DataValue[] read(List<ReadValueId> nodes) throws UaException {
            return client.read(0, TimestampsToReturn.Both, nodes).getResults();
        }

        @Override
        public StatusCode[] write(List<WriteValue> values) throws UaException {
            return client.write(values).getResults();
        }

        @Override
        public BrowseResult browse(BrowseDescription description) throws UaException {
            return client.browse(description);
        }

        @Override
        public BrowseResult browseNext(ByteString continuationPoint) throws UaException {
            return client.browseNext(false, List.of(continuationPoint)).getResults()[0];
        }

        @Override
        public CallMethodResult call(CallMethodRequest request) throws UaException {
            return client.call(List.of(request)).getResults()[0];
        }

        @Override
        public void subscribe(ReadValueId node, Consumer<DataValue> listener) throws Exception {
            OpcUaSubscription subscription = new OpcUaSubscription(client, 100.0);
            subscription.create();
            OpcUaMonitoredItem item = new OpcUaMonitoredItem(node);
            item.setSamplingInterval(100);
            item.setQueueSize(uint(10));
            item.setDataValueListener((from, value) -> listener.accept(value));
            subscription.addMonitoredItem(item);
            for (MonitoredItemServiceOperationResult result : subscription.createMonitoredItems()) {
                if (!result.isGood()) {
                    throw new UaException(result.serviceResult());
                }
            }
        }

        @Override
        public DataValue[] readPlain(List<ReadValueId> nodes) throws UaException {
            return client.read(0, TimestampsToReturn.Neither, nodes).getResults();
        }

        @Override
        public BrowseResult[] browse(List<BrowseDescription> descriptions, int references) throws UaException {
            ViewDescription whole = new ViewDescription(NodeId.NULL_VALUE, DateTime.MIN_VALUE, uint(0));
            return client.browse(whole, uint(references), descriptions).getResults();
        }

        private byte[] encoded(Consumer<OpcUaBinaryEncoder> encode) {
            ByteBuf buffer = Unpooled.buffer();
            encode.accept(new OpcUaBinaryEncoder(client.getStaticEncodingContext()).setBuffer(buffer));
            return ByteBufUtil.getBytes(buffer);
        }

        @Override
        public byte[] encode(NodeId node) {
            return encoded(encoder -> encoder.encodeNodeId(node));
        }

        @Override
        public byte[] encode(ReferenceDescription reference) {
            return encoded(encoder -> encoder.encodeStruct(null, reference, ReferenceDescription.TYPE_ID));
        }

        @Override
        public byte[] encode(Variant value) {
            return encoded(encoder -> encoder.encodeVariant(value));
        }

        @Override
        public void follow(List<ReadValueId> nodes, BiConsumer<Integer, DataValue> listener) throws Exception {
            OpcUaSubscription subscription = new OpcUaSubscription(client, 100.0);
            subscription.create();
            for (int i = 0; i < nodes.size(); i++) {
                int at = i;
                OpcUaMonitoredItem item = new OpcUaMonitoredItem(nodes.get(i));
                item.setSamplingInterval(0);
                item.setQueueSize(uint(1000));
                item.setDataValueListener((from, value) -> listener.accept(at, value));
                subscription.addMonitoredItem(item);
            }
            for (MonitoredItemServiceOperationResult result : subscription.createMonitoredItems()) {
                if (!result.isGood()) {
                    throw new UaException(result.serviceResult());
                }
            }
        }

        @Override
        public void close() throws Exception {
            client.disconnectAsync().get(5, TimeUnit.SECONDS);
        }
    }
}

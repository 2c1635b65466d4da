import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.ubyte;
import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

import java.io.IOException;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.eclipse.milo.opcua.sdk.core.AccessLevel;
import org.eclipse.milo.opcua.sdk.core.Reference;
import org.eclipse.milo.opcua.sdk.server.OpcUaServer;
import org.eclipse.milo.opcua.sdk.server.api.DataItem;
import org.eclipse.milo.opcua.sdk.server.api.ManagedNamespaceWithLifecycle;
import org.eclipse.milo.opcua.sdk.server.api.MonitoredItem;
import org.eclipse.milo.opcua.sdk.server.api.config.OpcUaServerConfig;
import org.eclipse.milo.opcua.sdk.server.api.config.OpcUaServerConfigLimits;
import org.eclipse.milo.opcua.sdk.server.api.methods.AbstractMethodInvocationHandler;
import org.eclipse.milo.opcua.sdk.server.identity.CompositeValidator;
import org.eclipse.milo.opcua.sdk.server.identity.UsernameIdentityValidator;
import org.eclipse.milo.opcua.sdk.server.identity.X509IdentityValidator;
import org.eclipse.milo.opcua.sdk.server.nodes.UaFolderNode;
import org.eclipse.milo.opcua.sdk.server.nodes.UaMethodNode;
import org.eclipse.milo.opcua.sdk.server.nodes.UaVariableNode;
import org.eclipse.milo.opcua.sdk.server.util.SubscriptionModel;
import org.eclipse.milo.opcua.stack.core.Identifiers;
import org.eclipse.milo.opcua.stack.core.UaException;
import org.eclipse.milo.opcua.stack.core.channel.EncodingLimits;
import org.eclipse.milo.opcua.stack.core.security.DefaultCertificateManager;
import org.eclipse.milo.opcua.stack.core.security.DefaultTrustListManager;
import org.eclipse.milo.opcua.stack.core.security.SecurityPolicy;
import org.eclipse.milo.opcua.stack.core.transport.TransportProfile;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.DateTime;
import org.eclipse.milo.opcua.stack.core.types.builtin.LocalizedText;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.UByte;
import org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.UInteger;
import org.eclipse.milo.opcua.stack.core.types.enumerated.MessageSecurityMode;
import org.eclipse.milo.opcua.stack.core.types.enumerated.UserTokenType;
import org.eclipse.milo.opcua.stack.core.types.structured.Argument;
import org.eclipse.milo.opcua.stack.core.types.structured.BuildInfo;
import org.eclipse.milo.opcua.stack.core.types.structured.UserTokenPolicy;
import org.eclipse.milo.opcua.stack.server.EndpointConfiguration;
import org.eclipse.milo.opcua.stack.server.security.DefaultServerCertificateValidator;
import org.eclipse.milo.opcua.stack.server.security.ServerCertificateValidator;

/** The server of Milo 0.6: {@code Server --port P --pki DIR [--update-us U] [--strict] [--https P]}. */
final class Server {
    public static void main(String[] args) throws Exception {
        Options options = new Options(args, 0);
        int port = Integer.parseInt(options.get("--port", "4840"));
        Path pki = Path.of(options.get("--pki", "pki"));
        Identity own = Identity.own(pki, "urn:uaperf:peers:milo06:server");

        Set<EndpointConfiguration> endpoints = endpoints(port, own);
        if (options.get("--https") != null) {
            endpoints.add(https(Integer.parseInt(options.get("--https")), own));
        }
        OpcUaServer server = new OpcUaServer(configuration(endpoints, own, pki, options.get("--strict") != null));
        Bench bench = new Bench(server);
        bench.startup();
        server.startup().get();
        bench.run(Long.parseLong(options.get("--update-us", "0")));
        System.out.println("READY opc.tcp://127.0.0.1:" + port);
        System.out.flush();
        awaitEndOfInput();
        Runtime.getRuntime().halt(0);
    }

    private static void awaitEndOfInput() throws IOException {
        while (System.in.read() >= 0) {
            // Only the end matters: whoever started this server is gone.
        }
    }

    // ------------------------------------------------------------ configuration

    // X509IdentityValidator belongs to the raw type.
    @SuppressWarnings({"rawtypes", "unchecked"})
    private static OpcUaServerConfig configuration(
        Set<EndpointConfiguration> endpoints, Identity own, Path pki, boolean strict) throws Exception {
        // The same folders as in the contract: trusted/certs, issuers/certs, rejected.
        DefaultTrustListManager trusted = new DefaultTrustListManager(pki.toFile());
        ServerCertificateValidator validator =
            strict ? new DefaultServerCertificateValidator(trusted) : new TrustEverybody();
        return OpcUaServerConfig.builder()
            .setApplicationUri(own.uri())
            .setApplicationName(LocalizedText.english("bench"))
            .setProductUri("urn:uaperf:peers:milo06")
            .setBuildInfo(new BuildInfo("", "Eclipse", "Milo", "0.6.16", "", DateTime.now()))
            .setEndpoints(endpoints)
            .setHttpsKeyPair(own.keys())
            .setHttpsCertificateChain(new X509Certificate[] {own.certificate()})
            .setCertificateManager(new DefaultCertificateManager(own.keys(), own.certificate()))
            .setTrustListManager(trusted)
            .setCertificateValidator(validator)
            .setIdentityValidator(new CompositeValidator(List.of(
                new UsernameIdentityValidator(true, login ->
                    login.getUsername().equals("bench") && login.getPassword().equals("bench")),
                new X509IdentityValidator(user -> !strict || trusted.getTrustedCertificates().contains(user)))))
            .setLimits(new Limits())
            .setEncodingLimits(new EncodingLimits(65_535, 4096, 1 << 24, 64))
            .build();
    }

    private static Set<EndpointConfiguration> endpoints(int port, Identity own) {
        Set<EndpointConfiguration> endpoints = new HashSet<>();
        for (SecurityPolicy policy : List.of(SecurityPolicy.None, SecurityPolicy.Basic128Rsa15,
            SecurityPolicy.Basic256, SecurityPolicy.Basic256Sha256, SecurityPolicy.Aes128_Sha256_RsaOaep,
            SecurityPolicy.Aes256_Sha256_RsaPss)) {
            boolean none = policy == SecurityPolicy.None;
            // Named even where it is the channel's own, which an empty field stands for by Part 4, 7.42:
            // the stack then refuses every password. And encrypted on the unsecured endpoint too.
            String secret = (none ? SecurityPolicy.Basic256Sha256 : policy).getUri();
            for (MessageSecurityMode mode : none
                ? List.of(MessageSecurityMode.None)
                : List.of(MessageSecurityMode.Sign, MessageSecurityMode.SignAndEncrypt)) {
                endpoints.add(EndpointConfiguration.newBuilder()
                    .setBindAddress("127.0.0.1").setBindPort(port).setHostname("127.0.0.1").setPath("")
                    .setTransportProfile(TransportProfile.TCP_UASC_UABINARY)
                    .setCertificate(own.certificate())
                    .setSecurityPolicy(policy).setSecurityMode(mode)
                    .addTokenPolicies(
                        new UserTokenPolicy("anonymous", UserTokenType.Anonymous, null, null, null),
                        new UserTokenPolicy("username", UserTokenType.UserName, null, null, secret),
                        new UserTokenPolicy("certificate", UserTokenType.Certificate, null, null, secret))
                    .build());
            }
        }
        return endpoints;
    }

    /** Inside TLS, without a policy of its own. */
    private static EndpointConfiguration https(int port, Identity own) {
        return EndpointConfiguration.newBuilder()
            .setBindAddress("127.0.0.1").setBindPort(port).setHostname("127.0.0.1").setPath("/bench")
            .setTransportProfile(TransportProfile.HTTPS_UABINARY)
            .setCertificate(own.certificate())
            .setSecurityPolicy(SecurityPolicy.None).setSecurityMode(MessageSecurityMode.None)
            .addTokenPolicies(
                new UserTokenPolicy("anonymous", UserTokenType.Anonymous, null, null, null),
                new UserTokenPolicy("username", UserTokenType.UserName, null, null,
                    SecurityPolicy.Basic256Sha256.getUri()))
            .build();
    }

    private static final class TrustEverybody implements ServerCertificateValidator {
        @Override
        public void validateCertificateChain(List<X509Certificate> chain) {}

        @Override
        public void validateCertificateChain(List<X509Certificate> chain, String uri) {}
    }

    private static final class Limits implements OpcUaServerConfigLimits {
        private static final UInteger MANY = uint(1_000_000);

        @Override
        public UInteger getMaxSessionCount() {
            return uint(2000);
        }

        @Override
        public UInteger getMaxArrayLength() {
            return uint(1 << 24);
        }

        @Override
        public UInteger getMaxByteStringLength() {
            return uint(1 << 24);
        }

        @Override
        public UInteger getMaxSubscriptions() {
            return MANY;
        }

        @Override
        public UInteger getMaxSubscriptionsPerSession() {
            return MANY;
        }

        @Override
        public UInteger getMaxMonitoredItems() {
            return MANY;
        }

        @Override
        public UInteger getMaxMonitoredItemsPerSession() {
            return MANY;
        }

        @Override
        public UInteger getMaxMonitoredItemsPerCall() {
            return MANY;
        }

        @Override
        public UInteger getMaxNodesPerRead() {
            return MANY;
        }

        @Override
        public UInteger getMaxNodesPerWrite() {
            return MANY;
        }

        @Override
        public UInteger getMaxNodesPerRegisterNodes() {
            return MANY;
        }

        @Override
        public Double getMinPublishingInterval() {
            return 10.0;
        }

        @Override
        public Double getMinSupportedSampleRate() {
            return 10.0;
        }
    }

    // ------------------------------------------------------------ address space

    private static final class Bench extends ManagedNamespaceWithLifecycle {
        private final SubscriptionModel subscriptions;
        private final UaVariableNode[] scalars = new UaVariableNode[1000];
        private UaVariableNode fast;
        private UaVariableNode slow;

        Bench(OpcUaServer server) {
            super(server, "urn:bench");
            subscriptions = new SubscriptionModel(server, this);
            getLifecycleManager().addLifecycle(subscriptions);
            getLifecycleManager().addStartupTask(this::fill);
        }

        private NodeId id(int number) {
            return new NodeId(getNamespaceIndex(), uint(number));
        }

        private void fill() {
            folder(1, "bench", Identifiers.ObjectsFolder);
            for (int i = 0; i < 1000; i++) {
                scalars[i] = variable(1000 + i, scalar(i, 0), i < 500 ? Identifiers.Double : Identifiers.Int32, 0);
            }
            int[] lengths = {10, 10_000, 20_000, 65_535, 102_400};
            for (int k = 0; k < lengths.length; k++) {
                UByte[] bytes = new UByte[lengths[k]];
                for (int j = 0; j < bytes.length; j++) {
                    bytes[j] = ubyte(j & 0xff);
                }
                variable(3010 + k, bytes, Identifiers.Byte, bytes.length);
            }
            Short[] words = new Short[512];
            for (int j = 0; j < words.length; j++) {
                words[j] = (short) j;
            }
            variable(3020, words, Identifiers.Int16, words.length);
            fast = variable(3030, uint(0), Identifiers.UInt32, 0);
            slow = variable(3031, uint(0), Identifiers.UInt32, 0);
            folder(4001, "methods", id(1));
            echo();
        }

        private void folder(int number, String name, NodeId parent) {
            UaFolderNode node = new UaFolderNode(
                getNodeContext(), id(number), newQualifiedName(name), LocalizedText.english(name));
            getNodeManager().addNode(node);
            node.addReference(new Reference(
                node.getNodeId(), Identifiers.Organizes, parent.expanded(), Reference.Direction.INVERSE));
        }

        /** length 0 is a scalar. */
        private UaVariableNode variable(int number, Object value, NodeId type, int length) {
            String name = "v" + number;
            UaVariableNode.UaVariableNodeBuilder builder = new UaVariableNode.UaVariableNodeBuilder(getNodeContext())
                .setNodeId(id(number))
                .setBrowseName(newQualifiedName(name)).setDisplayName(LocalizedText.english(name))
                .setDataType(type).setValueRank(length > 0 ? 1 : -1)
                .setAccessLevel(AccessLevel.READ_WRITE).setUserAccessLevel(AccessLevel.READ_WRITE)
                .setTypeDefinition(Identifiers.BaseDataVariableType);
            if (length > 0) {
                builder.setArrayDimensions(new UInteger[] {uint(length)});
            }
            UaVariableNode node = builder.build();
            node.setValue(new DataValue(new Variant(value)));
            getNodeManager().addNode(node);
            node.addReference(new Reference(
                node.getNodeId(), Identifiers.Organizes, id(1).expanded(), Reference.Direction.INVERSE));
            return node;
        }

        private void echo() {
            Argument[] value = {new Argument("value", Identifiers.Double, -1, null, LocalizedText.NULL_VALUE)};
            UaMethodNode node = UaMethodNode.builder(getNodeContext())
                .setNodeId(id(4000))
                .setBrowseName(newQualifiedName("echo")).setDisplayName(LocalizedText.english("echo"))
                .build();
            node.setInputArguments(value);
            node.setOutputArguments(value);
            node.setInvocationHandler(new AbstractMethodInvocationHandler(node) {
                @Override
                public Argument[] getInputArguments() {
                    return value;
                }

                @Override
                public Argument[] getOutputArguments() {
                    return value;
                }

                @Override
                protected Variant[] invoke(InvocationContext context, Variant[] inputs) {
                    return inputs;
                }
            });
            getNodeManager().addNode(node);
            node.addReference(new Reference(
                node.getNodeId(), Identifiers.HasComponent, id(4001).expanded(), Reference.Direction.INVERSE));
        }

        private static Object scalar(int i, int n) {
            int value = 1000 + i + n;
            return i < 500 ? (Object) Double.valueOf(value) : Integer.valueOf(value);
        }

        void run(long updateMicros) {
            ScheduledExecutorService clock = Executors.newScheduledThreadPool(2);
            int[] n = new int[3];
            clock.scheduleAtFixedRate(() -> fast.setValue(now(uint(++n[0]))), 100, 100, TimeUnit.MILLISECONDS);
            clock.scheduleAtFixedRate(() -> slow.setValue(now(uint(++n[1]))), 1, 1, TimeUnit.SECONDS);
            if (updateMicros > 0) {
                clock.execute(() -> renew(clock, updateMicros, System.nanoTime(), 1));
            }
        }

        /** Not at a fixed rate: that would catch up after being late. */
        private void renew(ScheduledExecutorService clock, long micros, long due, int n) {
            for (int i = 0; i < scalars.length; i++) {
                scalars[i].setValue(now(scalar(i, n)));
            }
            long next = Math.max(due + micros * 1000, System.nanoTime());
            clock.schedule(() -> renew(clock, micros, next, n + 1), next - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        private static DataValue now(Object value) {
            return new DataValue(new Variant(value));
        }

        @Override
        public void onDataItemsCreated(List<DataItem> items) {
            subscriptions.onDataItemsCreated(items);
        }

        @Override
        public void onDataItemsModified(List<DataItem> items) {
            subscriptions.onDataItemsModified(items);
        }

        @Override
        public void onDataItemsDeleted(List<DataItem> items) {
            subscriptions.onDataItemsDeleted(items);
        }

        @Override
        public void onMonitoringModeChanged(List<MonitoredItem> items) {
            subscriptions.onMonitoringModeChanged(items);
        }
    }
}

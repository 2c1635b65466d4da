import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.Security;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.eclipse.milo.opcua.stack.core.util.SelfSignedCertificateBuilder;
import org.eclipse.milo.opcua.stack.core.util.SelfSignedCertificateGenerator;

/** A certificate (DER) and its key (PEM, PKCS#8). */
record Identity(X509Certificate certificate, KeyPair keys) {
    static {
        // Aes256_Sha256_RsaPss: the stack asks for SHA256withRSA/PSS, a name only this provider knows.
        Security.addProvider(new BouncyCastleProvider());
    }

    static Identity load(Path cert, Path key) throws Exception {
        X509Certificate certificate = certificate(cert);
        String text = Files.readString(key).replaceAll("-----[A-Z ]+-----|\\s", "");
        PrivateKey secret = KeyFactory.getInstance("RSA")
            .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text)));
        return new Identity(certificate, new KeyPair(certificate.getPublicKey(), secret));
    }

    static X509Certificate certificate(Path cert) throws Exception {
        return (X509Certificate) CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(Files.readAllBytes(cert)));
    }

    /** All certificates of a folder, none when there is no such folder. */
    static List<X509Certificate> certificates(Path folder) throws Exception {
        List<X509Certificate> found = new ArrayList<>();
        File[] files = folder.toFile().listFiles((dir, name) -> name.endsWith(".der"));
        for (File file : files == null ? new File[0] : files) {
            found.add(certificate(file.toPath()));
        }
        return found;
    }

    /** What is in {@code pki/own}, made there when it is missing. */
    static Identity own(Path pki, String uri) throws Exception {
        Path cert = pki.resolve("own/cert.der");
        Path key = pki.resolve("own/key.pem");
        if (!Files.exists(cert) || !Files.exists(key)) {
            KeyPair keys = SelfSignedCertificateGenerator.generateRsaKeyPair(2048);
            X509Certificate made = new SelfSignedCertificateBuilder(keys)
                .setCommonName("milo").setOrganization("bench")
                .setApplicationUri(uri)
                .addDnsName("localhost").addIpAddress("127.0.0.1")
                .build();
            Files.createDirectories(cert.getParent());
            String body = Base64.getMimeEncoder(64, new byte[] {'\n'})
                .encodeToString(keys.getPrivate().getEncoded());
            Files.writeString(key, "-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n");
            Files.write(cert, made.getEncoded());
        }
        return load(cert, key);
    }

    /** The application URI: the first URI (tag 6) of the certificate's subjectAltName. */
    String uri() throws Exception {
        for (List<?> name : certificate.getSubjectAlternativeNames()) {
            if (name.get(0).equals(6)) {
                return (String) name.get(1);
            }
        }
        throw new IllegalArgumentException("the certificate names no application URI");
    }
}

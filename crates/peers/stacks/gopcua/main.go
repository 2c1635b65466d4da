// The gopcua peer: `gopcua server ...` and `gopcua client URL ...`.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gopcua/opcua/ua"
)

const (
	namespaceURI = "urn:bench"
	version      = "0.8.0"
)

func main() {
	ua.MaxVariantArrayLength = 1 << 24 // 65,535 by default
	if len(os.Args) > 1 && os.Args[1] == "server" {
		serve(os.Args[2:])
	} else if len(os.Args) > 2 && os.Args[1] == "client" {
		os.Exit(runClient(os.Args[2], os.Args[3:]))
	} else {
		fail("usage: gopcua server --port P --pki DIR | gopcua client URL --pki DIR")
	}
}

func fail(what ...any) {
	fmt.Fprintln(os.Stderr, what...)
	os.Exit(2)
}

// applicationCertificate reads DIR/own/cert.der and key.pem, or makes them. Part 6, 6.2.2: the
// certificate carries the application URI, and key usages for signing and for encryption.
func applicationCertificate(dir, role string) ([]byte, *rsa.PrivateKey, error) {
	certFile, keyFile := filepath.Join(dir, "own", "cert.der"), filepath.Join(dir, "own", "key.pem")
	if _, err := os.Stat(certFile); err != nil {
		if err := makeCertificate(certFile, keyFile, role); err != nil {
			return nil, nil, err
		}
	}
	return loadCertificate(certFile, keyFile)
}

func loadCertificate(certFile, keyFile string) ([]byte, *rsa.PrivateKey, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, fmt.Errorf("%s holds no PEM block", keyFile)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	if key, ok := key.(*rsa.PrivateKey); ok {
		return cert, key, nil
	}
	return nil, nil, fmt.Errorf("%s holds no RSA key", keyFile)
}

func makeCertificate(certFile, keyFile, role string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	keyID := sha1.Sum(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "gopcua " + role, Organization: []string{"bench"}},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(5, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment |
			x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		SubjectKeyId:          keyID[:],
		AuthorityKeyId:        keyID[:],
		URIs:                  []*url.URL{{Scheme: "urn", Opaque: "uaperf:peers:gopcua:" + role}},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(certFile), 0o755); err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
	if err := os.WriteFile(keyFile, text, 0o600); err != nil {
		return err
	}
	return os.WriteFile(certFile, cert, 0o644)
}

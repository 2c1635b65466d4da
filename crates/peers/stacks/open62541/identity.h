/* The certificate of a peer: read from DIR/own, or made there. */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <open62541/plugin/create_certificate.h>
#include <open62541/plugin/log_stdout.h>
#include <open62541/types.h>

#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static UA_ByteString read_file(const char *path) {
    UA_ByteString content = UA_BYTESTRING_NULL;
    FILE *file = fopen(path, "rb");
    if(!file)
        return content;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    if(size > 0 && UA_ByteString_allocBuffer(&content, (size_t)size) == UA_STATUSCODE_GOOD &&
       fread(content.data, 1, (size_t)size, file) != (size_t)size)
        UA_ByteString_clear(&content);
    fclose(file);
    return content;
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if(!file || fwrite(data, 1, size, file) != size) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
    fclose(file);
}

/* Part 6, 6.2.2: the certificate names the application by its URI. The stack writes both or
 * neither as PEM; the certificate is wanted as DER, so it goes through mbedTLS once more. */
static void make_identity(const char *certFile, const char *keyFile, const char *uri,
                          const char *curve) {
    char uriName[128];
    snprintf(uriName, sizeof uriName, "URI:%s", uri);
    UA_String subject[] = {UA_STRING_STATIC("O=bench"), UA_STRING_STATIC("CN=open62541")};
    UA_String names[] = {UA_STRING_STATIC("DNS:localhost"), UA_STRING_STATIC("IP:127.0.0.1"),
                         UA_STRING(uriName)};
    UA_UInt16 days = 1825, bits = 2048;
    UA_KeyValueMap *options = UA_KeyValueMap_new();
    UA_KeyValueMap_setScalar(options, UA_QUALIFIEDNAME(0, "expires-in-days"), &days,
                             &UA_TYPES[UA_TYPES_UINT16]);
    UA_KeyValueMap_setScalar(options, UA_QUALIFIEDNAME(0, "key-size-bits"), &bits,
                             &UA_TYPES[UA_TYPES_UINT16]);
    UA_String kind = UA_STRING_STATIC("EC"), name = UA_STRING((char *)(uintptr_t)curve);
    if(curve) {
        UA_KeyValueMap_setScalar(options, UA_QUALIFIEDNAME(0, "key-type"), &kind,
                                 &UA_TYPES[UA_TYPES_STRING]);
        UA_KeyValueMap_setScalar(options, UA_QUALIFIEDNAME(0, "ecc-curve"), &name,
                                 &UA_TYPES[UA_TYPES_STRING]);
    }
    UA_ByteString key = UA_BYTESTRING_NULL, cert = UA_BYTESTRING_NULL;
    UA_StatusCode code = UA_CreateCertificate(UA_Log_Stdout, subject, 2, names, 3,
                                              UA_CERTIFICATEFORMAT_PEM, options, &key, &cert);
    UA_KeyValueMap_delete(options);
    char *text = (char *)calloc(cert.length + 1, 1); /* mbedTLS wants the terminating zero */
    mbedtls_x509_crt parsed;
    mbedtls_x509_crt_init(&parsed);
    if(text)
        memcpy(text, cert.data, cert.length);
    if(code != UA_STATUSCODE_GOOD || !text ||
       mbedtls_x509_crt_parse(&parsed, (unsigned char *)text, strlen(text) + 1) != 0) {
        fprintf(stderr, "cannot make a certificate: %s\n", UA_StatusCode_name(code));
        exit(2);
    }
    write_file(keyFile, key.data, key.length);
    write_file(certFile, parsed.raw.p, parsed.raw.len);
    mbedtls_x509_crt_free(&parsed);
    free(text);
    UA_ByteString_clear(&key);
    UA_ByteString_clear(&cert);
}

/* The application URI is what the certificate says: the first URI of its subjectAltName. */
static UA_String certificate_uri(const UA_ByteString *cert) {
    const int uri = MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_X509_SAN_UNIFORM_RESOURCE_IDENTIFIER;
    UA_String found = UA_STRING_NULL;
    mbedtls_x509_crt parsed;
    mbedtls_x509_crt_init(&parsed);
    if(mbedtls_x509_crt_parse(&parsed, cert->data, cert->length) == 0)
        for(mbedtls_x509_sequence *name = &parsed.subject_alt_names; name; name = name->next)
            if(name->buf.tag == uri && found.length == 0)
                UA_ByteString_copy(&(UA_ByteString){name->buf.len, name->buf.p}, &found);
    mbedtls_x509_crt_free(&parsed);
    return found;
}

/* With a key on a curve, "nistP256" or "nistP384"; of RSA without one. */
static void identity_on(const char *curve, const char *dir, const char *uri, UA_ByteString *cert,
                        UA_ByteString *key) {
    char certFile[512], keyFile[512];
    mkdir(dir, 0755);
    snprintf(certFile, sizeof certFile, "%s/own", dir);
    mkdir(certFile, 0755);
    const char *dash = curve ? "-" : "", *of = curve ? curve : "";
    snprintf(certFile, sizeof certFile, "%s/own/cert%s%s.der", dir, dash, of);
    snprintf(keyFile, sizeof keyFile, "%s/own/key%s%s.pem", dir, dash, of);
    struct stat found;
    if(stat(certFile, &found) != 0 || stat(keyFile, &found) != 0)
        make_identity(certFile, keyFile, uri, curve);
    *cert = read_file(certFile);
    *key = read_file(keyFile);
}

static inline void identity(const char *dir, const char *uri, UA_ByteString *cert,
                            UA_ByteString *key) {
    identity_on(NULL, dir, uri, cert, key);
}

#endif

/* Loads a server with Reads whose requests are written, and whose responses are read, in groups:
 * bulk URL --pki DIR [--policy P --mode M]
 *
 * Every message is encoded, secured, verified and decoded by open62541, values are compared with
 * what the bench address space says; only the socket and what goes over it at once is this
 * program's own (channel.h). It takes the same lines as load.c and answers them alike. */
#include "channel.h"
#include "identity.h"

#define URI "urn:uaperf:peers:bulk:client"
#define MOST 500
#define TIMES 1000000

/* --- connecting --- */

typedef UA_StatusCode (*MakePolicy)(UA_SecurityPolicy *, const UA_ByteString, const UA_ByteString,
                                    const UA_Logger *);

static const struct {
    const char *name;
    MakePolicy make;
} makers[] = {
    {"Basic128Rsa15", UA_SecurityPolicy_Basic128Rsa15},
    {"Basic256", UA_SecurityPolicy_Basic256},
    {"Basic256Sha256", UA_SecurityPolicy_Basic256Sha256},
    {"Aes128_Sha256_RsaOaep", UA_SecurityPolicy_Aes128Sha256RsaOaep},
    {"Aes256_Sha256_RsaPss", UA_SecurityPolicy_Aes256Sha256RsaPss},
};

static UA_MessageSecurityMode mode_named(const char *name) {
    if(strcmp(name, "None") == 0)
        return UA_MESSAGESECURITYMODE_NONE;
    if(strcmp(name, "Sign") == 0)
        return UA_MESSAGESECURITYMODE_SIGN;
    if(strcmp(name, "SignAndEncrypt") != 0)
        die("bad mode (want None, Sign or SignAndEncrypt)");
    return UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
}

/* The server's endpoint of this policy and mode, asked for on an unsecured channel. */
static UA_EndpointDescription find_endpoint(const char *url, const UA_String *uri,
                                            UA_MessageSecurityMode wanted) {
    dial(url);
    open_channel(UA_SECURITYTOKENREQUESTTYPE_ISSUE);
    UA_GetEndpointsRequest ask;
    UA_GetEndpointsRequest_init(&ask);
    ask.requestHeader = header();
    ask.endpointUrl = UA_STRING((char *)(uintptr_t)url);
    UA_GetEndpointsResponse all;
    call(&ask, &UA_TYPES[UA_TYPES_GETENDPOINTSREQUEST], &all,
         &UA_TYPES[UA_TYPES_GETENDPOINTSRESPONSE]);
    UA_EndpointDescription found;
    for(size_t i = 0; i < all.endpointsSize; i++) {
        UA_EndpointDescription *e = &all.endpoints[i];
        if(e->securityMode == wanted && UA_String_equal(&e->securityPolicyUri, uri)) {
            must(UA_EndpointDescription_copy(e, &found), "endpoint");
            UA_GetEndpointsResponse_clear(&all);
            hang_up();
            return found;
        }
    }
    die("the server has no endpoint of this policy and mode");
    return found;
}

static void prepare(const char *pki, const char *name, const UA_ByteString *certificate) {
    UA_ByteString own, key;
    identity(pki, URI, &own, &key);
    must(UA_ByteString_copy(certificate, &serverCertificate), "certificate");
    for(size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if(strcmp(makers[i].name, name) == 0) {
            must(makers[i].make(&policy, own, key, UA_Log_Stdout), name);
            must(policy.newChannelContext(&policy, &serverCertificate, &keys), "certificate");
            return;
        }
    die("this client does not know that policy");
}

/* A signature over a certificate and a nonce (Part 4, 5.7.2 and 5.7.3). */
static UA_ByteString joined(const UA_ByteString *certificate, const UA_ByteString *nonce) {
    UA_ByteString both;
    must(UA_ByteString_allocBuffer(&both, certificate->length + nonce->length), "memory");
    memcpy(both.data, certificate->data, certificate->length);
    memcpy(both.data + certificate->length, nonce->data, nonce->length);
    return both;
}

static void activate(const UA_EndpointDescription *endpoint, const UA_ByteString *serverNonce) {
    UA_AnonymousIdentityToken nobody;
    UA_AnonymousIdentityToken_init(&nobody);
    for(size_t i = 0; i < endpoint->userIdentityTokensSize; i++)
        if(endpoint->userIdentityTokens[i].tokenType == UA_USERTOKENTYPE_ANONYMOUS)
            nobody.policyId = endpoint->userIdentityTokens[i].policyId;
    UA_ActivateSessionRequest ask;
    UA_ActivateSessionRequest_init(&ask);
    ask.requestHeader = header();
    UA_ExtensionObject_setValue(&ask.userIdentityToken, &nobody,
                                &UA_TYPES[UA_TYPES_ANONYMOUSIDENTITYTOKEN]);
    if(mode != UA_MESSAGESECURITYMODE_NONE) {
        const UA_SecurityPolicySignatureAlgorithm *signs = &policy.asymSignatureAlgorithm;
        UA_ByteString *signature = &ask.clientSignature.signature;
        UA_ByteString text = joined(&serverCertificate, serverNonce);
        must(UA_ByteString_allocBuffer(signature, signs->getLocalSignatureSize(&policy, keys)),
             "memory");
        must(signs->sign(&policy, keys, &text, signature), "sign");
        ask.clientSignature.algorithm = signs->uri;
        UA_ByteString_clear(&text);
    }
    UA_ActivateSessionResponse done;
    call(&ask, &UA_TYPES[UA_TYPES_ACTIVATESESSIONREQUEST], &done,
         &UA_TYPES[UA_TYPES_ACTIVATESESSIONRESPONSE]);
    UA_ByteString_clear(&ask.clientSignature.signature);
    UA_ActivateSessionResponse_clear(&done);
}

static void connect_to(const char *url, const char *pki, const char *policyName,
                       UA_MessageSecurityMode wanted) {
    char uri[128];
    snprintf(uri, sizeof uri, POLICIES "%s", policyName);
    UA_String policyUri = UA_STRING(uri);
    UA_EndpointDescription endpoint = find_endpoint(url, &policyUri, wanted);
    if(wanted != UA_MESSAGESECURITYMODE_NONE)
        prepare(pki, policyName, &endpoint.serverCertificate);
    mode = wanted;
    dial(url);
    open_channel(UA_SECURITYTOKENREQUESTTYPE_ISSUE);

    UA_Byte random[32];
    UA_ByteString nonce = {sizeof random, random};
    UA_CreateSessionRequest create;
    UA_CreateSessionRequest_init(&create);
    create.requestHeader = header();
    create.clientDescription.applicationUri = UA_STRING(URI);
    create.clientDescription.applicationType = UA_APPLICATIONTYPE_CLIENT;
    create.endpointUrl = UA_STRING((char *)(uintptr_t)url);
    create.requestedSessionTimeout = 3600000;
    if(mode != UA_MESSAGESECURITYMODE_NONE) {
        must(policy.generateNonce(&policy, keys, &nonce), "nonce");
        create.clientNonce = nonce;
        create.clientCertificate = policy.localCertificate;
        create.clientDescription.applicationUri = certificate_uri(&policy.localCertificate);
    }
    UA_CreateSessionResponse created;
    call(&create, &UA_TYPES[UA_TYPES_CREATESESSIONREQUEST], &created,
         &UA_TYPES[UA_TYPES_CREATESESSIONRESPONSE]);
    if(mode != UA_MESSAGESECURITYMODE_NONE) {
        UA_ByteString text = joined(&policy.localCertificate, &nonce);
        must(policy.asymSignatureAlgorithm.verify(&policy, keys, &text,
                                                  &created.serverSignature.signature),
             "the server's signature");
        UA_ByteString_clear(&text);
    }
    session = created.authenticationToken;
    activate(&endpoint, &created.serverNonce);
    UA_EndpointDescription_clear(&endpoint);
}

static UA_ReadRequest read_request(UA_ReadValueId *nodes, size_t n) {
    UA_ReadRequest read;
    UA_ReadRequest_init(&read);
    read.requestHeader = header();
    read.timestampsToReturn = UA_TIMESTAMPSTORETURN_NEITHER;
    read.nodesToRead = nodes;
    read.nodesToReadSize = n;
    return read;
}

static UA_UInt16 find_namespace(void) {
    UA_ReadValueId node;
    UA_ReadValueId_init(&node);
    node.nodeId = UA_NODEID_NUMERIC(0, UA_NS0ID_SERVER_NAMESPACEARRAY);
    node.attributeId = UA_ATTRIBUTEID_VALUE;
    UA_ReadRequest read = read_request(&node, 1);
    UA_ReadResponse answer;
    call(&read, &UA_TYPES[UA_TYPES_READREQUEST], &answer, &UA_TYPES[UA_TYPES_READRESPONSE]);
    UA_String wanted = UA_STRING("urn:bench"), *uris = NULL;
    size_t n = 0;
    if(answer.resultsSize == 1 && answer.results[0].value.type == &UA_TYPES[UA_TYPES_STRING]) {
        uris = (UA_String *)answer.results[0].value.data;
        n = answer.results[0].value.arrayLength;
    }
    for(size_t i = 0; i < n; i++)
        if(UA_String_equal(&uris[i], &wanted))
            return (UA_UInt16)i;
    die("no namespace urn:bench");
    return 0;
}

/* --- the load --- */

static int is_right(const UA_ReadResponse *answer, size_t batch) {
    if(answer->responseHeader.serviceResult != UA_STATUSCODE_GOOD || answer->resultsSize != batch)
        return 0;
    for(size_t i = 0; i < batch; i++) {
        const UA_DataValue *v = &answer->results[i];
        if(!v->hasValue || (v->hasStatus && v->status) ||
           v->value.type != &UA_TYPES[UA_TYPES_DOUBLE] ||
           *(UA_Double *)v->value.data != (UA_Double)(1000 + i))
            return 0;
    }
    return 1;
}

static int by_size(const void *a, const void *b) {
    UA_UInt64 x = *(const UA_UInt64 *)a, y = *(const UA_UInt64 *)b;
    return x < y ? -1 : x > y;
}

static void run(FILE *report, UA_UInt16 ns, size_t most, size_t batch, unsigned ms, int spin) {
    static UA_UInt64 times[TIMES];
    static UA_ReadValueId nodes[MOST];
    for(size_t i = 0; i < batch; i++) {
        UA_ReadValueId_init(&nodes[i]);
        nodes[i].nodeId = UA_NODEID_NUMERIC(ns, 1000 + (UA_UInt32)i);
        nodes[i].attributeId = UA_ATTRIBUTEID_VALUE;
    }
    size_t timed = 0, inFlight = 0, due = most;
    unsigned long done = 0, bad = 0;
    UA_UInt64 cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), start = clock_ns(CLOCK_MONOTONIC);
    UA_UInt64 over = start + (UA_UInt64)ms * 1000000u, now = start;
    while(due + inFlight > 0) {
        UA_ReadRequest read = read_request(nodes, batch);
        for(; due > 0; due--, inFlight++) {
            read.requestHeader.requestHandle = requestId + 1;
            request(&read, &UA_TYPES[UA_TYPES_READREQUEST]);
        }
        flush();
        fill(spin);
        size_t at = 0, size;
        for(; (size = message(at)); at += size) {
            UA_ReadResponse answer;
            UA_ReadResponse_init(&answer);
            if(!response(reveal(at, size), &answer, &UA_TYPES[UA_TYPES_READRESPONSE]) ||
               !is_right(&answer, batch))
                bad++;
            UA_ReadResponse_clear(&answer);
            done++;
            inFlight--;
            due++;
        }
        forget(at);
        UA_UInt64 then = now;
        now = clock_ns(CLOCK_MONOTONIC);
        if(most == 1 && due == 1 && timed < TIMES)
            times[timed++] = now - then;
        if(now >= over)
            due = 0;
    }
    UA_UInt64 elapsed = clock_ns(CLOCK_MONOTONIC) - start;
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    fprintf(report, "{\"calls\": %lu, \"bad\": %lu, \"elapsed_ns\": %llu, \"cpu_ns\": %llu", done,
            bad, (unsigned long long)elapsed, (unsigned long long)cpu);
    if(timed) {
        qsort(times, timed, sizeof *times, by_size);
        fprintf(report, ", \"p50_ns\": %llu", (unsigned long long)times[timed / 2]);
    }
    fprintf(report, "}\n");
    fflush(report);
}

int main(int argc, char **argv) {
    const char *url = NULL, *pki = "pki", *policyName = "None", *modeName = "None";
    for(int i = 1; i < argc; i++) {
        if(i + 1 < argc && strcmp(argv[i], "--pki") == 0)
            pki = argv[++i];
        else if(i + 1 < argc && strcmp(argv[i], "--policy") == 0)
            policyName = argv[++i];
        else if(i + 1 < argc && strcmp(argv[i], "--mode") == 0)
            modeName = argv[++i];
        else if(!url)
            url = argv[i];
        else
            return fprintf(stderr, "unknown argument: %s\n", argv[i]), 2;
    }
    if(!url)
        return fprintf(stderr, "bulk: no URL\n"), 2;
    UA_MessageSecurityMode wanted = mode_named(modeName);
    if((wanted == UA_MESSAGESECURITYMODE_NONE) != (strcmp(policyName, "None") == 0))
        return fprintf(stderr, "bulk: policy and mode: both None, or neither\n"), 2;
    alarm(30);
    /* The library logs to standard output, also in the middle of our line. */
    FILE *report = fdopen(dup(STDOUT_FILENO), "w");
    if(!report || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 2;
    connect_to(url, pki, policyName, wanted);
    UA_UInt16 ns = find_namespace();
    fprintf(report, "READY\n");
    fflush(report);

    char line[256], wait[8];
    unsigned most, batch, ms;
    alarm(0);
    while(fgets(line, sizeof line, stdin)) {
        if(sscanf(line, "%u %u %u %7s", &most, &batch, &ms, wait) != 4 || most < 1 || most > 500 ||
           batch < 1 || batch > MOST || ms > 60000)
            return fprintf(stderr, "bad line: %s", line), 2;
        alarm(ms / 1000 + 15); /* whatever hangs, ends */
        renew_when_due();
        run(report, ns, most, batch, ms, strcmp(wait, "spin") == 0);
        alarm(0);
    }
    UA_CloseSessionRequest leave;
    UA_CloseSessionRequest_init(&leave);
    leave.requestHeader = header();
    alarm(10);
    UA_CloseSessionResponse left;
    call(&leave, &UA_TYPES[UA_TYPES_CLOSESESSIONREQUEST], &left,
         &UA_TYPES[UA_TYPES_CLOSESESSIONRESPONSE]);
    hang_up();
    return 0;
}

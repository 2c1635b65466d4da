/* Loads a server with Reads whose requests are written, and whose responses are read, in groups:
 * bulk URL --pki DIR --policy None --mode None
 *
 * Every message is encoded and decoded by open62541, values are compared with what the bench
 * address space says; only the socket is this program's own. It takes the same lines as load.c and
 * answers them alike. */
#include <open62541/types.h>
#include <open62541/types_generated.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 500
#define TIMES 1000000
#define ROOM (4u << 20)

static int sock;
static UA_Byte out[ROOM], in[ROOM];
static size_t outSize, outStart, inSize;
static UA_UInt32 channel, token, sequence, requestId;
static UA_NodeId session;

static void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static UA_UInt64 clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (UA_UInt64)t.tv_sec * 1000000000u + (UA_UInt64)t.tv_nsec;
}

static UA_UInt32 get32(const UA_Byte *at) {
    return at[0] | (UA_UInt32)at[1] << 8 | (UA_UInt32)at[2] << 16 | (UA_UInt32)at[3] << 24;
}

static void put32(UA_UInt32 value) {
    if(outSize + 4 > sizeof out)
        die("too much to send");
    for(int i = 0; i < 4; i++)
        out[outSize++] = (UA_Byte)(value >> 8 * i);
}

static void put(const void *value, const UA_DataType *type) {
    UA_ByteString rest = {sizeof out - outSize, out + outSize};
    if(UA_encodeBinary(value, type, &rest, NULL) != UA_STATUSCODE_GOOD)
        die("encode");
    outSize += rest.length;
}

/* --- messages (Part 6, 6.7.2) --- */

static void begin(const char *type) {
    outStart = outSize;
    put32(0);
    memcpy(out + outStart, type, 4);
    put32(0); /* the length, in the end */
}

static void end(void) {
    UA_UInt32 size = (UA_UInt32)(outSize - outStart);
    for(int i = 0; i < 4; i++)
        out[outStart + 4 + i] = (UA_Byte)(size >> 8 * i);
}

static void request(const void *value, const UA_DataType *type) {
    if(type == &UA_TYPES[UA_TYPES_OPENSECURECHANNELREQUEST]) {
        UA_String policy = UA_STRING("http://opcfoundation.org/UA/SecurityPolicy#None");
        begin("OPNF");
        put32(channel);
        put(&policy, &UA_TYPES[UA_TYPES_STRING]);
        put32(0xffffffff); /* no certificate of the sender */
        put32(0xffffffff); /* no thumbprint of the receiver's */
    } else {
        begin("MSGF");
        put32(channel);
        put32(token);
    }
    put32(++sequence);
    put32(++requestId);
    put(&type->binaryEncodingId, &UA_TYPES[UA_TYPES_NODEID]);
    put(value, type);
    end();
}

static void flush(void) {
    for(size_t sent = 0; sent < outSize;) {
        ssize_t n = send(sock, out + sent, outSize - sent, MSG_NOSIGNAL);
        if(n < 0 && errno != EINTR)
            die("send");
        sent += n > 0 ? (size_t)n : 0;
    }
    outSize = 0;
}

static void fill(int spin) {
    for(;;) {
        ssize_t n = recv(sock, in + inSize, sizeof in - inSize, spin ? MSG_DONTWAIT : 0);
        if(n > 0) {
            inSize += (size_t)n;
            return;
        }
        if(n == 0)
            die("the server closed the connection");
        if(errno != EINTR && errno != EAGAIN)
            die("recv");
    }
}

/* The length of the message at this place, 0 when it is not there yet. */
static size_t message(size_t at) {
    if(inSize - at < 8)
        return 0;
    size_t size = get32(in + at + 4);
    if(size < 8 || size > sizeof in || memcmp(in + at, "ERR", 3) == 0)
        die("the server sent an error");
    return inSize - at < size ? 0 : size;
}

static void forget(size_t bytes) {
    memmove(in, in + bytes, inSize - bytes);
    inSize -= bytes;
}

/* The response that begins at `at`, `skip` bytes of headers before its type. False when it is
 * another one. */
static int response(size_t at, size_t size, size_t skip, void *value, const UA_DataType *type) {
    UA_ByteString body = {size - skip, in + at + skip};
    UA_DecodeBinaryOptions options;
    memset(&options, 0, sizeof options);
    UA_NodeId id;
    if(in[at + 3] != 'F' ||
       UA_decodeBinary(&body, &id, &UA_TYPES[UA_TYPES_NODEID], &options) != UA_STATUSCODE_GOOD)
        return 0;
    int same = UA_NodeId_equal(&id, &type->binaryEncodingId);
    body.data += options.decodedLength;
    body.length -= options.decodedLength;
    UA_NodeId_clear(&id);
    return same && UA_decodeBinary(&body, value, type, &options) == UA_STATUSCODE_GOOD;
}

static void call(const void *value, const UA_DataType *type, void *answer,
                 const UA_DataType *answerType) {
    request(value, type);
    flush();
    size_t size;
    while(!(size = message(0)))
        fill(0);
    size_t skip = 24; /* header, channel, token, sequence number, request id */
    if(type == &UA_TYPES[UA_TYPES_OPENSECURECHANNELREQUEST]) {
        skip = 12;
        for(int i = 0; i < 3; i++) { /* policy, certificate, thumbprint */
            UA_UInt32 length = get32(in + skip);
            skip += 4 + (length == 0xffffffff ? 0 : length);
        }
        skip += 8;
    }
    if(!response(0, size, skip, answer, answerType))
        die(type->typeName);
    forget(size);
}

static UA_RequestHeader header(void) {
    UA_RequestHeader header;
    UA_RequestHeader_init(&header);
    header.authenticationToken = session;
    header.timestamp = UA_DateTime_now();
    header.requestHandle = requestId + 1;
    header.timeoutHint = 10000;
    return header;
}

/* --- connecting --- */

static void connect_to(const char *url) {
    char host[64];
    unsigned port;
    if(sscanf(url, "opc.tcp://%63[0-9.]:%u", host, &port) != 2)
        die("bad URL (want opc.tcp://ADDRESS:PORT)");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    int yes = 1;
    sock = socket(AF_INET, SOCK_STREAM, 0);
    if(connect(sock, (struct sockaddr *)&address, sizeof address) < 0)
        die("connect");
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);

    UA_String endpoint = UA_STRING((char *)(uintptr_t)url);
    begin("HELF");
    put32(0);             /* protocol version */
    put32(65535);         /* receive buffer */
    put32(65535);         /* send buffer */
    put32(0);             /* longest message: any */
    put32(0);             /* most chunks: any */
    put(&endpoint, &UA_TYPES[UA_TYPES_STRING]);
    end();
    flush();
    size_t size;
    while(!(size = message(0)))
        fill(0);
    forget(size);

    UA_OpenSecureChannelRequest open;
    UA_OpenSecureChannelRequest_init(&open);
    open.requestHeader = header();
    open.securityMode = UA_MESSAGESECURITYMODE_NONE;
    open.requestedLifetime = 3600000;
    UA_OpenSecureChannelResponse opened;
    call(&open, &UA_TYPES[UA_TYPES_OPENSECURECHANNELREQUEST], &opened,
         &UA_TYPES[UA_TYPES_OPENSECURECHANNELRESPONSE]);
    channel = opened.securityToken.channelId;
    token = opened.securityToken.tokenId;

    UA_CreateSessionRequest create;
    UA_CreateSessionRequest_init(&create);
    create.requestHeader = header();
    create.clientDescription.applicationUri = UA_STRING("urn:uaperf:peers:bulk");
    create.clientDescription.applicationType = UA_APPLICATIONTYPE_CLIENT;
    create.endpointUrl = endpoint;
    create.requestedSessionTimeout = 3600000;
    UA_CreateSessionResponse created;
    call(&create, &UA_TYPES[UA_TYPES_CREATESESSIONREQUEST], &created,
         &UA_TYPES[UA_TYPES_CREATESESSIONRESPONSE]);
    session = created.authenticationToken;

    UA_AnonymousIdentityToken nobody;
    UA_AnonymousIdentityToken_init(&nobody);
    for(size_t i = 0; i < created.serverEndpointsSize; i++) {
        UA_EndpointDescription *e = &created.serverEndpoints[i];
        for(size_t k = 0; k < e->userIdentityTokensSize; k++)
            if(e->securityMode == UA_MESSAGESECURITYMODE_NONE &&
               e->userIdentityTokens[k].tokenType == UA_USERTOKENTYPE_ANONYMOUS)
                nobody.policyId = e->userIdentityTokens[k].policyId;
    }
    UA_ActivateSessionRequest activate;
    UA_ActivateSessionRequest_init(&activate);
    activate.requestHeader = header();
    UA_ExtensionObject_setValue(&activate.userIdentityToken, &nobody,
                                &UA_TYPES[UA_TYPES_ANONYMOUSIDENTITYTOKEN]);
    UA_ActivateSessionResponse activated;
    call(&activate, &UA_TYPES[UA_TYPES_ACTIVATESESSIONREQUEST], &activated,
         &UA_TYPES[UA_TYPES_ACTIVATESESSIONRESPONSE]);
    if(activated.responseHeader.serviceResult != UA_STATUSCODE_GOOD)
        die(UA_StatusCode_name(activated.responseHeader.serviceResult));
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
            if(!response(at, size, 24, &answer, &UA_TYPES[UA_TYPES_READRESPONSE]) ||
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
    const char *url = NULL;
    for(int i = 1; i < argc; i++) {
        if(i + 1 < argc && strcmp(argv[i], "--pki") == 0)
            i++; /* no use for it */
        else if(i + 1 < argc &&
                (strcmp(argv[i], "--policy") == 0 || strcmp(argv[i], "--mode") == 0)) {
            if(strcmp(argv[++i], "None") != 0)
                die("this client knows no security but None");
        } else if(!url)
            url = argv[i];
        else
            return fprintf(stderr, "unknown argument: %s\n", argv[i]), 2;
    }
    if(!url)
        return fprintf(stderr, "bulk: no URL\n"), 2;
    alarm(30);
    connect_to(url);
    UA_UInt16 ns = find_namespace();
    printf("READY\n");
    fflush(stdout);

    char line[256], wait[8];
    unsigned most, batch, ms;
    alarm(0);
    while(fgets(line, sizeof line, stdin)) {
        if(sscanf(line, "%u %u %u %7s", &most, &batch, &ms, wait) != 4 || most < 1 || most > 500 ||
           batch < 1 || batch > MOST || ms > 60000)
            return fprintf(stderr, "bad line: %s", line), 2;
        alarm(ms / 1000 + 15); /* whatever hangs, ends */
        run(stdout, ns, most, batch, ms, strcmp(wait, "spin") == 0);
        alarm(0);
    }
    UA_CloseSessionRequest leave;
    UA_CloseSessionRequest_init(&leave);
    leave.requestHeader = header();
    alarm(10);
    UA_CloseSessionResponse left;
    call(&leave, &UA_TYPES[UA_TYPES_CLOSESESSIONREQUEST], &left,
         &UA_TYPES[UA_TYPES_CLOSESESSIONRESPONSE]);
    return 0;
}

/* A client's connection and secure channel on a socket of its own: messages are collected and sent
 * with one call, and taken from what has arrived. Encoding, signing and encrypting are those of
 * open62541's types and security policies. One chunk is one message. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <open62541/plugin/log_stdout.h>
#include <open62541/plugin/securitypolicy_default.h>
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

#define ROOM (4u << 20)
#define SLOTS 1024            /* requests that may wait for their answers */
#define WRAPS 4294966271u     /* sequence numbers begin anew after this one (Part 6, 6.7.2.4) */
#define POLICIES "http://opcfoundation.org/UA/SecurityPolicy#"

static int sock = -1;
static UA_Byte out[ROOM], in[ROOM];
static size_t outSize, outStart, inSize;
static UA_UInt32 channel, token, sequence, requestId, seen, waiting[SLOTS];
static UA_NodeId session;
static UA_UInt64 renewal; /* when the token is due to be renewed */

/* How messages are secured; `keys` are those of this channel, certificates and symmetric ones. */
static UA_SecurityPolicy policy;
static UA_MessageSecurityMode mode = UA_MESSAGESECURITYMODE_NONE;
static UA_ByteString serverCertificate;
static void *keys;

static void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void must(UA_StatusCode code, const char *what) {
    if(code != UA_STATUSCODE_GOOD) {
        fprintf(stderr, "%s: %s\n", what, UA_StatusCode_name(code));
        exit(1);
    }
}

static UA_UInt64 clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (UA_UInt64)t.tv_sec * 1000000000u + (UA_UInt64)t.tv_nsec;
}

static UA_UInt32 get32(const UA_Byte *at) {
    return at[0] | (UA_UInt32)at[1] << 8 | (UA_UInt32)at[2] << 16 | (UA_UInt32)at[3] << 24;
}

static void need(size_t bytes) {
    if(bytes > sizeof out - outSize)
        die("too much to send");
}

static void put32(UA_UInt32 value) {
    need(4);
    for(int i = 0; i < 4; i++)
        out[outSize++] = (UA_Byte)(value >> 8 * i);
}

static void put(const void *value, const UA_DataType *type) {
    UA_ByteString rest = {sizeof out - outSize, out + outSize};
    must(UA_encodeBinary(value, type, &rest, NULL), "encode");
    outSize += rest.length;
}

/* --- sending (Part 6, 6.7.2) --- */

static void begin(const char *type) {
    outStart = outSize;
    put32(0);
    memcpy(out + outStart, type, 4);
    put32(0); /* the length, in the end */
}

static void set_size(size_t size) {
    for(int i = 0; i < 4; i++)
        out[outStart + 4 + i] = (UA_Byte)(size >> 8 * i);
}

static int encrypts(int opening) {
    /* Opening a channel is encrypted even when its messages are only signed (Part 6, 6.7.4). */
    return opening || mode == UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
}

/* Ends a message whose part from `from` on is to be encrypted: padding, length, signature. */
static void secure(int opening, size_t from) {
    if(mode == UA_MESSAGESECURITYMODE_NONE) {
        set_size(outSize - outStart);
        return;
    }
    const UA_SecurityPolicySignatureAlgorithm *signs =
        opening ? &policy.asymSignatureAlgorithm : &policy.symSignatureAlgorithm;
    const UA_SecurityPolicyEncryptionAlgorithm *hides =
        opening ? &policy.asymEncryptionAlgorithm : &policy.symEncryptionAlgorithm;
    size_t signature = signs->getLocalSignatureSize(&policy, keys);
    size_t plain = 1, secret = 1;
    if(encrypts(opening)) {
        plain = hides->getRemotePlainTextBlockSize(&policy, keys);
        secret = hides->getRemoteBlockSize(&policy, keys);
        /* Part 6, 6.7.2.5: a second byte of the length for keys of more than 2048 bits. */
        size_t extra = opening && hides->getRemoteKeyLength(&policy, keys) > 2048;
        size_t over = (outSize - from + 1 + extra + signature) % plain;
        size_t padding = over ? plain - over : 0;
        need(1 + padding + extra);
        memset(out + outSize, (UA_Byte)padding, 1 + padding);
        outSize += 1 + padding;
        if(extra)
            out[outSize++] = (UA_Byte)(padding >> 8);
    }
    size_t length = outSize + signature - from, hidden = length / plain * secret;
    need(signature + hidden);
    set_size(from + hidden - outStart);
    UA_ByteString text = {outSize - outStart, out + outStart};
    UA_ByteString mark = {signature, out + outSize};
    must(signs->sign(&policy, keys, &text, &mark), "sign");
    UA_ByteString body = {length, out + from};
    if(encrypts(opening))
        must(hides->encrypt(&policy, keys, &body), "encrypt");
    outSize = from + hidden;
}

static void request(const void *value, const UA_DataType *type) {
    int opening = type == &UA_TYPES[UA_TYPES_OPENSECURECHANNELREQUEST];
    int closing = type == &UA_TYPES[UA_TYPES_CLOSESECURECHANNELREQUEST];
    begin(opening ? "OPNF" : closing ? "CLOF" : "MSGF");
    put32(channel);
    if(!opening) {
        put32(token);
    } else if(mode == UA_MESSAGESECURITYMODE_NONE) {
        UA_String none = UA_STRING(POLICIES "None");
        put(&none, &UA_TYPES[UA_TYPES_STRING]);
        put32(0xffffffff); /* no certificate of the sender */
        put32(0xffffffff); /* no thumbprint of the receiver's */
    } else {
        UA_Byte sha1[20];
        UA_ByteString thumbprint = {sizeof sha1, sha1};
        must(policy.makeCertThumbprint(&policy, &serverCertificate, &thumbprint), "thumbprint");
        put(&policy.policyUri, &UA_TYPES[UA_TYPES_STRING]);
        put(&policy.localCertificate, &UA_TYPES[UA_TYPES_BYTESTRING]);
        put(&thumbprint, &UA_TYPES[UA_TYPES_BYTESTRING]);
    }
    size_t from = outSize;
    sequence = sequence >= WRAPS ? 1 : sequence + 1;
    requestId += requestId + 1 == 0 ? 2 : 1;
    if(waiting[requestId % SLOTS])
        die("a request was left unanswered while many later ones were");
    waiting[requestId % SLOTS] = closing ? 0 : requestId;
    put32(sequence);
    put32(requestId);
    put(&type->binaryEncodingId, &UA_TYPES[UA_TYPES_NODEID]);
    put(value, type);
    secure(opening, from);
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

/* --- receiving --- */

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
    if(size < 8 || size > sizeof in)
        die("the server sent a message of a wrong length");
    if(inSize - at < size)
        return 0;
    if(memcmp(in + at, "ERR", 3) == 0)
        must(size < 12 ? UA_STATUSCODE_BADDECODINGERROR : get32(in + at + 8), "the server says");
    return size;
}

static void forget(size_t bytes) {
    memmove(in, in + bytes, inSize - bytes);
    inSize -= bytes;
}

/* Decrypts and verifies the message at `at`, in place, and gives its body. Its sequence number has
 * to be the next, and it has to answer a request that waits. */
static UA_ByteString reveal(size_t at, size_t size) {
    UA_Byte *start = in + at;
    int opening = memcmp(start, "OPNF", 4) == 0;
    size_t head = 16; /* header, channel, token */
    if(!opening && (memcmp(start, "MSGF", 4) != 0 || size < 24 || get32(start + 8) != channel ||
                    get32(start + 12) != token))
        die("the server sent something else than a message of this channel and token");
    if(opening) {
        head = 12;
        for(int i = 0; i < 3; i++) { /* policy, certificate, thumbprint */
            UA_UInt32 length = head + 4 > size ? 0 : get32(start + head);
            head += 4 + (length == 0xffffffff ? 0 : (size_t)length);
        }
        if(head + 8 > size)
            die("the server opened the channel with a message that is too short");
    }
    UA_ByteString rest = {size - head, start + head};
    if(mode != UA_MESSAGESECURITYMODE_NONE) {
        const UA_SecurityPolicySignatureAlgorithm *signs =
            opening ? &policy.asymSignatureAlgorithm : &policy.symSignatureAlgorithm;
        const UA_SecurityPolicyEncryptionAlgorithm *hides =
            opening ? &policy.asymEncryptionAlgorithm : &policy.symEncryptionAlgorithm;
        if(encrypts(opening))
            must(hides->decrypt(&policy, keys, &rest), "decrypt");
        size_t length = signs->getRemoteSignatureSize(&policy, keys);
        if(rest.length < 8 + 1 + length)
            die("the server sent a message too short for its signature");
        rest.length -= length;
        UA_ByteString text = {head + rest.length, start};
        UA_ByteString signature = {length, rest.data + rest.length};
        must(signs->verify(&policy, keys, &text, &signature), "a response's signature");
        if(encrypts(opening)) { /* the own key has 2048 bits, so one byte tells the length */
            size_t padding = rest.data[rest.length - 1];
            if(8 + 1 + padding > rest.length)
                die("the server sent a message with more padding than bytes");
            rest.length -= 1 + padding;
            for(size_t i = 0; i <= padding; i++)
                if(rest.data[rest.length + i] != padding)
                    die("the server sent a message with wrong padding");
        }
    }
    UA_UInt32 number = get32(rest.data), id = get32(rest.data + 4);
    if(seen && number != seen + 1 && !(seen >= WRAPS && number < 1024))
        die("the server left out or repeated a sequence number");
    seen = number;
    if(!id || waiting[id % SLOTS] != id)
        die("the server answered a request that does not wait");
    waiting[id % SLOTS] = 0;
    rest.data += 8;
    rest.length -= 8;
    return rest;
}

/* Decodes the response in a body. False when it is another one. */
static int response(UA_ByteString body, void *value, const UA_DataType *type) {
    UA_DecodeBinaryOptions options;
    memset(&options, 0, sizeof options);
    UA_NodeId id;
    if(UA_decodeBinary(&body, &id, &UA_TYPES[UA_TYPES_NODEID], &options) != UA_STATUSCODE_GOOD)
        return 0;
    int same = UA_NodeId_equal(&id, &type->binaryEncodingId);
    body.data += options.decodedLength;
    body.length -= options.decodedLength;
    UA_NodeId_clear(&id);
    return same && UA_decodeBinary(&body, value, type, &options) == UA_STATUSCODE_GOOD;
}

/* Sends one request and waits for its response, whose header comes first and has to be Good. */
static void call(const void *value, const UA_DataType *type, void *answer,
                 const UA_DataType *answerType) {
    request(value, type);
    flush();
    size_t size;
    while(!(size = message(0)))
        fill(0);
    UA_ByteString body = reveal(0, size);
    UA_ServiceFault fault;
    if(response(body, &fault, &UA_TYPES[UA_TYPES_SERVICEFAULT]))
        must(fault.responseHeader.serviceResult, type->typeName);
    if(!response(body, answer, answerType))
        die(type->typeName);
    must(((UA_ResponseHeader *)answer)->serviceResult, type->typeName);
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

/* --- opening --- */

typedef UA_StatusCode (*SetKey)(const UA_SecurityPolicy *, void *, const UA_ByteString *);

/* Part 6, 6.7.5: signing key, encrypting key and initialization vector from both nonces. */
static void derive(const UA_ByteString *secret, const UA_ByteString *seed, SetKey setSigning,
                   SetKey setEncrypting, SetKey setVector) {
    UA_Byte bytes[256];
    UA_ByteString all = {0, bytes}, parts[3];
    parts[0].length = policy.symSignatureAlgorithm.getLocalKeyLength(&policy, keys);
    parts[1].length = policy.symEncryptionAlgorithm.getLocalKeyLength(&policy, keys);
    parts[2].length = policy.symEncryptionAlgorithm.getRemoteBlockSize(&policy, keys);
    for(int i = 0; i < 3; i++) {
        parts[i].data = bytes + all.length;
        all.length += parts[i].length;
        if(all.length > sizeof bytes)
            die("keys longer than expected");
    }
    must(policy.generateKey(&policy, keys, secret, seed, &all), "derive keys");
    must(setSigning(&policy, keys, &parts[0]), "signing key");
    must(setEncrypting(&policy, keys, &parts[1]), "encrypting key");
    must(setVector(&policy, keys, &parts[2]), "initialization vector");
}

/* Opens the channel, or gets it a new token and new keys. Nothing else may be under way. */
static void open_channel(UA_SecurityTokenRequestType kind) {
    UA_Byte random[64];
    UA_ByteString nonce = {0, random};
    if(mode != UA_MESSAGESECURITYMODE_NONE) {
        nonce.length = policy.nonceLength;
        must(policy.generateNonce(&policy, keys, &nonce), "nonce");
    }
    UA_OpenSecureChannelRequest ask;
    UA_OpenSecureChannelRequest_init(&ask);
    ask.requestHeader = header();
    ask.requestHeader.authenticationToken = UA_NODEID_NULL;
    ask.requestType = kind;
    ask.securityMode = mode;
    ask.clientNonce = nonce;
    ask.requestedLifetime = 3600000;
    UA_OpenSecureChannelResponse opened;
    call(&ask, &UA_TYPES[UA_TYPES_OPENSECURECHANNELREQUEST], &opened,
         &UA_TYPES[UA_TYPES_OPENSECURECHANNELRESPONSE]);
    channel = opened.securityToken.channelId;
    token = opened.securityToken.tokenId;
    renewal = clock_ns(CLOCK_MONOTONIC) + opened.securityToken.revisedLifetime * 250000ull;
    if(mode != UA_MESSAGESECURITYMODE_NONE) {
        derive(&opened.serverNonce, &nonce, policy.setLocalSymSigningKey,
               policy.setLocalSymEncryptingKey, policy.setLocalSymIv);
        derive(&nonce, &opened.serverNonce, policy.setRemoteSymSigningKey,
               policy.setRemoteSymEncryptingKey, policy.setRemoteSymIv);
    }
    UA_OpenSecureChannelResponse_clear(&opened);
}

static void renew_when_due(void) {
    if(clock_ns(CLOCK_MONOTONIC) >= renewal)
        open_channel(UA_SECURITYTOKENREQUESTTYPE_RENEW);
}

static void dial(const char *url) {
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
    channel = token = sequence = seen = 0;
    inSize = 0;

    UA_String endpoint = UA_STRING((char *)(uintptr_t)url);
    begin("HELF");
    put32(0);     /* protocol version */
    put32(65535); /* receive buffer */
    put32(65535); /* send buffer */
    put32(0);     /* longest message: any */
    put32(0);     /* most chunks: any */
    put(&endpoint, &UA_TYPES[UA_TYPES_STRING]);
    set_size(outSize - outStart);
    flush();
    size_t size;
    while(!(size = message(0)))
        fill(0);
    if(memcmp(in, "ACKF", 4) != 0)
        die("the server answered Hello with something else than Acknowledge");
    forget(size);
}

static void hang_up(void) {
    UA_CloseSecureChannelRequest leave;
    UA_CloseSecureChannelRequest_init(&leave);
    leave.requestHeader = header();
    request(&leave, &UA_TYPES[UA_TYPES_CLOSESECURECHANNELREQUEST]);
    flush();
    close(sock);
}

#endif

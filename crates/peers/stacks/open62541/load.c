/* Loads a server with Reads, by the client of open62541: load URL --pki DIR [--policy P --mode M]
 *
 * Prints READY once a session is active. For each line `IN_FLIGHT BATCH MILLISECONDS sleep|spin`
 * on standard input it reads BATCH Doubles of the bench address space at a time, keeps IN_FLIGHT
 * requests in flight for so long, waits for the rest, and prints one line of JSON. With one
 * request in flight it calls synchronously, unless it is to spin. Ends with its input. */
#include "identity.h"

#include <open62541/client.h>
#include <open62541/client_config_default.h>
#include <open62541/client_highlevel.h>
#include <open62541/client_highlevel_async.h>
#include <open62541/plugin/certificategroup_default.h>

#include <time.h>
#include <unistd.h>

#define URI "urn:uaperf:peers:open62541:client"
#define MOST 500     /* Doubles of the bench address space */
#define TIMES 1000000 /* round trips that are remembered for the median */

static UA_Client *client;
static unsigned inFlight;
static unsigned long done, bad;

static UA_UInt64 clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (UA_UInt64)t.tv_sec * 1000000000u + (UA_UInt64)t.tv_nsec;
}

static void look(const UA_ReadResponse *response, size_t batch) {
    UA_Boolean good = response->responseHeader.serviceResult == UA_STATUSCODE_GOOD &&
                      response->resultsSize == batch;
    for(size_t i = 0; good && i < batch; i++)
        good = response->results[i].hasValue &&
               (!response->results[i].hasStatus || response->results[i].status == 0);
    done++;
    if(!good)
        bad++;
}

static void answered(UA_Client *c, void *batch, UA_UInt32 id, UA_ReadResponse *response) {
    (void)c, (void)id;
    look(response, *(size_t *)batch);
    inFlight--;
}

static int by_size(const void *a, const void *b) {
    UA_UInt64 x = *(const UA_UInt64 *)a, y = *(const UA_UInt64 *)b;
    return x < y ? -1 : x > y;
}

static int run(FILE *out, UA_UInt16 ns, unsigned most, size_t batch, unsigned ms, UA_Boolean spin) {
    static UA_UInt64 times[TIMES];
    static UA_ReadValueId nodes[MOST];
    for(size_t i = 0; i < batch; i++) {
        UA_ReadValueId_init(&nodes[i]);
        nodes[i].nodeId = UA_NODEID_NUMERIC(ns, 1000 + (UA_UInt32)i);
        nodes[i].attributeId = UA_ATTRIBUTEID_VALUE;
    }
    UA_ReadRequest request;
    UA_ReadRequest_init(&request);
    request.nodesToRead = nodes;
    request.nodesToReadSize = batch;
    request.timestampsToReturn = UA_TIMESTAMPSTORETURN_NEITHER;

    size_t timed = 0;
    inFlight = 0;
    done = bad = 0;
    UA_StatusCode code = UA_STATUSCODE_GOOD;
    UA_UInt64 cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), start = clock_ns(CLOCK_MONOTONIC);
    UA_UInt64 end = start + (UA_UInt64)ms * 1000000u, now = start;
    while(now < end && code == UA_STATUSCODE_GOOD) {
        if(most == 1 && !spin) {
            UA_ReadResponse response = UA_Client_Service_read(client, request);
            code = response.responseHeader.serviceResult;
            look(&response, batch);
            UA_ReadResponse_clear(&response);
        } else {
            while(inFlight < most && code == UA_STATUSCODE_GOOD) {
                code = UA_Client_sendAsyncReadRequest(client, &request, answered, &batch, NULL);
                inFlight++;
            }
            unsigned before = inFlight;
            while(code == UA_STATUSCODE_GOOD && inFlight == before) {
                code = UA_Client_run_iterate(client, spin ? 0 : 10);
                if(spin && clock_ns(CLOCK_MONOTONIC) > end + 5000000000u)
                    code = UA_STATUSCODE_BADTIMEOUT;
            }
        }
        UA_UInt64 then = now;
        now = clock_ns(CLOCK_MONOTONIC);
        if(most == 1 && timed < TIMES)
            times[timed++] = now - then;
    }
    while(inFlight > 0 && code == UA_STATUSCODE_GOOD && clock_ns(CLOCK_MONOTONIC) < end + 5000000000u)
        code = UA_Client_run_iterate(client, 10);
    UA_UInt64 elapsed = clock_ns(CLOCK_MONOTONIC) - start;
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    fprintf(out, "{\"calls\": %lu, \"bad\": %lu, \"elapsed_ns\": %llu, \"cpu_ns\": %llu", done, bad,
            (unsigned long long)elapsed, (unsigned long long)cpu);
    if(timed) {
        qsort(times, timed, sizeof *times, by_size);
        fprintf(out, ", \"p50_ns\": %llu", (unsigned long long)times[timed / 2]);
    }
    if(code != UA_STATUSCODE_GOOD || inFlight)
        fprintf(out, ", \"error\": \"%s, %u left in flight\"", UA_StatusCode_name(code), inFlight);
    fprintf(out, "}\n");
    fflush(out);
    return code == UA_STATUSCODE_GOOD && !inFlight;
}

static UA_StatusCode connect_to(const char *url, const char *pki, const char *policy,
                                const char *mode) {
    UA_ClientConfig config;
    memset(&config, 0, sizeof config);
    config.logging = UA_Log_Stdout_new(UA_LOGLEVEL_ERROR);
    UA_StatusCode code;
    /* Without a key pair on an unsecured channel: with one, some servers' nonces are refused. */
    if(strcmp(policy, "None") == 0) {
        code = UA_ClientConfig_setDefault(&config);
    } else {
        UA_ByteString cert, key;
        identity(pki, URI, &cert, &key);
        UA_String_clear(&config.clientDescription.applicationUri);
        config.clientDescription.applicationUri = certificate_uri(&cert);
        code = UA_ClientConfig_setDefaultEncryption(&config, cert, key, NULL, 0, NULL, 0);
    }
    if(code != UA_STATUSCODE_GOOD)
        return code;
    if(config.certificateVerification.clear)
        config.certificateVerification.clear(&config.certificateVerification);
    UA_CertificateGroup_AcceptAll(&config.certificateVerification);
    char uri[128];
    snprintf(uri, sizeof uri, "http://opcfoundation.org/UA/SecurityPolicy#%s", policy);
    config.securityPolicyUri = UA_STRING_ALLOC(uri);
    config.securityMode = strcmp(mode, "None") == 0   ? UA_MESSAGESECURITYMODE_NONE
                          : strcmp(mode, "Sign") == 0 ? UA_MESSAGESECURITYMODE_SIGN
                                                      : UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
    client = UA_Client_newWithConfig(&config);
    return UA_Client_connect(client, url);
}

int main(int argc, char **argv) {
    const char *url = NULL, *pki = "pki", *policy = "None", *mode = "None";
    for(int i = 1; i < argc; i++) {
        if(i + 1 < argc && strcmp(argv[i], "--pki") == 0)
            pki = argv[++i];
        else if(i + 1 < argc && strcmp(argv[i], "--policy") == 0)
            policy = argv[++i];
        else if(i + 1 < argc && strcmp(argv[i], "--mode") == 0)
            mode = argv[++i];
        else if(!url)
            url = argv[i];
        else
            return fprintf(stderr, "unknown argument: %s\n", argv[i]), 2;
    }
    if(!url)
        return fprintf(stderr, "load: no URL\n"), 2;
    alarm(30);
    /* The stack logs to standard output, also in the middle of our line. */
    FILE *out = fdopen(dup(STDOUT_FILENO), "w");
    if(!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 2;
    UA_StatusCode code = connect_to(url, pki, policy, mode);
    UA_UInt16 ns = 0;
    UA_String uri = UA_STRING("urn:bench");
    if(code == UA_STATUSCODE_GOOD)
        code = UA_Client_NamespaceGetIndex(client, &uri, &ns);
    if(code != UA_STATUSCODE_GOOD)
        return fprintf(stderr, "connect: %s\n", UA_StatusCode_name(code)), 1;
    fprintf(out, "READY\n");
    fflush(out);

    char line[256], wait[8];
    unsigned most, batch, ms;
    int good = 1;
    alarm(0);
    while(good && fgets(line, sizeof line, stdin)) {
        if(sscanf(line, "%u %u %u %7s", &most, &batch, &ms, wait) != 4 || most < 1 ||
           most > 10000 || batch < 1 || batch > MOST || ms > 60000)
            return fprintf(stderr, "bad line: %s", line), 2;
        alarm(ms / 1000 + 15); /* whatever hangs, ends */
        good = run(out, ns, most, batch, ms, strcmp(wait, "spin") == 0);
        alarm(0);
    }
    alarm(10);
    UA_Client_disconnect(client);
    UA_Client_delete(client);
    return !good;
}

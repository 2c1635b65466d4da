/* Loads a server with Reads, by the client of open62541: load URL --pki DIR [--policy P --mode M]
 *
 * Prints READY once a session is active. For each line `IN_FLIGHT BATCH MILLISECONDS sleep|spin`
 * on standard input it reads BATCH Doubles of the bench address space at a time, keeps IN_FLIGHT
 * requests in flight for so long, waits for the rest, and prints one line of JSON. With one
 * request in flight it calls synchronously, unless it is to spin. For each line
 * `watch SUBSCRIPTIONS ITEMS PUBLISHING_MS MILLISECONDS` it makes so many subscriptions of so many
 * items, on nodes 1000 to 1999 in turn, and counts the values that come in that time, once the
 * first ones have settled. Ends with its input. */
#include "identity.h"

#include <open62541/client.h>
#include <open62541/client_config_default.h>
#include <open62541/client_highlevel.h>
#include <open62541/client_highlevel_async.h>
#include <open62541/client_subscriptions.h>
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

#define MOST_SUBSCRIPTIONS 100
#define PER_CALL 1000
#define WARM 1200 /* milliseconds in which the first values come */

static unsigned long values;

static void changed(UA_Client *c, UA_UInt32 subscription, void *of, UA_UInt32 item, void *on,
                    UA_DataValue *value) {
    (void)c, (void)subscription, (void)of, (void)item, (void)on;
    if(value->hasValue)
        values++;
}

static UA_StatusCode watch_items(UA_UInt16 ns, UA_UInt32 subscription, unsigned from, unsigned n,
                                 double publishing) {
    static UA_MonitoredItemCreateRequest items[PER_CALL];
    static UA_Client_DataChangeNotificationCallback callbacks[PER_CALL];
    static UA_Client_DeleteMonitoredItemCallback deletes[PER_CALL];
    for(unsigned i = 0; i < n; i++) {
        UA_NodeId node = UA_NODEID_NUMERIC(ns, 1000 + (from + i) % 1000);
        items[i] = UA_MonitoredItemCreateRequest_default(node);
        items[i].requestedParameters.samplingInterval = publishing;
        items[i].requestedParameters.queueSize = 10;
        callbacks[i] = changed;
    }
    UA_CreateMonitoredItemsRequest request;
    UA_CreateMonitoredItemsRequest_init(&request);
    request.subscriptionId = subscription;
    request.timestampsToReturn = UA_TIMESTAMPSTORETURN_BOTH;
    request.itemsToCreate = items;
    request.itemsToCreateSize = n;
    UA_CreateMonitoredItemsResponse response =
        UA_Client_MonitoredItems_createDataChanges(client, request, NULL, callbacks, deletes);
    UA_StatusCode code = response.responseHeader.serviceResult;
    for(size_t i = 0; i < response.resultsSize && code == UA_STATUSCODE_GOOD; i++)
        code = response.results[i].statusCode;
    UA_CreateMonitoredItemsResponse_clear(&response);
    return code;
}

static int watch(FILE *out, UA_UInt16 ns, unsigned subscriptions, unsigned items,
                 unsigned publishing, unsigned ms) {
    static UA_UInt32 ids[MOST_SUBSCRIPTIONS];
    UA_StatusCode code = UA_STATUSCODE_GOOD;
    unsigned made = 0;
    for(; made < subscriptions && code == UA_STATUSCODE_GOOD; made++) {
        UA_CreateSubscriptionRequest request = UA_CreateSubscriptionRequest_default();
        request.requestedPublishingInterval = publishing;
        request.requestedMaxKeepAliveCount = 100;
        UA_CreateSubscriptionResponse response =
            UA_Client_Subscriptions_create(client, request, NULL, NULL, NULL);
        code = response.responseHeader.serviceResult;
        ids[made] = response.subscriptionId;
        for(unsigned from = 0; from < items && code == UA_STATUSCODE_GOOD; from += PER_CALL) {
            unsigned n = items - from < PER_CALL ? items - from : PER_CALL;
            code = watch_items(ns, ids[made], from, n, publishing);
        }
    }
    UA_UInt64 cpu = 0, start = 0, now = clock_ns(CLOCK_MONOTONIC);
    UA_UInt64 warm = now + WARM * 1000000ull, end = warm + (UA_UInt64)ms * 1000000u;
    while(now < end && code == UA_STATUSCODE_GOOD) {
        code = UA_Client_run_iterate(client, 10);
        now = clock_ns(CLOCK_MONOTONIC);
        if(!start && now >= warm) {
            values = 0;
            start = now;
            cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        }
    }
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    fprintf(out, "{\"calls\": %lu, \"bad\": 0, \"elapsed_ns\": %llu, \"cpu_ns\": %llu", values,
            (unsigned long long)(now - start), (unsigned long long)cpu);
    for(unsigned i = 0; i < made && code == UA_STATUSCODE_GOOD; i++)
        code = UA_Client_Subscriptions_deleteSingle(client, ids[i]);
    if(code != UA_STATUSCODE_GOOD)
        fprintf(out, ", \"error\": \"%s\"", UA_StatusCode_name(code));
    fprintf(out, "}\n");
    fflush(out);
    return code == UA_STATUSCODE_GOOD;
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
    unsigned most, batch, ms, subscriptions, items, publishing;
    int good = 1;
    alarm(0);
    while(good && fgets(line, sizeof line, stdin)) {
        if(sscanf(line, "watch %u %u %u %u", &subscriptions, &items, &publishing, &ms) == 4 &&
           subscriptions >= 1 && subscriptions <= MOST_SUBSCRIPTIONS && items >= 1 &&
           items <= 100000 && publishing >= 1 && ms <= 60000) {
            alarm(ms / 1000 + 30);
            good = watch(out, ns, subscriptions, items, publishing, ms);
            alarm(0);
            continue;
        }
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

/* A client of the bench address space on open62541; prints one JSON object as its last line. */
#include "identity.h"

#include <open62541/client.h>
#include <open62541/client_config_default.h>
#include <open62541/client_highlevel.h>
#include <open62541/client_subscriptions.h>
#include <open62541/plugin/certificategroup_default.h>
#include <open62541/plugin/securitypolicy_default.h>

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#define URI "urn:uaperf:peers:open62541:client"
#define VERSION "1.5.10"

static FILE *out; /* what was standard output */
static UA_Client *client;
static UA_UInt16 ns;
static char error[512]; /* of the current step, empty when it went well */
static char result[64 * 1024]; /* JSON members of the current step */
static size_t used;

/* Part of a step's report. */
static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)vsnprintf(result + used, sizeof result - used, format, arguments);
    va_end(arguments);
}

/* The step failed, unless it has already. Always false. */
static int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if(!*error)
        vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
    return 0;
}

static int good(UA_StatusCode code, const char *what) {
    return code == UA_STATUSCODE_GOOD || fail("%s: %s", what, UA_StatusCode_name(code));
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- read --- */

static void say_scalar(UA_UInt32 id, const UA_Variant *value) {
    const char *comma = result[used - 1] == '{' ? "" : ", ";
    if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_DOUBLE]))
        say("%s\"i=%u\": %.17g", comma, id, *(UA_Double *)value->data);
    else if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_INT32]))
        say("%s\"i=%u\": %d", comma, id, *(UA_Int32 *)value->data);
    else if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_UINT32]))
        say("%s\"i=%u\": %u", comma, id, *(UA_UInt32 *)value->data);
    else
        fail("i=%u: unexpected type", id);
}

/* Length and sum of the elements; a ByteString counts as an array of Byte. */
static void say_array(UA_UInt32 id, const UA_Variant *value) {
    const UA_Byte *bytes = (UA_Byte *)value->data;
    size_t length = value->arrayLength;
    unsigned sum = 0;
    if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_BYTESTRING])) {
        bytes = ((UA_ByteString *)value->data)->data;
        length = ((UA_ByteString *)value->data)->length;
    }
    if(value->type == &UA_TYPES[UA_TYPES_INT16])
        for(size_t k = 0; k < length; k++)
            sum += (unsigned)((UA_Int16 *)value->data)[k];
    else
        for(size_t k = 0; k < length; k++)
            sum += bytes[k];
    say("%s\"i=%u\": [%zu, %u]", result[used - 1] == '{' ? "" : ", ", id, length, sum & 0xffff);
}

static int read_some(const UA_UInt32 *ids, size_t n,
                     void (*with)(UA_UInt32 id, const UA_Variant *value)) {
    UA_ReadValueId nodes[500];
    for(size_t i = 0; i < n; i++) {
        UA_ReadValueId_init(&nodes[i]);
        nodes[i].nodeId = UA_NODEID_NUMERIC(ns, ids[i]);
        nodes[i].attributeId = UA_ATTRIBUTEID_VALUE;
    }
    UA_ReadRequest request;
    UA_ReadRequest_init(&request);
    request.timestampsToReturn = UA_TIMESTAMPSTORETURN_BOTH;
    request.nodesToRead = nodes;
    request.nodesToReadSize = n;
    UA_ReadResponse response = UA_Client_Service_read(client, request);
    int ok = good(response.responseHeader.serviceResult, "Read");
    if(ok && response.resultsSize != n)
        ok = fail("%zu results to %zu nodes", response.resultsSize, n);
    for(size_t i = 0; ok && i < n; i++) {
        UA_DataValue *v = &response.results[i];
        if(v->hasStatus && v->status != UA_STATUSCODE_GOOD)
            ok = fail("i=%u: %s", ids[i], UA_StatusCode_name(v->status));
        else if(!v->hasValue || UA_Variant_isEmpty(&v->value))
            ok = fail("i=%u: no value", ids[i]);
        else
            with(ids[i], &v->value);
    }
    UA_ReadResponse_clear(&response);
    return ok;
}

static void do_read(void) {
    UA_UInt32 ids[500];
    const UA_UInt32 counters[] = {3030, 3031};
    const UA_UInt32 arrays[] = {3010, 3011, 3012, 3013, 3014, 3020};
    say("\"values\": {");
    for(UA_UInt32 first = 1000; first < 2000; first += 500) {
        for(UA_UInt32 i = 0; i < 500; i++)
            ids[i] = first + i;
        if(!read_some(ids, 500, say_scalar))
            return;
    }
    if(!read_some(counters, 2, say_scalar))
        return;
    say("}, \"arrays\": {");
    for(size_t i = 0; i < 6; i++) /* one by one: not every server splits its answers */
        if(!read_some(&arrays[i], 1, say_array))
            return;
    say("}");
}

/* --- write --- */

static UA_Variant kept[2];
static size_t keptSize;

static void keep(UA_UInt32 id, const UA_Variant *value) {
    (void)id;
    UA_Variant_clear(&kept[keptSize]);
    UA_Variant_copy(value, &kept[keptSize++]);
}

static int write_both(const UA_UInt32 *ids, const UA_Variant *values) {
    for(int i = 0; i < 2; i++) {
        UA_StatusCode code =
            UA_Client_writeValueAttribute(client, UA_NODEID_NUMERIC(ns, ids[i]), &values[i]);
        if(!good(code, "Write"))
            return 0;
    }
    return 1;
}

static void do_write(void) {
    const UA_UInt32 ids[] = {1499, 1999};
    UA_Double number = 0.5;
    UA_Int32 integer = -5;
    UA_Variant wanted[2], before[2];
    UA_Variant_setScalar(&wanted[0], &number, &UA_TYPES[UA_TYPES_DOUBLE]);
    UA_Variant_setScalar(&wanted[1], &integer, &UA_TYPES[UA_TYPES_INT32]);
    if(!read_some(ids, 2, keep))
        return;
    memcpy(before, kept, sizeof before);
    memset(kept, 0, sizeof kept);
    keptSize = 0;
    if(write_both(ids, wanted) && read_some(ids, 2, keep)) {
        for(int i = 0; i < 2; i++)
            if(UA_order(&wanted[i], &kept[i], &UA_TYPES[UA_TYPES_VARIANT]) != UA_ORDER_EQ)
                fail("i=%u: read something else than was written", ids[i]);
        write_both(ids, before);
    }
    for(int i = 0; i < 2; i++) {
        UA_Variant_clear(&before[i]);
        UA_Variant_clear(&kept[i]);
    }
}

/* --- browse --- */

#define MANY 4000
static UA_NodeId seen[MANY], queue[MANY];
static size_t seenSize, queueSize;

static void take(const UA_BrowseResult *list) {
    for(size_t i = 0; i < list->referencesSize; i++) {
        const UA_ReferenceDescription *r = &list->references[i];
        int known = r->nodeId.nodeId.namespaceIndex != ns || seenSize == MANY;
        for(size_t k = 0; !known && k < seenSize; k++)
            known = UA_NodeId_equal(&seen[k], &r->nodeId.nodeId);
        if(known)
            continue;
        UA_NodeId_copy(&r->nodeId.nodeId, &seen[seenSize++]);
        if(r->nodeClass == UA_NODECLASS_OBJECT)
            queue[queueSize++] = seen[seenSize - 1];
    }
}

static int browse_node(UA_NodeId node) {
    UA_BrowseDescription description;
    UA_BrowseDescription_init(&description);
    description.nodeId = node;
    description.browseDirection = UA_BROWSEDIRECTION_FORWARD;
    description.referenceTypeId = UA_NS0ID(HIERARCHICALREFERENCES);
    description.includeSubtypes = true;
    description.resultMask = UA_BROWSERESULTMASK_ALL;
    UA_BrowseResult list = UA_Client_browse(client, NULL, 0, &description);
    for(;;) {
        take(&list);
        if(list.statusCode != UA_STATUSCODE_GOOD || list.continuationPoint.length == 0)
            break;
        UA_BrowseResult next = UA_Client_browseNext(client, false, list.continuationPoint);
        UA_BrowseResult_clear(&list);
        list = next;
    }
    int ok = good(list.statusCode, "Browse");
    UA_BrowseResult_clear(&list);
    return ok;
}

static void do_browse(void) {
    seenSize = queueSize = 0;
    queue[queueSize++] = UA_NS0ID(OBJECTSFOLDER);
    for(size_t i = 0; i < queueSize; i++)
        if(!browse_node(queue[i]))
            return;
    say("\"count\": %zu", seenSize);
    if(seenSize < 1010)
        fail("found %zu nodes of urn:bench, want 1010 or more", seenSize);
}

/* --- call --- */

static void do_call(void) {
    UA_Double value = 12.5;
    UA_Variant input, *output = NULL;
    size_t outputs = 0;
    UA_Variant_setScalar(&input, &value, &UA_TYPES[UA_TYPES_DOUBLE]);
    UA_StatusCode code = UA_Client_call(client, UA_NODEID_NUMERIC(ns, 4001),
                                        UA_NODEID_NUMERIC(ns, 4000), 1, &input, &outputs, &output);
    if(!good(code, "Call"))
        return;
    if(outputs != 1 || !UA_Variant_hasScalarType(output, &UA_TYPES[UA_TYPES_DOUBLE]) ||
       *(UA_Double *)output->data != value)
        fail("echo(12.5) gave something else");
    else
        say("\"result\": %g", *(UA_Double *)output->data);
    UA_Array_delete(output, outputs, &UA_TYPES[UA_TYPES_VARIANT]);
}

/* --- subscribe --- */

static UA_UInt32 counts[64];
static size_t countsSize;

static void changed(UA_Client *c, UA_UInt32 subscription, void *subscriptionContext,
                    UA_UInt32 item, void *itemContext, UA_DataValue *value) {
    (void)c, (void)subscription, (void)subscriptionContext, (void)item, (void)itemContext;
    if(countsSize < 64 && UA_Variant_hasScalarType(&value->value, &UA_TYPES[UA_TYPES_UINT32]))
        counts[countsSize++] = *(UA_UInt32 *)value->value.data;
}

static void do_subscribe(void) {
    UA_CreateSubscriptionRequest request = UA_CreateSubscriptionRequest_default();
    request.requestedPublishingInterval = 100;
    UA_CreateSubscriptionResponse response =
        UA_Client_Subscriptions_create(client, request, NULL, NULL, NULL);
    if(!good(response.responseHeader.serviceResult, "CreateSubscription"))
        return;
    UA_MonitoredItemCreateRequest item =
        UA_MonitoredItemCreateRequest_default(UA_NODEID_NUMERIC(ns, 3030));
    item.requestedParameters.samplingInterval = 100;
    item.requestedParameters.queueSize = 10;
    UA_MonitoredItemCreateResult created = UA_Client_MonitoredItems_createDataChange(
        client, response.subscriptionId, UA_TIMESTAMPSTORETURN_BOTH, item, NULL, changed, NULL);
    if(!good(created.statusCode, "CreateMonitoredItems"))
        return;
    countsSize = 0;
    for(double end = now_ms() + 5000; countsSize < 5 && now_ms() < end;)
        if(!good(UA_Client_run_iterate(client, 50), "Publish"))
            return;
    say("\"notifications\": %zu, \"values\": [", countsSize);
    for(size_t i = 0; i < countsSize; i++) {
        say("%s%u", i ? ", " : "", counts[i]);
        if(i && counts[i] <= counts[i - 1])
            fail("the counter does not rise");
    }
    say("]");
    if(countsSize < 3)
        fail("%zu notifications in 5 s", countsSize);
    UA_Client_Subscriptions_deleteSingle(client, response.subscriptionId);
}

#include "judge.h"

/* --- connect --- */

typedef struct {
    const char *url, *policy, *mode, *user, *password, *pki;
    const char *cert, *key, *userCert, *userKey, *steps;
} Target;

/* The deprecated policies are in the library but not among its defaults. */
static void add_deprecated(UA_SecurityPolicy **policies, size_t *n, UA_ByteString cert,
                           UA_ByteString key, UA_Logger *logging) {
    UA_ByteString plain = UA_BYTESTRING_NULL; /* the same key as DER */
    UA_SecurityPolicy *more = (UA_SecurityPolicy *)realloc(*policies, (*n + 2) * sizeof *more);
    if(!more || !good(UA_CertificateUtils_decryptPrivateKey(key, UA_BYTESTRING_NULL, &plain), "key"))
        return;
    *policies = more;
    if(good(UA_SecurityPolicy_Basic128Rsa15(&more[*n], cert, plain, logging), "Basic128Rsa15"))
        ++*n;
    if(good(UA_SecurityPolicy_Basic256(&more[*n], cert, plain, logging), "Basic256"))
        ++*n;
    UA_ByteString_clear(&plain);
}

/* So are those of elliptic curves. Whoever uses one has keys for no other. */
static void add_curve(const char *name, UA_SecurityPolicy **policies, size_t *n,
                      UA_ByteString cert, UA_ByteString key, UA_Logger *logging) {
    UA_ByteString plain = UA_BYTESTRING_NULL; /* the same key as DER */
    UA_SecurityPolicy *more = (UA_SecurityPolicy *)realloc(*policies, (*n + 1) * sizeof *more);
    if(!more || !good(UA_CertificateUtils_decryptPrivateKey(key, UA_BYTESTRING_NULL, &plain), "key"))
        return;
    *policies = more;
    UA_StatusCode code = strcmp(name, "ECC_nistP256") == 0
        ? UA_SecurityPolicy_EccNistP256(&more[*n], UA_APPLICATIONTYPE_CLIENT, cert, plain, logging)
        : UA_SecurityPolicy_EccNistP384(&more[*n], UA_APPLICATIONTYPE_CLIENT, cert, plain, logging);
    if(good(code, name))
        ++*n;
    UA_ByteString_clear(&plain);
}

static void configure(UA_ClientConfig *config, const Target *t) {
    UA_ByteString cert, key;
    const char *curve = strncmp(t->policy, "ECC_", 4) == 0 ? t->policy + 4 : NULL;
    if(t->cert) {
        cert = read_file(t->cert);
        key = read_file(t->key);
    } else {
        identity_on(curve, t->pki, URI, &cert, &key);
    }
    config->logging = UA_Log_Stdout_new(UA_LOGLEVEL_ERROR);
    UA_String_clear(&config->clientDescription.applicationUri);
    config->clientDescription.applicationUri = certificate_uri(&cert);
    UA_StatusCode code;
    /* With a key pair the client expects a nonce that can sign from the server even on an
     * unsecured channel, which not every server gives; so only where a user needs it. */
    if(strcmp(t->policy, "None") == 0 && !t->user && !t->userCert)
        code = UA_ClientConfig_setDefault(config);
    else
        code = UA_ClientConfig_setDefaultEncryption(config, cert, key, NULL, 0, NULL, 0);
    good(code, "configure");
    if(t->user)
        good(UA_ClientConfig_setAuthenticationUsername(config, t->user, t->password), "user");
    UA_ByteString userCert = cert, userKey = key;
    if(t->userCert) {
        userCert = read_file(t->userCert);
        userKey = read_file(t->userKey);
        good(UA_ClientConfig_setAuthenticationCert(config, userCert, userKey), "user");
    }
    if(curve) {
        add_curve(t->policy, &config->securityPolicies, &config->securityPoliciesSize, cert, key,
                  config->logging);
        add_curve(t->policy, &config->authSecurityPolicies, &config->authSecurityPoliciesSize,
                  userCert, userKey, config->logging);
    } else if(config->securityPoliciesSize > 1) {
        add_deprecated(&config->securityPolicies, &config->securityPoliciesSize, cert, key,
                       config->logging);
        add_deprecated(&config->authSecurityPolicies, &config->authSecurityPoliciesSize, userCert,
                       userKey, config->logging);
    }
    if(config->certificateVerification.clear)
        config->certificateVerification.clear(&config->certificateVerification);
    UA_CertificateGroup_AcceptAll(&config->certificateVerification);
    char uri[128];
    snprintf(uri, sizeof uri, "http://opcfoundation.org/UA/SecurityPolicy#%s", t->policy);
    config->securityPolicyUri = UA_STRING_ALLOC(uri);
    config->securityMode = strcmp(t->mode, "None") == 0   ? UA_MESSAGESECURITYMODE_NONE
                           : strcmp(t->mode, "Sign") == 0 ? UA_MESSAGESECURITYMODE_SIGN
                                                          : UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
}

static void disconnect(void) {
    if(client) {
        UA_Client_disconnect(client);
        UA_Client_delete(client);
        client = NULL;
    }
}

static void do_connect(const Target *t) {
    UA_ClientConfig config;
    memset(&config, 0, sizeof config);
    configure(&config, t);
    if(judge.cut)
        pin_endpoint(&config, t->url);
    client = UA_Client_newWithConfig(&config);
    double start = now_ms();
    if(*error || !good(UA_Client_connect(client, t->url), "connect"))
        return;
    say("\"ms\": %.3f", now_ms() - start);
    UA_String uri = UA_STRING("urn:bench");
    good(UA_Client_NamespaceGetIndex(client, &uri, &ns), "namespace urn:bench");
}

/* --- main --- */

/* Prints one step and starts the next one afresh; what failed first is kept in `first`. */
static void report(const char *name, char *first, size_t size) {
    fprintf(out, "%s\"%s\": {", strcmp(name, "connect") == 0 ? "" : ", ", name);
    if(*error) {
        fprintf(out, "\"ok\": false, \"error\": \"%s\"}", error);
        if(!*first)
            snprintf(first, size, "%s", error);
    } else {
        fprintf(out, "\"ok\": true%s%s}", used ? ", " : "", result);
    }
    *error = *result = '\0';
    used = 0;
}

int main(int argc, char **argv) {
    Target t = {"", "None", "None", NULL, "", "pki", NULL, NULL, NULL, NULL,
                "read,write,browse,call,subscribe"};
    struct {
        const char *name, **value;
    } options[] = {{"--policy", &t.policy}, {"--mode", &t.mode}, {"--user", &t.user},
                   {"--password", &t.password}, {"--pki", &t.pki}, {"--cert", &t.cert},
                   {"--key", &t.key}, {"--user-cert", &t.userCert}, {"--user-key", &t.userKey},
                   {"--do", &t.steps}, {"--out", &judge.out}, {"--updates", &judge.updates},
                   {"--cut", &judge.cut}};
    for(int i = 1; i < argc; i++) {
        int known = 0;
        for(size_t k = 0; i + 1 < argc && k < sizeof options / sizeof *options; k++)
            if(strcmp(argv[i], options[k].name) == 0) {
                *options[k].value = argv[++i];
                known = 1;
                break;
            }
        if(!known && *t.url)
            return fprintf(stderr, "unknown argument: %s\n", argv[i]), 2;
        if(!known)
            t.url = argv[i];
    }
    alarm(judge.out ? 170 : 60);
    /* The stack logs to standard output, also in the middle of our line. */
    out = fdopen(dup(STDOUT_FILENO), "w");
    if(!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 2;

    char first[512] = "";
    struct {
        const char *name;
        void (*work)(void);
    } steps[] = {{"read", do_read}, {"write", do_write}, {"browse", do_browse},
                 {"call", do_call}, {"subscribe", do_subscribe}, {"dump", do_dump},
                 {"watch", do_watch}, {"cut", do_cut}};
    do_connect(&t);
    int connected = !*error;
    fprintf(out, "{\"stack\": \"open62541\", \"version\": \"" VERSION "\", \"steps\": {");
    report("connect", first, sizeof first);
    for(size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if(!strstr(t.steps, steps[i].name))
            continue;
        if(!connected)
            fail("not connected");
        else
            steps[i].work();
        int broken = connected && *error;
        report(steps[i].name, first, sizeof first);
        if(broken) { /* one step's broken connection shall not be the next one's failure */
            disconnect();
            do_connect(&t);
            connected = !*error;
            *error = *result = '\0';
            used = 0;
        }
    }
    if(*first)
        fprintf(out, "}, \"error\": \"%s\"}\n", first);
    else
        fprintf(out, "}, \"error\": null}\n");
    fclose(out);
    disconnect();
    return *first != '\0';
}

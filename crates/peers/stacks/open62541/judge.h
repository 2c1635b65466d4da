/* The steps that judge a server: what was seen goes to a file, line by line, for somebody else to
 * compare. They are only done when named. A part of client.c. */

#include <arpa/inet.h>
#include <sys/socket.h>

#define NODES_AT_ONCE 100
#define REFERENCES_AT_ONCE 100
#define ATTRIBUTES 27

static struct {
    const char *out, *updates, *cut;
    FILE *file;
    unsigned lines;
} judge = {NULL, "50", NULL, NULL, 0};

static void hex(const void *value, const UA_DataType *type) {
    UA_ByteString bytes = UA_BYTESTRING_NULL;
    if(good(UA_encodeBinary(value, type, &bytes, NULL), "encode"))
        for(size_t i = 0; i < bytes.length; i++)
            fprintf(judge.file, "%02x", bytes.data[i]);
    UA_ByteString_clear(&bytes);
}

/* Nodes in the order in which they were found, and a table of them by their hash. */
#define PLACES 65536
static UA_NodeId found[PLACES];
static size_t foundSize;
static unsigned places[PLACES]; /* one more than an index of found */

static void find(const UA_NodeId *node) {
    size_t at = UA_NodeId_hash(node) % PLACES;
    for(; places[at]; at = (at + 1) % PLACES)
        if(UA_NodeId_equal(&found[places[at] - 1], node))
            return;
    if(foundSize == PLACES / 2) {
        fail("more than %d nodes", PLACES / 2);
        return;
    }
    UA_NodeId_copy(node, &found[foundSize]);
    places[at] = (unsigned)++foundSize;
}

static void dump_references(const UA_NodeId *node, const UA_BrowseResult *list) {
    for(size_t i = 0; i < list->referencesSize; i++) {
        const UA_ReferenceDescription *r = &list->references[i];
        fputs("R\t", judge.file);
        hex(node, &UA_TYPES[UA_TYPES_NODEID]);
        fputs("\t", judge.file);
        hex(r, &UA_TYPES[UA_TYPES_REFERENCEDESCRIPTION]);
        fputs("\n", judge.file);
        judge.lines++;
        if(r->nodeId.serverIndex == 0)
            find(&r->nodeId.nodeId);
    }
}

/* All references of each node, both ways, by BrowseNext where there are many. */
static int dump_browse(size_t first, size_t n) {
    UA_BrowseDescription each[NODES_AT_ONCE];
    for(size_t i = 0; i < n; i++) {
        UA_BrowseDescription_init(&each[i]);
        each[i].nodeId = found[first + i];
        each[i].browseDirection = UA_BROWSEDIRECTION_BOTH;
        each[i].includeSubtypes = true;
        each[i].resultMask = UA_BROWSERESULTMASK_ALL;
    }
    UA_BrowseRequest request;
    UA_BrowseRequest_init(&request);
    request.requestedMaxReferencesPerNode = REFERENCES_AT_ONCE;
    request.nodesToBrowse = each;
    request.nodesToBrowseSize = n;
    UA_BrowseResponse response = UA_Client_Service_browse(client, request);
    int ok = good(response.responseHeader.serviceResult, "Browse");
    for(size_t i = 0; ok && i < n; i++) {
        UA_BrowseResult *list = &response.results[i];
        for(;;) {
            dump_references(&each[i].nodeId, list);
            if(!good(list->statusCode, "Browse") || list->continuationPoint.length == 0)
                break;
            UA_BrowseResult next = UA_Client_browseNext(client, false, list->continuationPoint);
            UA_BrowseResult_clear(list);
            *list = next;
        }
    }
    UA_BrowseResponse_clear(&response);
    return ok && !*error;
}

static int dump_attributes(size_t first, size_t n) {
    static UA_ReadValueId each[NODES_AT_ONCE * ATTRIBUTES];
    for(size_t i = 0; i < n * ATTRIBUTES; i++) {
        UA_ReadValueId_init(&each[i]);
        each[i].nodeId = found[first + i / ATTRIBUTES];
        each[i].attributeId = (UA_UInt32)(i % ATTRIBUTES + 1);
    }
    UA_ReadRequest request;
    UA_ReadRequest_init(&request);
    request.timestampsToReturn = UA_TIMESTAMPSTORETURN_NEITHER;
    request.nodesToRead = each;
    request.nodesToReadSize = n * ATTRIBUTES;
    UA_ReadResponse response = UA_Client_Service_read(client, request);
    int ok = good(response.responseHeader.serviceResult, "Read");
    if(ok && response.resultsSize != request.nodesToReadSize)
        ok = fail("%zu results to %zu attributes", response.resultsSize, request.nodesToReadSize);
    for(size_t i = 0; ok && i < response.resultsSize; i++) {
        const UA_DataValue *v = &response.results[i];
        UA_StatusCode status = v->hasStatus ? v->status : UA_STATUSCODE_GOOD;
        if(status == UA_STATUSCODE_BADATTRIBUTEIDINVALID)
            continue;
        fputs("A\t", judge.file);
        hex(&each[i].nodeId, &UA_TYPES[UA_TYPES_NODEID]);
        fprintf(judge.file, "\t%u\t%08x\t", each[i].attributeId, status);
        if(v->hasValue)
            hex(&v->value, &UA_TYPES[UA_TYPES_VARIANT]);
        fputs("\n", judge.file);
        judge.lines++;
    }
    UA_ReadResponse_clear(&response);
    return ok;
}

static int open_out(void) {
    judge.file = judge.out ? fopen(judge.out, "w") : NULL;
    return judge.file || fail("--out FILE cannot be written");
}

static void do_dump(void) {
    UA_NodeId root = UA_NS0ID(ROOTFOLDER);
    if(!open_out())
        return;
    find(&root);
    for(size_t at = 0; at < foundSize && !*error;) {
        size_t n = foundSize - at < NODES_AT_ONCE ? foundSize - at : NODES_AT_ONCE;
        if(!dump_browse(at, n) || !dump_attributes(at, n))
            break;
        at += n;
    }
    fclose(judge.file);
    say("\"nodes\": %zu, \"lines\": %u", foundSize, judge.lines);
}

/* --- changes --- */

static unsigned seenOf[4000], complete, wanted;

static long whole(const UA_Variant *value) {
    if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_DOUBLE]))
        return (long)*(UA_Double *)value->data;
    if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_INT32]))
        return *(UA_Int32 *)value->data;
    if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_UINT32]))
        return *(UA_UInt32 *)value->data;
    return -1;
}

static void noted(UA_Client *c, UA_UInt32 subscription, void *subscriptionContext, UA_UInt32 item,
                  void *context, UA_DataValue *value) {
    (void)c, (void)subscription, (void)subscriptionContext, (void)item;
    unsigned number = (unsigned)(uintptr_t)context;
    long n = whole(&value->value);
    if(judge.cut)
        fprintf(judge.file, "%ld\n", n);
    else
        fprintf(judge.file, "%u\t%ld\t%08x\n", number, n, value->hasStatus ? value->status : 0);
    judge.lines++;
    if(++seenOf[number] == wanted)
        complete++;
}

static UA_UInt32 follow(unsigned first, unsigned n) {
    UA_CreateSubscriptionRequest request = UA_CreateSubscriptionRequest_default();
    request.requestedPublishingInterval = 100;
    UA_CreateSubscriptionResponse response =
        UA_Client_Subscriptions_create(client, request, NULL, NULL, NULL);
    if(!good(response.responseHeader.serviceResult, "CreateSubscription"))
        return 0;
    static UA_MonitoredItemCreateRequest items[1000];
    static void *contexts[1000];
    static UA_Client_DataChangeNotificationCallback callbacks[1000];
    static UA_Client_DeleteMonitoredItemCallback deletions[1000];
    for(unsigned i = 0; i < n; i++) {
        items[i] = UA_MonitoredItemCreateRequest_default(UA_NODEID_NUMERIC(ns, first + i));
        items[i].requestedParameters.samplingInterval = 0;
        items[i].requestedParameters.queueSize = 1000;
        contexts[i] = (void *)(uintptr_t)(first + i);
        callbacks[i] = noted;
    }
    UA_CreateMonitoredItemsRequest create;
    UA_CreateMonitoredItemsRequest_init(&create);
    create.subscriptionId = response.subscriptionId;
    create.timestampsToReturn = UA_TIMESTAMPSTORETURN_BOTH;
    create.itemsToCreate = items;
    create.itemsToCreateSize = n;
    UA_CreateMonitoredItemsResponse created = UA_Client_MonitoredItems_createDataChanges(
        client, create, contexts, callbacks, deletions);
    good(created.responseHeader.serviceResult, "CreateMonitoredItems");
    for(size_t i = 0; i < created.resultsSize; i++)
        good(created.results[i].statusCode, "CreateMonitoredItems");
    UA_CreateMonitoredItemsResponse_clear(&created);
    return response.subscriptionId;
}

static void do_watch(void) {
    if(!open_out())
        return;
    wanted = (unsigned)atoi(judge.updates) + 1;
    UA_UInt32 subscription = follow(1000, 1000);
    while(!*error && complete < 1000)
        good(UA_Client_run_iterate(client, 50), "Publish");
    say("\"notifications\": %u", judge.lines);
    UA_Client_Subscriptions_deleteSingle(client, subscription);
    fclose(judge.file);
}

static void cut_now(void) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(judge.cut));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if(s < 0 || connect(s, (struct sockaddr *)&address, sizeof address) < 0)
        fail("nobody cuts at port %s", judge.cut);
    close(s);
}

/* A connection that broke is an error of the call that met it; the next call opens a new one. */
static void do_cut(void) {
    if(!judge.cut || !open_out())
        return;
    follow(3030, 1);
    while(!*error && judge.lines < 5)
        good(UA_Client_run_iterate(client, 50), "Publish");
    if(*error)
        return;
    fputs("CUT\n", judge.file);
    cut_now();
    wanted = judge.lines + (unsigned)atoi(judge.updates);
    while(!*error && judge.lines < wanted)
        if(UA_Client_run_iterate(client, 50) != UA_STATUSCODE_GOOD)
            usleep(50 * 1000);
    say("\"notifications\": %u", judge.lines);
    fclose(judge.file);
}

/* Goes on with the given host and port, whatever EndpointUrl the server advertises: the library
 * does so only when it is told the endpoint and the user token policy beforehand. */
static void pin_endpoint(UA_ClientConfig *config, const char *url) {
    UA_Client *asking = UA_Client_new();
    UA_ClientConfig_setDefault(UA_Client_getConfig(asking));
    UA_EndpointDescription *endpoints = NULL;
    size_t size = 0;
    good(UA_Client_getEndpoints(asking, url, &size, &endpoints), "GetEndpoints");
    for(size_t i = 0; i < size; i++) {
        UA_EndpointDescription *e = &endpoints[i];
        if(e->securityMode != config->securityMode ||
           !UA_String_equal(&e->securityPolicyUri, &config->securityPolicyUri))
            continue;
        UA_EndpointDescription_copy(e, &config->endpoint);
        UA_String_clear(&config->endpoint.endpointUrl);
        config->endpoint.endpointUrl = UA_STRING_ALLOC(url);
        for(size_t k = 0; k < e->userIdentityTokensSize; k++)
            if(e->userIdentityTokens[k].tokenType == UA_USERTOKENTYPE_ANONYMOUS)
                UA_UserTokenPolicy_copy(&e->userIdentityTokens[k], &config->userTokenPolicy);
        break;
    }
    UA_Array_delete(endpoints, size, &UA_TYPES[UA_TYPES_ENDPOINTDESCRIPTION]);
    UA_Client_delete(asking);
}

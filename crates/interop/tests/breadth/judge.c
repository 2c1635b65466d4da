/* open62541 as a judge of what is beside values: judge URL STEPS FOLDER prints one JSON object. */
#include <open62541/client.h>
#include <open62541/client_config_default.h>
#include <open62541/client_highlevel.h>
#include <open62541/client_subscriptions.h>
#include <open62541/plugin/certificategroup_default.h>
#include <open62541/plugin/log_stdout.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *out; /* what was standard output: the stack logs there */
static const char *url, *folder;
static UA_Client *client;

static void give_up(const char *what, UA_StatusCode code) {
    fprintf(stderr, "%s: %s\n", what, UA_StatusCode_name(code));
    exit(1);
}

static void need(UA_StatusCode code, const char *what) {
    if(code != UA_STATUSCODE_GOOD)
        give_up(what, code);
}

static UA_NodeId standard(UA_UInt32 id) {
    return UA_NODEID_NUMERIC(0, id);
}

/* --- events --- */

#define FIELDS 6
#define ROOM 100000

/* One event: what was selected, in the order of the clauses. */
static struct {
    UA_Variant fields[FIELDS];
} heard[ROOM];
static size_t heardSize;

static void hear(UA_Client *c, UA_UInt32 subscription, void *subscriptionContext, UA_UInt32 item,
                 void *context, const UA_KeyValueMap fields) {
    (void)c, (void)subscription, (void)subscriptionContext, (void)item, (void)context;
    if(heardSize == ROOM)
        give_up("too many events", UA_STATUSCODE_BADOUTOFMEMORY);
    for(size_t i = 0; i < fields.mapSize && i < FIELDS; i++)
        UA_Variant_copy(&fields.map[i].value, &heard[heardSize].fields[i]);
    heardSize++;
}

static void forget(void) {
    for(size_t n = 0; n < heardSize; n++)
        for(size_t i = 0; i < FIELDS; i++)
            UA_Variant_clear(&heard[n].fields[i]);
    heardSize = 0;
}

/* `path`: names with a slash between them; without any the ConditionId (Part 9, 5.5.2). */
static UA_SimpleAttributeOperand field(UA_UInt32 type, const char *path) {
    UA_SimpleAttributeOperand operand;
    UA_SimpleAttributeOperand_init(&operand);
    operand.typeDefinitionId = standard(type);
    operand.attributeId = *path ? UA_ATTRIBUTEID_VALUE : UA_ATTRIBUTEID_NODEID;
    if(!*path)
        return operand;
    const char *slash = strchr(path, '/');
    operand.browsePathSize = slash ? 2 : 1;
    operand.browsePath = UA_Array_new(operand.browsePathSize, &UA_TYPES[UA_TYPES_QUALIFIEDNAME]);
    UA_String whole = UA_STRING((char *)(uintptr_t)path);
    UA_String first = {slash ? (size_t)(slash - path) : whole.length, whole.data};
    UA_String_copy(&first, &operand.browsePath[0].name);
    if(slash)
        operand.browsePath[1].name = UA_STRING_ALLOC(slash + 1);
    return operand;
}

static UA_UInt32 listen_to(UA_NodeId node, UA_EventFilter *filter) {
    UA_CreateSubscriptionRequest request = UA_CreateSubscriptionRequest_default();
    request.requestedPublishingInterval = 100;
    request.maxNotificationsPerPublish = 0;
    UA_CreateSubscriptionResponse created =
        UA_Client_Subscriptions_create(client, request, NULL, NULL, NULL);
    need(created.responseHeader.serviceResult, "CreateSubscription");
    UA_MonitoredItemCreateRequest item;
    UA_MonitoredItemCreateRequest_init(&item);
    item.itemToMonitor.nodeId = node;
    item.itemToMonitor.attributeId = UA_ATTRIBUTEID_EVENTNOTIFIER;
    item.monitoringMode = UA_MONITORINGMODE_REPORTING;
    item.requestedParameters.queueSize = 1000000;
    item.requestedParameters.discardOldest = true;
    UA_ExtensionObject_setValueNoDelete(&item.requestedParameters.filter, filter,
                                        &UA_TYPES[UA_TYPES_EVENTFILTER]);
    UA_MonitoredItemCreateResult result = UA_Client_MonitoredItems_createEvent(
        client, created.subscriptionId, UA_TIMESTAMPSTORETURN_BOTH, item, NULL, hear, NULL);
    need(result.statusCode, "CreateMonitoredItems");
    return created.subscriptionId;
}

/* A busy machine takes its time; what never comes is missed by what is told in the end. */
static void until(int (*done)(void)) {
    UA_DateTime end = UA_DateTime_nowMonotonic() + 60 * UA_DATETIME_SEC;
    while(!done() && UA_DateTime_nowMonotonic() < end)
        need(UA_Client_run_iterate(client, 50), "Publish");
}

static UA_UInt64 big_endian(const UA_Byte *bytes, size_t n) {
    UA_UInt64 number = 0;
    while(n--)
        number = number << 8 | *bytes++;
    return number;
}

/* Events that are missing between the first and the last of each source, and those that came twice. */
static void say_gaps(size_t count) {
    static struct {
        UA_UInt64 first, last, n;
    } sources[256];
    memset(sources, 0, sizeof sources);
    unsigned missing = 0, twice = 0, known = 0;
    for(size_t e = 0; e < count; e++) {
        const UA_ByteString *id = (UA_ByteString *)heard[e].fields[0].data;
        UA_UInt64 source = big_endian(id->data, 4) % 256, n = big_endian(id->data + 4, 8);
        if(sources[source].n++ == 0) {
            sources[source].first = n;
            known++;
        } else if(n <= sources[source].last) {
            twice++; /* events of one source come in their order */
            continue;
        }
        sources[source].last = n;
    }
    for(size_t s = 0; s < 256; s++)
        if(sources[s].n)
            missing += (unsigned)(sources[s].last - sources[s].first + 1 - sources[s].n);
    fprintf(out, "\"count\":%zu,\"sources\":%u,\"missing\":%u,\"twice\":%u", count, known,
            missing, twice);
}

static int is_type(size_t event, UA_UInt32 type) {
    const UA_Variant *kind = &heard[event].fields[1];
    UA_NodeId wanted = standard(type);
    return UA_Variant_hasScalarType(kind, &UA_TYPES[UA_TYPES_NODEID]) &&
           UA_NodeId_equal((UA_NodeId *)kind->data, &wanted);
}

static int a_flood(void) {
    return heardSize >= 25000;
}

static void flood(void) {
    UA_EventFilter filter;
    UA_EventFilter_init(&filter);
    UA_SimpleAttributeOperand select[] = {field(UA_NS0ID_BASEEVENTTYPE, "EventId"),
                                          field(UA_NS0ID_BASEEVENTTYPE, "EventType")};
    filter.selectClauses = select;
    filter.selectClausesSize = 2;
    UA_UInt32 subscription = listen_to(UA_NODEID_STRING(2, "Flood"), &filter);
    until(a_flood);
    UA_Client_Subscriptions_deleteSingle(client, subscription);
    /* Who is too slow is told so by an overflow event (Part 4, 7.22.3); before it nothing may be missing. */
    size_t kept = 0;
    while(kept < heardSize && !is_type(kept, UA_NS0ID_EVENTQUEUEOVERFLOWEVENTTYPE))
        kept++;
    say_gaps(kept);
}

static int a_few(void) {
    return heardSize >= 200;
}

static UA_ExtensionObject operand(void *value, size_t type) {
    UA_ExtensionObject object;
    UA_ExtensionObject_setValue(&object, value, &UA_TYPES[type]);
    return object;
}

/* Events of one source of the flood, and of no other. */
static void where(void) {
    UA_NodeId type = standard(UA_NS0ID_SYSTEMEVENTTYPE);
    UA_String name = UA_STRING("Flood07");
    UA_ElementOperand second = {1}, third = {2};
    UA_LiteralOperand kind, called;
    UA_Variant_setScalar(&kind.value, &type, &UA_TYPES[UA_TYPES_NODEID]);
    UA_Variant_setScalar(&called.value, &name, &UA_TYPES[UA_TYPES_STRING]);
    UA_SimpleAttributeOperand source = field(UA_NS0ID_BASEEVENTTYPE, "SourceName");
    UA_ExtensionObject both[] = {operand(&second, UA_TYPES_ELEMENTOPERAND),
                                 operand(&third, UA_TYPES_ELEMENTOPERAND)};
    UA_ExtensionObject of[] = {operand(&kind, UA_TYPES_LITERALOPERAND)};
    UA_ExtensionObject equal[] = {operand(&source, UA_TYPES_SIMPLEATTRIBUTEOPERAND),
                                  operand(&called, UA_TYPES_LITERALOPERAND)};
    UA_ContentFilterElement elements[] = {{UA_FILTEROPERATOR_AND, 2, both},
                                          {UA_FILTEROPERATOR_OFTYPE, 1, of},
                                          {UA_FILTEROPERATOR_EQUALS, 2, equal}};
    UA_SimpleAttributeOperand select[] = {field(UA_NS0ID_BASEEVENTTYPE, "EventId"),
                                          field(UA_NS0ID_BASEEVENTTYPE, "SourceName"),
                                          field(UA_NS0ID_BASEEVENTTYPE, "Time")};
    UA_EventFilter filter = {3, select, {3, elements}};
    UA_UInt32 subscription = listen_to(standard(UA_NS0ID_SERVER), &filter);
    until(a_few);
    UA_Client_Subscriptions_deleteSingle(client, subscription);
    say_gaps(heardSize);
    unsigned others = 0;
    UA_DateTime first = UA_INT64_MAX, last = 0;
    for(size_t e = 0; e < heardSize; e++) {
        UA_DateTime at = *(UA_DateTime *)heard[e].fields[2].data;
        others += !UA_String_equal((UA_String *)heard[e].fields[1].data, &name);
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    fprintf(out, ",\"others\":%u,\"first\":%.4f,\"last\":%.4f", others,
            (double)(first - UA_DATETIME_UNIX_EPOCH) / UA_DATETIME_MSEC,
            (double)(last - UA_DATETIME_UNIX_EPOCH) / UA_DATETIME_MSEC);
}

static int is_true(size_t event, size_t which) {
    const UA_Variant *value = &heard[event].fields[which];
    return UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_BOOLEAN]) && *(UA_Boolean *)value->data;
}

/* The last event for which it is so, or heardSize. */
static size_t last_event(int (*is)(size_t event)) {
    for(size_t e = heardSize; e-- > 0;)
        if(is(e))
            return e;
    return heardSize;
}

static int is_active(size_t event) {
    return is_true(event, 3);
}

static int is_acked(size_t event) {
    const UA_Variant *comment = &heard[event].fields[5];
    UA_String seen = UA_STRING("seen");
    return is_true(event, 4) && UA_Variant_hasScalarType(comment, &UA_TYPES[UA_TYPES_LOCALIZEDTEXT]) &&
           UA_String_equal(&((UA_LocalizedText *)comment->data)->text, &seen);
}

static int is_start(size_t event) {
    return is_type(event, UA_NS0ID_REFRESHSTARTEVENTTYPE);
}

static int is_end(size_t event) {
    return is_type(event, UA_NS0ID_REFRESHENDEVENTTYPE);
}

static int one_active(void) {
    return last_event(is_active) < heardSize;
}

static int one_acked(void) {
    return last_event(is_acked) < heardSize;
}

static int the_end(void) {
    return last_event(is_end) < heardSize;
}

static void conditions(void) {
    UA_SimpleAttributeOperand select[] = {
        field(UA_NS0ID_BASEEVENTTYPE, "EventId"), field(UA_NS0ID_BASEEVENTTYPE, "EventType"),
        field(UA_NS0ID_CONDITIONTYPE, ""), field(UA_NS0ID_ALARMCONDITIONTYPE, "ActiveState/Id"),
        field(UA_NS0ID_ACKNOWLEDGEABLECONDITIONTYPE, "AckedState/Id"),
        field(UA_NS0ID_CONDITIONTYPE, "Comment")};
    UA_EventFilter filter = {6, select, {0, NULL}};
    UA_UInt32 subscription = listen_to(UA_NODEID_STRING(2, "Tanks"), &filter);
    until(one_active);
    size_t active = last_event(is_active);
    if(active == heardSize)
        give_up("no alarm", UA_STATUSCODE_BADTIMEOUT);
    UA_Variant inputs[2];
    UA_LocalizedText seen = UA_LOCALIZEDTEXT("en", "seen");
    inputs[0] = heard[active].fields[0];
    UA_Variant_setScalar(&inputs[1], &seen, &UA_TYPES[UA_TYPES_LOCALIZEDTEXT]);
    need(UA_Client_call(client, *(UA_NodeId *)heard[active].fields[2].data,
                        standard(UA_NS0ID_ACKNOWLEDGEABLECONDITIONTYPE_ACKNOWLEDGE), 2, inputs, NULL, NULL),
         "Acknowledge");
    until(one_acked);
    UA_Variant_setScalar(&inputs[0], &subscription, &UA_TYPES[UA_TYPES_UINT32]);
    need(UA_Client_call(client, standard(UA_NS0ID_CONDITIONTYPE),
                        standard(UA_NS0ID_CONDITIONTYPE_CONDITIONREFRESH), 1, inputs, NULL, NULL),
         "ConditionRefresh");
    until(the_end);
    UA_Client_Subscriptions_deleteSingle(client, subscription);
    fprintf(out, "\"acked\":%s,\"refreshed\":%ld", one_acked() ? "true" : "false",
            (long)last_event(is_end) - (long)last_event(is_start) - 1);
}

/* --- history --- */

static unsigned pages;

/* The stack asks for page after page. */
static UA_Boolean page(UA_Client *c, const UA_NodeId *node, UA_Boolean more,
                       const UA_ExtensionObject *data, void *context) {
    (void)c, (void)node, (void)more, (void)context;
    const UA_HistoryData *values = (UA_HistoryData *)data->content.decoded.data;
    for(size_t i = 0; i < values->dataValuesSize; i++) {
        const UA_DataValue *v = &values->dataValues[i];
        if(!UA_Variant_hasScalarType(&v->value, &UA_TYPES[UA_TYPES_UINT32]))
            give_up("history", UA_STATUSCODE_BADTYPEMISMATCH);
        fprintf(out, "%s[%.4f,%u]", pages || i ? "," : "",
                (double)(v->sourceTimestamp - UA_DATETIME_UNIX_EPOCH) / UA_DATETIME_MSEC,
                *(UA_UInt32 *)v->value.data);
    }
    pages++;
    return true;
}

static void history(void) {
    UA_NodeId node = UA_NODEID_STRING(3, "Count");
    UA_DateTime end = UA_DateTime_now();
    fprintf(out, "\"values\":[");
    need(UA_Client_HistoryRead_raw(client, &node, page, end - 2 * UA_DATETIME_SEC, end, UA_STRING_NULL,
                                   false, 7, UA_TIMESTAMPSTORETURN_BOTH, NULL),
         "HistoryRead");
    fprintf(out, "],\"pages\":%u", pages);
}

/* --- nodes --- */

static int organizes(UA_NodeId node, UA_NodeId target) {
    UA_BrowseDescription description;
    UA_BrowseDescription_init(&description);
    description.nodeId = node;
    description.referenceTypeId = standard(UA_NS0ID_ORGANIZES);
    description.resultMask = UA_BROWSERESULTMASK_ALL;
    UA_BrowseResult list = UA_Client_browse(client, NULL, 0, &description);
    need(list.statusCode, "Browse");
    int found = 0;
    for(size_t i = 0; i < list.referencesSize; i++)
        found |= UA_NodeId_equal(&list.references[i].nodeId.nodeId, &target);
    UA_BrowseResult_clear(&list);
    return found;
}

static void manage(void) {
    UA_NodeId added = UA_NODEID_STRING(3, "Added"), variable = UA_NODEID_STRING(3, "Added.Value");
    UA_NodeId fill = UA_NODEID_STRING(2, "Fill00"), kind = standard(UA_NS0ID_ORGANIZES);
    UA_ExpandedNodeId target = {fill, UA_STRING_NULL, 0};
    UA_ObjectAttributes object = UA_ObjectAttributes_default;
    object.displayName = UA_LOCALIZEDTEXT("", "Added");
    UA_StatusCode code = UA_Client_addObjectNode(
        client, added, standard(UA_NS0ID_OBJECTSFOLDER), kind, UA_QUALIFIEDNAME(3, "Added"),
        standard(UA_NS0ID_FOLDERTYPE), object, NULL);
    UA_VariableAttributes attributes = UA_VariableAttributes_default;
    UA_Double number = 42.5;
    /* The defaults say that nothing is specified, and what is not is not looked at (Part 4, 7.24.1). */
    attributes.specifiedAttributes =
        UA_NODEATTRIBUTESMASK_DISPLAYNAME | UA_NODEATTRIBUTESMASK_DATATYPE | UA_NODEATTRIBUTESMASK_VALUE;
    attributes.displayName = UA_LOCALIZEDTEXT("", "Value");
    attributes.dataType = standard(UA_NS0ID_DOUBLE);
    attributes.valueRank = UA_VALUERANK_SCALAR;
    UA_Variant_setScalar(&attributes.value, &number, &UA_TYPES[UA_TYPES_DOUBLE]);
    if(code == UA_STATUSCODE_GOOD)
        code = UA_Client_addVariableNode(client, variable, added, standard(UA_NS0ID_HASCOMPONENT),
                                         UA_QUALIFIEDNAME(3, "Value"),
                                         standard(UA_NS0ID_BASEDATAVARIABLETYPE), attributes, NULL);
    UA_Variant value;
    UA_Variant_init(&value);
    UA_Client_readValueAttribute(client, variable, &value);
    fprintf(out, "\"added\":\"%s\",\"read\":%g", UA_StatusCode_name(code),
            UA_Variant_hasScalarType(&value, &UA_TYPES[UA_TYPES_DOUBLE]) ? *(UA_Double *)value.data : -1);
    UA_Variant_clear(&value);
    code = UA_Client_addReference(client, added, kind, true, UA_STRING_NULL, target, UA_NODECLASS_VARIABLE);
    fprintf(out, ",\"referenced\":\"%s\",\"shown\":%s", UA_StatusCode_name(code),
            organizes(added, fill) ? "true" : "false");
    code = UA_Client_deleteReference(client, added, kind, true, target, true);
    fprintf(out, ",\"unreferenced\":\"%s\",\"hidden\":%s", UA_StatusCode_name(code),
            organizes(added, fill) ? "false" : "true");
    code = UA_Client_deleteNode(client, variable, true);
    if(code == UA_STATUSCODE_GOOD)
        code = UA_Client_deleteNode(client, added, true);
    fprintf(out, ",\"deleted\":\"%s\"", UA_StatusCode_name(code));
    code = UA_Client_readValueAttribute(client, variable, &value);
    fprintf(out, ",\"gone\":\"%s\"", UA_StatusCode_name(code));
}

/* --- users --- */

static UA_ByteString file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    UA_ByteString content;
    FILE *f = fopen(path, "rb");
    if(!f || UA_ByteString_allocBuffer(&content, 16384) != UA_STATUSCODE_GOOD)
        give_up(path, UA_STATUSCODE_BADNOTFOUND);
    content.length = fread(content.data, 1, content.length, f);
    fclose(f);
    return content;
}

static UA_Client *come_in(const char *certificate, const char *key, UA_StatusCode *code) {
    UA_ClientConfig config;
    memset(&config, 0, sizeof config);
    config.logging = UA_Log_Stdout_new(UA_LOGLEVEL_ERROR);
    need(certificate ? UA_ClientConfig_setDefaultEncryption(&config, file("judge.der"), file("judge.pem"),
                                                            NULL, 0, NULL, 0)
                     : UA_ClientConfig_setDefault(&config),
         "configure");
    config.timeout = 60000;
    UA_String_clear(&config.clientDescription.applicationUri);
    config.clientDescription.applicationUri = UA_STRING_ALLOC("urn:test:judge");
    if(certificate) {
        need(UA_ClientConfig_setAuthenticationCert(&config, file(certificate), file(key)), "user");
        config.securityPolicyUri = UA_STRING_ALLOC("http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256");
        config.securityMode = UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
    }
    if(config.certificateVerification.clear)
        config.certificateVerification.clear(&config.certificateVerification);
    UA_CertificateGroup_AcceptAll(&config.certificateVerification);
    UA_Client *coming = UA_Client_newWithConfig(&config);
    *code = UA_Client_connect(coming, url);
    return coming;
}

static void leave(UA_Client *one) {
    UA_Client_disconnect(one);
    UA_Client_delete(one);
}

/* Who comes with a certificate: anna, eve whom nobody knows, and eve with what belongs to anna. */
static void login(void) {
    static const struct {
        const char *name, *certificate, *key;
    } users[] = {{"wrote", "anna.der", "anna.pem"}, {"stranger", "eve.der", "eve.pem"},
                 {"forged", "anna.der", "eve.pem"}};
    for(int n = 0; n < 3; n++) {
        UA_StatusCode code;
        UA_Client *one = come_in(users[n].certificate, users[n].key, &code);
        if(n == 0 && code == UA_STATUSCODE_GOOD) {
            UA_Int32 five = 5;
            UA_Variant value;
            UA_Variant_setScalar(&value, &five, &UA_TYPES[UA_TYPES_INT32]);
            code = UA_Client_writeValueAttribute(one, UA_NODEID_STRING(3, "Setpoint"), &value);
        }
        leave(one);
        fprintf(out, "%s\"%s\":\"%s\"", n ? "," : "", users[n].name, UA_StatusCode_name(code));
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*work)(void);
    } steps[] = {{"flood", flood}, {"where", where}, {"conditions", conditions},
                 {"history", history}, {"manage", manage}, {"login", login}};
    if(argc != 4)
        return 2;
    url = argv[1], folder = argv[3];
    out = fdopen(dup(STDOUT_FILENO), "w");
    if(!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 2;
    UA_StatusCode code;
    client = come_in(NULL, NULL, &code);
    need(code, "connect");
    const char *comma = "{";
    for(char *name = strtok(argv[2], ","); name; name = strtok(NULL, ","))
        for(size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if(strcmp(name, steps[i].name) == 0) {
                fprintf(out, "%s\"%s\":{", comma, name);
                steps[i].work();
                fprintf(out, "}");
                forget();
                comma = ",";
            }
    fprintf(out, "}\n");
    fclose(out);
    leave(client);
    return 0;
}

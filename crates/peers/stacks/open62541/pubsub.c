/* Publishes, or subscribes to, PubSub over UDP:
 * pubsub publish|subscribe HOST:PORT --encoding variant|raw|value [--cycles N]
 *        [--security sign|sign-and-encrypt --keys HEX] [--interval MILLISECONDS]
 * Or has its JSON judged: pubsub json-encode|json-decode (json.h). */
#include "json.h"

#include <open62541/plugin/log_stdout.h>
#include <open62541/plugin/securitypolicy_default.h>
#include <open62541/server.h>
#include <open62541/server_config_default.h>
#include <open62541/server_pubsub.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIELDS 4
#define PROFILE "http://opcfoundation.org/UA-Profile/Transport/pubsub-udp-uadp"

static UA_Server *server;
static UA_NodeId fields[FIELDS];
static UA_DataSetFieldContentMask encoding;
static UA_MessageSecurityMode mode = UA_MESSAGESECURITYMODE_NONE;
static UA_Byte keys[68];
static size_t keysSize;

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

static UA_String text(const char *chars) { return UA_STRING((char *)(uintptr_t)chars); }

/* Standard input is at its end as soon as whoever started this is gone. */
static UA_Boolean is_over(void) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char byte;
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void read_keys(const char *hex) {
    for(; hex[0] && hex[1] && keysSize < sizeof keys; hex += 2) {
        unsigned byte;
        if(sscanf(hex, "%2x", &byte) != 1)
            die("bad --keys (want hex)");
        keys[keysSize++] = (UA_Byte)byte;
    }
    if(keysSize != 52 && keysSize != 68)
        die("bad --keys (want 52 or 68 bytes)");
}

static UA_ByteString part(size_t at, size_t length) {
    UA_ByteString bytes = {length, keys + at};
    return bytes;
}

static UA_NodeId connect_to(char *url) {
    UA_NetworkAddressUrlDataType where = {UA_STRING_NULL, text(url)};
    UA_PubSubConnectionConfig config;
    memset(&config, 0, sizeof config);
    config.name = text("connection");
    config.transportProfileUri = text(PROFILE);
    config.publisherId.idType = UA_PUBLISHERIDTYPE_UINT16;
    config.publisherId.id.uint16 = 2234;
    UA_Variant_setScalar(&config.address, &where, &UA_TYPES[UA_TYPES_NETWORKADDRESSURLDATATYPE]);
    UA_NodeId id;
    must(UA_Server_addPubSubConnection(server, &config, &id), "connection");
    return id;
}

static unsigned free_port(void) {
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    socklen_t size = sizeof at;
    int probe = socket(AF_INET, SOCK_DGRAM, 0);
    if(probe < 0 || bind(probe, (struct sockaddr *)&at, size) != 0 ||
       getsockname(probe, (struct sockaddr *)&at, &size) != 0)
        die("no free port");
    close(probe);
    return ntohs(at.sin_port);
}

static void add_variables(const UA_DataType *types[FIELDS]) {
    for(UA_UInt32 i = 0; i < FIELDS; i++) {
        UA_UInt64 zero = 0;
        UA_VariableAttributes attributes = UA_VariableAttributes_default;
        UA_Variant_setScalar(&attributes.value, &zero, types[i]);
        attributes.dataType = types[i]->typeId;
        attributes.accessLevel = UA_ACCESSLEVELMASK_READ | UA_ACCESSLEVELMASK_WRITE;
        fields[i] = UA_NODEID_NUMERIC(1, 1000 + i);
        must(UA_Server_addVariableNode(server, fields[i], UA_NS0ID(OBJECTSFOLDER),
                                       UA_NS0ID(HASCOMPONENT), UA_QUALIFIEDNAME(1, "field"),
                                       UA_NS0ID(BASEDATAVARIABLETYPE), attributes, NULL, NULL),
             "variable");
    }
}

/* --- publishing: a Double, an Int32, a UInt16 and a Boolean, all of them made of the cycle --- */

/* With an interval the stack's own timer publishes, until this program is ended. */
static void publish(const char *address, unsigned cycles, double interval) {
    const UA_DataType *types[FIELDS] = {
        &UA_TYPES[UA_TYPES_DOUBLE], &UA_TYPES[UA_TYPES_INT32],
        &UA_TYPES[UA_TYPES_UINT16], &UA_TYPES[UA_TYPES_BOOLEAN]};
    add_variables(types);
    /* The stack tries to receive wherever a connection sends to, which fails beside a listener. So the
     * connection is one that receives elsewhere, and the group says where it sends to. */
    char here[64], there[128];
    snprintf(here, sizeof here, "opc.udp://localhost:%u/", free_port());
    snprintf(there, sizeof there, "opc.udp://%s/", address);
    UA_NodeId connection = connect_to(here), dataSet, group, writer;

    UA_PublishedDataSetConfig set;
    memset(&set, 0, sizeof set);
    set.publishedDataSetType = UA_PUBSUB_DATASET_PUBLISHEDITEMS;
    set.name = text("set");
    must(UA_Server_addPublishedDataSet(server, &set, &dataSet).addResult, "data set");
    for(size_t i = 0; i < FIELDS; i++) {
        UA_DataSetFieldConfig field;
        memset(&field, 0, sizeof field);
        field.dataSetFieldType = UA_PUBSUB_DATASETFIELD_VARIABLE;
        field.field.variable.fieldNameAlias = text("field");
        field.field.variable.publishParameters.publishedVariable = fields[i];
        field.field.variable.publishParameters.attributeId = UA_ATTRIBUTEID_VALUE;
        must(UA_Server_addDataSetField(server, dataSet, &field, NULL).result, "field");
    }

    UA_WriterGroupConfig groupConfig;
    memset(&groupConfig, 0, sizeof groupConfig);
    groupConfig.name = text("group");
    /* Without one cycles are triggered below. */
    groupConfig.publishingInterval = interval > 0 ? interval : 3600 * 1000;
    groupConfig.writerGroupId = 100;
    groupConfig.encodingMimeType = UA_PUBSUB_ENCODING_UADP;
    groupConfig.securityMode = mode;
    groupConfig.securityPolicy = UA_Server_getConfig(server)->pubSubConfig.securityPolicies;
    UA_UadpWriterGroupMessageDataType layout;
    UA_UadpWriterGroupMessageDataType_init(&layout);
    layout.networkMessageContentMask =
        UA_UADPNETWORKMESSAGECONTENTMASK_PUBLISHERID | UA_UADPNETWORKMESSAGECONTENTMASK_GROUPHEADER |
        UA_UADPNETWORKMESSAGECONTENTMASK_WRITERGROUPID |
        UA_UADPNETWORKMESSAGECONTENTMASK_SEQUENCENUMBER |
        UA_UADPNETWORKMESSAGECONTENTMASK_PAYLOADHEADER;
    UA_ExtensionObject_setValue(&groupConfig.messageSettings, &layout,
                                &UA_TYPES[UA_TYPES_UADPWRITERGROUPMESSAGEDATATYPE]);
    UA_NetworkAddressUrlDataType where = {UA_STRING_NULL, text(there)};
    UA_DatagramWriterGroupTransport2DataType transport;
    UA_DatagramWriterGroupTransport2DataType_init(&transport);
    UA_ExtensionObject_setValue(&transport.address, &where,
                                &UA_TYPES[UA_TYPES_NETWORKADDRESSURLDATATYPE]);
    UA_ExtensionObject_setValue(&groupConfig.transportSettings, &transport,
                                &UA_TYPES[UA_TYPES_DATAGRAMWRITERGROUPTRANSPORT2DATATYPE]);
    must(UA_Server_addWriterGroup(server, connection, &groupConfig, &group), "group");
    if(keysSize > 0)
        must(UA_Server_setWriterGroupEncryptionKeys(server, group, 1, part(0, 32),
                                                    part(32, keysSize - 36),
                                                    part(keysSize - 4, 4)),
             "keys");

    UA_DataSetWriterConfig writerConfig;
    memset(&writerConfig, 0, sizeof writerConfig);
    writerConfig.name = text("writer");
    writerConfig.dataSetWriterId = 62541;
    writerConfig.dataSetFieldContentMask = encoding;
    UA_UadpDataSetWriterMessageDataType header;
    UA_UadpDataSetWriterMessageDataType_init(&header);
    header.dataSetMessageContentMask = UA_UADPDATASETMESSAGECONTENTMASK_SEQUENCENUMBER |
                                       UA_UADPDATASETMESSAGECONTENTMASK_TIMESTAMP;
    UA_ExtensionObject_setValue(&writerConfig.messageSettings, &header,
                                &UA_TYPES[UA_TYPES_UADPDATASETWRITERMESSAGEDATATYPE]);
    must(UA_Server_addDataSetWriter(server, group, dataSet, &writerConfig, &writer), "writer");

    must(UA_Server_run_startup(server), "start");
    must(UA_Server_enableAllPubSubComponents(server), "enable");
    /* What is triggered before it has its socket is not sent, and nobody is told. */
    UA_PubSubState state = UA_PUBSUBSTATE_DISABLED;
    while(state != UA_PUBSUBSTATE_OPERATIONAL && !is_over()) {
        UA_Server_run_iterate(server, false);
        must(UA_Server_getWriterGroupState(server, group, &state), "state");
        usleep(1000);
    }
    printf("READY\n");
    fflush(stdout);
    while(interval > 0 && !is_over())
        UA_Server_run_iterate(server, true);
    for(unsigned cycle = 0; cycle < cycles && !is_over(); cycle++) {
        UA_Double number = cycle + 0.5;
        UA_Int32 below = -(UA_Int32)cycle;
        UA_UInt16 small = (UA_UInt16)cycle;
        UA_Boolean odd = cycle % 2 == 1;
        void *values[FIELDS] = {&number, &below, &small, &odd};
        for(size_t i = 0; i < FIELDS; i++) {
            UA_Variant value;
            UA_Variant_setScalar(&value, values[i], types[i]);
            must(UA_Server_writeValue(server, fields[i], value), "value");
        }
        must(UA_Server_triggerWriterGroupPublish(server, group), "publish");
        UA_Server_run_iterate(server, false);
        usleep(2000);
    }
}

/* --- subscribing: four Doubles; a line for each message --- */

static void written(UA_Server *s, const UA_NodeId *session, void *context, const UA_NodeId *node,
                    void *nodeContext, const UA_NumericRange *range, const UA_DataValue *data) {
    (void)session, (void)context, (void)node, (void)nodeContext, (void)range, (void)data;
    for(size_t i = 0; i < FIELDS; i++) {
        UA_Variant value;
        must(UA_Server_readValue(s, fields[i], &value), "value");
        UA_Boolean is_double = UA_Variant_hasScalarType(&value, &UA_TYPES[UA_TYPES_DOUBLE]);
        UA_Double number = is_double ? *(UA_Double *)value.data : -1;
        printf("%s%g", i == 0 ? "[" : ", ", number);
        UA_Variant_clear(&value);
    }
    printf("]\n");
    fflush(stdout);
}

static void subscribe(const char *address) {
    const UA_DataType *types[FIELDS];
    for(size_t i = 0; i < FIELDS; i++)
        types[i] = &UA_TYPES[UA_TYPES_DOUBLE];
    add_variables(types);
    UA_ValueCallback callback = {NULL, written};
    /* The last field is written last. */
    must(UA_Server_setVariableNode_valueCallback(server, fields[FIELDS - 1], callback), "callback");
    char url[128];
    snprintf(url, sizeof url, "opc.udp://%s/", address);
    UA_NodeId connection = connect_to(url), group, reader;

    UA_ReaderGroupConfig groupConfig;
    memset(&groupConfig, 0, sizeof groupConfig);
    groupConfig.name = text("group");
    groupConfig.securityMode = mode;
    groupConfig.securityPolicy = UA_Server_getConfig(server)->pubSubConfig.securityPolicies;
    must(UA_Server_addReaderGroup(server, connection, &groupConfig, &group), "group");
    if(keysSize > 0)
        must(UA_Server_setReaderGroupEncryptionKeys(server, group, 1, part(0, 32),
                                                    part(32, keysSize - 36),
                                                    part(keysSize - 4, 4)),
             "keys");

    UA_DataSetReaderConfig config;
    memset(&config, 0, sizeof config);
    config.name = text("reader");
    config.publisherId.idType = UA_PUBLISHERIDTYPE_UINT16;
    config.publisherId.id.uint16 = 1;
    config.writerGroupId = 1;
    config.dataSetWriterId = 1;
    config.dataSetFieldContentMask = encoding;
    UA_FieldMetaData meta[FIELDS];
    UA_FieldTargetDataType targets[FIELDS];
    for(size_t i = 0; i < FIELDS; i++) {
        UA_FieldMetaData_init(&meta[i]);
        meta[i].name = text("field");
        meta[i].builtInType = UA_NS0ID_DOUBLE;
        meta[i].dataType = types[i]->typeId;
        meta[i].valueRank = UA_VALUERANK_SCALAR;
        UA_FieldTargetDataType_init(&targets[i]);
        targets[i].attributeId = UA_ATTRIBUTEID_VALUE;
        targets[i].targetNodeId = fields[i];
    }
    config.dataSetMetaData.name = text("set");
    config.dataSetMetaData.fields = meta;
    config.dataSetMetaData.fieldsSize = FIELDS;
    must(UA_Server_addDataSetReader(server, group, &config, &reader), "reader");
    must(UA_Server_setDataSetReaderTargetVariables(server, reader, FIELDS, targets), "targets");

    must(UA_Server_run_startup(server), "start");
    must(UA_Server_enableAllPubSubComponents(server), "enable");
    UA_Server_run_iterate(server, false);
    printf("READY\n");
    fflush(stdout);
    while(!is_over()) {
        UA_Server_run_iterate(server, false);
        usleep(1000);
    }
}

int main(int count, char **words) {
    if(count == 2 && strncmp(words[1], "json-", 5) == 0)
        return json(strcmp(words[1], "json-encode") == 0);
    if(count < 3)
        die("pubsub publish|subscribe HOST:PORT --encoding variant|raw|value [--cycles N] "
            "[--security sign|sign-and-encrypt --keys HEX]");
    unsigned cycles = 0;
    double interval = 0;
    for(int i = 3; i + 1 < count; i += 2) {
        const char *name = words[i], *value = words[i + 1];
        if(strcmp(name, "--encoding") == 0)
            encoding = strcmp(value, "raw") == 0     ? UA_DATASETFIELDCONTENTMASK_RAWDATA
                       : strcmp(value, "value") == 0 ? UA_DATASETFIELDCONTENTMASK_STATUSCODE |
                                                           UA_DATASETFIELDCONTENTMASK_SOURCETIMESTAMP
                                                     : UA_DATASETFIELDCONTENTMASK_NONE;
        else if(strcmp(name, "--cycles") == 0)
            cycles = (unsigned)strtoul(value, NULL, 10);
        else if(strcmp(name, "--interval") == 0)
            interval = strtod(value, NULL);
        else if(strcmp(name, "--security") == 0)
            mode = strcmp(value, "sign") == 0 ? UA_MESSAGESECURITYMODE_SIGN
                                              : UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
        else if(strcmp(name, "--keys") == 0)
            read_keys(value);
        else
            die(name);
    }
    UA_ServerConfig config;
    memset(&config, 0, sizeof config);
    /* Standard output is for what was received. */
    config.logging = UA_Log_Stdout_new(UA_LOGLEVEL_FATAL);
    must(UA_ServerConfig_setMinimal(&config, 0, NULL), "configuration");
    /* A server has a port even where it only publishes. */
    UA_String_clear(&config.serverUrls[0]);
    config.serverUrls[0] = UA_STRING_ALLOC("opc.tcp://127.0.0.1:0");
    if(keysSize > 0) {
        UA_PubSubSecurityPolicy *policy =
            (UA_PubSubSecurityPolicy *)UA_malloc(sizeof(UA_PubSubSecurityPolicy));
        if(!policy)
            die("no memory");
        must(keysSize == 52 ? UA_PubSubSecurityPolicy_Aes128Ctr(policy, config.logging)
                            : UA_PubSubSecurityPolicy_Aes256Ctr(policy, config.logging),
             "policy");
        config.pubSubConfig.securityPolicies = policy;
        config.pubSubConfig.securityPoliciesSize = 1;
    }
    server = UA_Server_newWithConfig(&config);
    if(!server)
        die("no server");
    if(strcmp(words[1], "publish") == 0)
        publish(words[2], cycles, interval);
    else
        subscribe(words[2]);
    UA_Server_run_shutdown(server);
    UA_Server_delete(server);
    return 0;
}

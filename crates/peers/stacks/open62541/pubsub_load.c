/* A publisher or subscriber of Floats as RawData, whose processor time counts:
 * pubsub_load publish variables|offsets|together HOST:PORT SIGNALS
 * pubsub_load subscribe variables HOST:PORT SIGNALS
 *
 * Prints READY. A publisher sends as many messages as a line on standard input says, each with the values of its
 * cycle, and prints a line of JSON. A subscriber takes `MESSAGES MILLISECONDS`: it receives until so many came or the
 * time is over. Ends with its input.
 *
 *   variables  UA_Server_triggerWriterGroupPublish: the values are those of variables in the address space, which
 *              point to memory of this program (an external value source); a subscriber has them written
 *   offsets    the offset table of the group: values and counters are copied into the message as it was encoded
 *              once, and it is sent with a call for each
 *   together   the same, 32 messages in a call (sendmmsg) */
#define _GNU_SOURCE
#include <open62541/plugin/log_stdout.h>
#include <open62541/server.h>
#include <open62541/server_config_default.h>
#include <open62541/server_pubsub.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PROFILE "http://opcfoundation.org/UA-Profile/Transport/pubsub-udp-uadp"
#define MOST 4000
#define TOGETHER 32

static UA_Server *server;
static size_t signals;
static UA_NodeId nodes[MOST];
static UA_Float floats[MOST];
static UA_DataValue values[MOST];
static UA_DataValue *pointers[MOST];
static unsigned long received;

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

static UA_UInt64 clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (UA_UInt64)t.tv_sec * 1000000000u + (UA_UInt64)t.tv_nsec;
}

static UA_NodeId connect_to(char *url, UA_UInt16 publisher) {
    UA_NetworkAddressUrlDataType where = {UA_STRING_NULL, text(url)};
    UA_PubSubConnectionConfig config;
    memset(&config, 0, sizeof config);
    config.name = text("connection");
    config.transportProfileUri = text(PROFILE);
    config.publisherId.idType = UA_PUBLISHERIDTYPE_UINT16;
    config.publisherId.id.uint16 = publisher;
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

static void add_variables(void) {
    for(size_t i = 0; i < signals; i++) {
        UA_VariableAttributes attributes = UA_VariableAttributes_default;
        UA_Variant_setScalar(&attributes.value, &floats[i], &UA_TYPES[UA_TYPES_FLOAT]);
        attributes.dataType = UA_TYPES[UA_TYPES_FLOAT].typeId;
        attributes.accessLevel = UA_ACCESSLEVELMASK_READ | UA_ACCESSLEVELMASK_WRITE;
        nodes[i] = UA_NODEID_NUMERIC(1, 1000 + (UA_UInt32)i);
        must(UA_Server_addVariableNode(server, nodes[i], UA_NS0ID(OBJECTSFOLDER),
                                       UA_NS0ID(HASCOMPONENT), UA_QUALIFIEDNAME(1, "signal"),
                                       UA_NS0ID(BASEDATAVARIABLETYPE), attributes, NULL, NULL),
             "variable");
    }
}

/* Values that this program changes where they lie: no Write for each of them. */
static void point_to_values(void) {
    for(size_t i = 0; i < signals; i++) {
        UA_DataValue_init(&values[i]);
        UA_Variant_setScalar(&values[i].value, &floats[i], &UA_TYPES[UA_TYPES_FLOAT]);
        values[i].value.storageType = UA_VARIANT_DATA_NODELETE;
        values[i].hasValue = true;
        pointers[i] = &values[i];
        must(UA_Server_setVariableNode_externalValueSource(server, nodes[i], &pointers[i], NULL),
             "external value");
    }
}

static void set_values(unsigned long cycle) {
    for(size_t i = 0; i < signals; i++)
        floats[i] = (UA_Float)(cycle % 16777216);
}

/* --- publishing --- */

static UA_NodeId add_group(const char *address) {
    /* The stack tries to receive wherever a connection sends to, which fails beside a listener. So the
     * connection is one that receives elsewhere, and the group says where it sends to. */
    char here[64], there[128];
    snprintf(here, sizeof here, "opc.udp://localhost:%u/", free_port());
    snprintf(there, sizeof there, "opc.udp://%s/", address);
    UA_NodeId connection = connect_to(here, 2234), dataSet, group, writer;

    UA_PublishedDataSetConfig set;
    memset(&set, 0, sizeof set);
    set.publishedDataSetType = UA_PUBSUB_DATASET_PUBLISHEDITEMS;
    set.name = text("set");
    must(UA_Server_addPublishedDataSet(server, &set, &dataSet).addResult, "data set");
    for(size_t i = 0; i < signals; i++) {
        UA_DataSetFieldConfig field;
        memset(&field, 0, sizeof field);
        field.dataSetFieldType = UA_PUBSUB_DATASETFIELD_VARIABLE;
        field.field.variable.fieldNameAlias = text("signal");
        field.field.variable.publishParameters.publishedVariable = nodes[i];
        field.field.variable.publishParameters.attributeId = UA_ATTRIBUTEID_VALUE;
        must(UA_Server_addDataSetField(server, dataSet, &field, NULL).result, "field");
    }

    UA_WriterGroupConfig groupConfig;
    memset(&groupConfig, 0, sizeof groupConfig);
    groupConfig.name = text("group");
    groupConfig.publishingInterval = 3600 * 1000;
    groupConfig.writerGroupId = 100;
    groupConfig.encodingMimeType = UA_PUBSUB_ENCODING_UADP;
    UA_UadpWriterGroupMessageDataType layout;
    UA_UadpWriterGroupMessageDataType_init(&layout);
    layout.networkMessageContentMask = UA_UADPNETWORKMESSAGECONTENTMASK_PUBLISHERID |
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

    UA_DataSetWriterConfig writerConfig;
    memset(&writerConfig, 0, sizeof writerConfig);
    writerConfig.name = text("writer");
    writerConfig.dataSetWriterId = 62541;
    writerConfig.dataSetFieldContentMask = UA_DATASETFIELDCONTENTMASK_RAWDATA;
    /* What the layout Dynamic of Annex A has. */
    UA_UadpDataSetWriterMessageDataType header;
    UA_UadpDataSetWriterMessageDataType_init(&header);
    header.dataSetMessageContentMask =
        UA_UADPDATASETMESSAGECONTENTMASK_SEQUENCENUMBER |
        UA_UADPDATASETMESSAGECONTENTMASK_TIMESTAMP | UA_UADPDATASETMESSAGECONTENTMASK_STATUS |
        UA_UADPDATASETMESSAGECONTENTMASK_MINORVERSION;
    UA_ExtensionObject_setValue(&writerConfig.messageSettings, &header,
                                &UA_TYPES[UA_TYPES_UADPDATASETWRITERMESSAGEDATATYPE]);
    must(UA_Server_addDataSetWriter(server, group, dataSet, &writerConfig, &writer), "writer");
    return group;
}

static int socket_to(const char *address) {
    char host[64];
    const char *colon = strrchr(address, ':');
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    if(!colon || (size_t)(colon - address) >= sizeof host)
        die("bad address (want HOST:PORT)");
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = 0;
    at.sin_port = htons((unsigned short)strtoul(colon + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if(fd < 0 || inet_pton(AF_INET, host, &at.sin_addr) != 1 ||
       connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        die("no socket");
    return fd;
}

/* As the table says: everything that changes from cycle to cycle has its place. */
static void fill(const UA_PubSubOffsetTable *table, UA_Byte *message, UA_UInt16 sequence) {
    size_t field = 0;
    UA_DateTime now = UA_DateTime_now();
    for(size_t i = 0; i < table->offsetsSize; i++) {
        UA_Byte *at = message + table->offsets[i].offset;
        switch(table->offsets[i].offsetType) {
        case UA_PUBSUBOFFSETTYPE_NETWORKMESSAGE_SEQUENCENUMBER:
        case UA_PUBSUBOFFSETTYPE_DATASETMESSAGE_SEQUENCENUMBER:
            memcpy(at, &sequence, sizeof sequence);
            break;
        case UA_PUBSUBOFFSETTYPE_NETWORKMESSAGE_TIMESTAMP:
        case UA_PUBSUBOFFSETTYPE_DATASETMESSAGE_TIMESTAMP:
            memcpy(at, &now, sizeof now);
            break;
        case UA_PUBSUBOFFSETTYPE_DATASETFIELD_RAW:
            memcpy(at, &floats[field++], sizeof floats[0]);
            break;
        default:
            break;
        }
    }
}

/* So many messages; those that were sent. */
static unsigned long send_all(const UA_PubSubOffsetTable *table, int fd, unsigned long count,
                              unsigned together) {
    static UA_Byte buffers[TOGETHER][65536];
    static UA_UInt16 sequence;
    static unsigned long cycle;
    static int is_ready;
    struct iovec parts[TOGETHER];
    struct mmsghdr headers[TOGETHER];
    memset(headers, 0, sizeof headers);
    size_t length = table->networkMessage.length;
    for(unsigned i = 0; i < together; i++) {
        if(!is_ready)
            memcpy(buffers[i], table->networkMessage.data, length);
        parts[i].iov_base = buffers[i];
        parts[i].iov_len = length;
        headers[i].msg_hdr.msg_iov = &parts[i];
        headers[i].msg_hdr.msg_iovlen = 1;
    }
    is_ready = 1;
    unsigned long sent = 0;
    while(sent < count) {
        unsigned some = count - sent < together ? (unsigned)(count - sent) : together;
        for(unsigned i = 0; i < some; i++) {
            set_values(cycle++);
            fill(table, buffers[i], sequence++);
        }
        if(together == 1) {
            if(send(fd, buffers[0], length, 0) != (ssize_t)length)
                die("not sent");
            sent++;
        } else {
            int taken = sendmmsg(fd, headers, some, 0);
            if(taken != (int)some)
                die("not sent");
            sent += some;
        }
    }
    return sent;
}

static unsigned long trigger_all(UA_NodeId group, unsigned long count) {
    static unsigned long cycle;
    for(unsigned long i = 0; i < count; i++) {
        set_values(cycle++);
        must(UA_Server_triggerWriterGroupPublish(server, group), "publish");
    }
    return count;
}

/* --- subscribing --- */

static void written(UA_Server *s, const UA_NodeId *session, void *context, const UA_NodeId *node,
                    void *nodeContext, const UA_NumericRange *range, const UA_DataValue *data) {
    (void)s, (void)session, (void)context, (void)node, (void)nodeContext, (void)range, (void)data;
    received++;
}

static void add_reader(const char *address) {
    UA_ValueCallback callback = {NULL, written};
    /* The last field is written last. */
    must(UA_Server_setVariableNode_valueCallback(server, nodes[signals - 1], callback), "callback");
    char url[128];
    snprintf(url, sizeof url, "opc.udp://%s/", address);
    UA_NodeId connection = connect_to(url, 2234), group, reader;
    UA_ReaderGroupConfig groupConfig;
    memset(&groupConfig, 0, sizeof groupConfig);
    groupConfig.name = text("group");
    must(UA_Server_addReaderGroup(server, connection, &groupConfig, &group), "group");

    static UA_FieldMetaData meta[MOST];
    static UA_FieldTargetDataType targets[MOST];
    UA_DataSetReaderConfig config;
    memset(&config, 0, sizeof config);
    config.name = text("reader");
    config.publisherId.idType = UA_PUBLISHERIDTYPE_UINT16;
    config.publisherId.id.uint16 = 1;
    config.writerGroupId = 1;
    config.dataSetWriterId = 1;
    config.dataSetFieldContentMask = UA_DATASETFIELDCONTENTMASK_RAWDATA;
    for(size_t i = 0; i < signals; i++) {
        UA_FieldMetaData_init(&meta[i]);
        meta[i].name = text("signal");
        meta[i].builtInType = UA_NS0ID_FLOAT;
        meta[i].dataType = UA_TYPES[UA_TYPES_FLOAT].typeId;
        meta[i].valueRank = UA_VALUERANK_SCALAR;
        UA_FieldTargetDataType_init(&targets[i]);
        targets[i].attributeId = UA_ATTRIBUTEID_VALUE;
        targets[i].targetNodeId = nodes[i];
    }
    config.dataSetMetaData.name = text("set");
    config.dataSetMetaData.fields = meta;
    config.dataSetMetaData.fieldsSize = signals;
    must(UA_Server_addDataSetReader(server, group, &config, &reader), "reader");
    must(UA_Server_setDataSetReaderTargetVariables(server, reader, signals, targets), "targets");
}

static unsigned long receive_all(unsigned long count, unsigned ms) {
    UA_UInt64 end = clock_ns(CLOCK_MONOTONIC) + (UA_UInt64)ms * 1000000u;
    received = 0;
    while(received < count && clock_ns(CLOCK_MONOTONIC) < end)
        UA_Server_run_iterate(server, true);
    return received;
}

int main(int argc, char **argv) {
    if(argc != 5)
        die("pubsub_load publish variables|offsets|together HOST:PORT SIGNALS, or subscribe variables …");
    UA_Boolean publishes = strcmp(argv[1], "publish") == 0;
    const char *way = argv[2], *address = argv[3];
    UA_Boolean triggers = strcmp(way, "variables") == 0;
    unsigned together = strcmp(way, "together") == 0 ? TOGETHER : 1;
    signals = strtoul(argv[4], NULL, 10);
    if(signals < 1 || signals > MOST)
        die("bad SIGNALS (want 1 to 4000)");

    UA_ServerConfig config;
    memset(&config, 0, sizeof config);
    config.logging = UA_Log_Stdout_new(UA_LOGLEVEL_FATAL);
    must(UA_ServerConfig_setMinimal(&config, 0, NULL), "configuration");
    UA_String_clear(&config.serverUrls[0]);
    config.serverUrls[0] = UA_STRING_ALLOC("opc.tcp://127.0.0.1:0");
    server = UA_Server_newWithConfig(&config);
    if(!server)
        die("no server");
    add_variables();
    UA_NodeId group = UA_NODEID_NULL;
    if(publishes) {
        point_to_values();
        group = add_group(address);
    } else {
        add_reader(address);
    }
    must(UA_Server_run_startup(server), "start");
    must(UA_Server_enableAllPubSubComponents(server), "enable");
    UA_PubSubState state = UA_PUBSUBSTATE_DISABLED;
    for(unsigned i = 0; i < 5000 && state != UA_PUBSUBSTATE_OPERATIONAL; i++) {
        UA_Server_run_iterate(server, false);
        if(!publishes)
            break;
        must(UA_Server_getWriterGroupState(server, group, &state), "state");
        usleep(1000);
    }
    if(publishes && state != UA_PUBSUBSTATE_OPERATIONAL)
        die("the group does not publish");
    UA_PubSubOffsetTable table;
    int fd = -1;
    if(publishes && !triggers) {
        must(UA_Server_computeWriterGroupOffsetTable(server, group, &table), "offset table");
        fd = socket_to(address);
    }
    printf("READY\n");
    fflush(stdout);

    char line[256];
    unsigned long count;
    unsigned ms;
    while(fgets(line, sizeof line, stdin)) {
        ms = 0;
        if(sscanf(line, "%lu %u", &count, &ms) < 1 || (!publishes && ms < 1))
            die("bad line");
        alarm(120); /* whatever hangs, ends */
        UA_UInt64 cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), start = clock_ns(CLOCK_MONOTONIC);
        unsigned long done = !publishes  ? receive_all(count, ms)
                             : triggers ? trigger_all(group, count)
                                        : send_all(&table, fd, count, together);
        printf("{\"messages\": %lu, \"elapsed_ns\": %lu, \"cpu_ns\": %lu}\n", done,
               (unsigned long)(clock_ns(CLOCK_MONOTONIC) - start),
               (unsigned long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu));
        fflush(stdout);
        alarm(0);
    }
    UA_Server_run_shutdown(server);
    UA_Server_delete(server);
    return 0;
}

/* NetworkMessages in JSON, from and to its own functions: no broker is between, since the sources that the crate
 * carries have no headers of its MQTT.
 *
 * pubsub json-encode: a line `variant|value HEX...` of standard input, with a DataValue in UA Binary for each field,
 *                     is answered with a NetworkMessage in JSON
 * pubsub json-decode: a line of JSON is answered with what it says, fields as DataValues in UA Binary
 * What cannot be done is answered with `error NAME`. */
#include <open62541/pubsub.h>
#include <open62541/types.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_LINE (1 << 20)
#define JSON_FIELDS 64

static UA_StatusCode from_hex(const char *hex, UA_DataValue *value) {
    UA_ByteString bytes;
    UA_StatusCode code = UA_ByteString_allocBuffer(&bytes, strlen(hex) / 2);
    for(size_t i = 0; code == UA_STATUSCODE_GOOD && i < bytes.length; i++) {
        unsigned byte;
        if(sscanf(hex + 2 * i, "%2x", &byte) != 1)
            code = UA_STATUSCODE_BADDECODINGERROR;
        bytes.data[i] = (UA_Byte)byte;
    }
    if(code == UA_STATUSCODE_GOOD)
        code = UA_decodeBinary(&bytes, value, &UA_TYPES[UA_TYPES_DATAVALUE], NULL);
    UA_ByteString_clear(&bytes);
    return code;
}

static void print_hex(const UA_DataValue *value) {
    UA_ByteString bytes = UA_BYTESTRING_NULL;
    if(UA_encodeBinary(value, &UA_TYPES[UA_TYPES_DATAVALUE], &bytes, NULL) != UA_STATUSCODE_GOOD) {
        printf(" field=?");
        return;
    }
    printf(" field=");
    for(size_t i = 0; i < bytes.length; i++)
        printf("%02x", bytes.data[i]);
    UA_ByteString_clear(&bytes);
}

/* A key frame of writer 62541 in a message of publisher 2234, with all that its JSON has. */
static void encode_line(char *line) {
    static UA_UInt16 cycle;
    UA_DataValue values[JSON_FIELDS];
    UA_FieldMetaData fields[JSON_FIELDS];
    char names[JSON_FIELDS][16];
    size_t count = 0;
    char *word = strtok(line, " \n");
    UA_Boolean alone = word && strcmp(word, "variant") == 0;
    UA_StatusCode code = UA_STATUSCODE_GOOD;
    for(word = strtok(NULL, " \n"); word && count < JSON_FIELDS; word = strtok(NULL, " \n"), count++) {
        UA_DataValue_init(&values[count]);
        UA_FieldMetaData_init(&fields[count]);
        code |= from_hex(word, &values[count]);
        snprintf(names[count], sizeof names[count], "field%zu", count);
        fields[count].name = UA_STRING(names[count]);
    }
    UA_DataSetMessage set;
    memset(&set, 0, sizeof set);
    set.header.dataSetMessageValid = true;
    set.header.fieldEncoding = alone ? UA_FIELDENCODING_VARIANT : UA_FIELDENCODING_DATAVALUE;
    set.header.dataSetMessageType = UA_DATASETMESSAGE_DATAKEYFRAME;
    set.header.dataSetMessageSequenceNrEnabled = true;
    set.header.dataSetMessageSequenceNr = cycle++;
    set.header.configVersionMajorVersionEnabled = true;
    set.header.configVersionMajorVersion = 3;
    set.header.configVersionMinorVersionEnabled = true;
    set.header.configVersionMinorVersion = 4;
    set.header.timestampEnabled = true;
    set.header.timestamp = 132772419195550000; /* 2021-09-27T18:45:19.555Z */
    set.fieldCount = (UA_UInt16)count;
    set.data.keyFrameFields = values;
    UA_NetworkMessage message;
    memset(&message, 0, sizeof message);
    message.version = 1;
    message.networkMessageType = UA_NETWORKMESSAGE_DATASET;
    message.publisherIdEnabled = true;
    message.publisherId.idType = UA_PUBLISHERIDTYPE_UINT16;
    message.publisherId.id.uint16 = 2234;
    message.messageIdEnabled = true;
    message.messageId = UA_STRING("a message");
    message.payloadHeaderEnabled = true;
    message.messageCount = 1;
    message.dataSetWriterIds[0] = 62541;
    message.payload.dataSetMessages = &set;
    UA_DataSetMessage_EncodingMetaData meta = {62541, count, fields, 0};
    UA_NetworkMessage_EncodingOptions options = {1, &meta};
    UA_ByteString text = UA_BYTESTRING_NULL;
    if(code == UA_STATUSCODE_GOOD)
        code = UA_NetworkMessage_encodeJson(&message, &text, &options, NULL);
    if(code == UA_STATUSCODE_GOOD)
        printf("%.*s\n", (int)text.length, (char *)text.data);
    else
        printf("error %s\n", UA_StatusCode_name(code));
    UA_ByteString_clear(&text);
    for(size_t i = 0; i < count; i++)
        UA_DataValue_clear(&values[i]);
}

static void print_publisher(const UA_PublisherId *id) {
    switch(id->idType) {
    case UA_PUBLISHERIDTYPE_STRING:
        printf(" publisher=String:%.*s", (int)id->id.string.length, (char *)id->id.string.data);
        return;
    case UA_PUBLISHERIDTYPE_UINT64:
        printf(" publisher=UInt64:%" PRIu64, id->id.uint64);
        return;
    default:
        printf(" publisher=UInt32:%" PRIu32, id->id.uint32);
    }
}

static void decode_line(const char *line) {
    UA_ByteString text = {strcspn(line, "\n"), (UA_Byte *)(uintptr_t)line};
    UA_NetworkMessage message;
    UA_StatusCode code = UA_NetworkMessage_decodeJson(&text, &message, NULL, NULL);
    if(code != UA_STATUSCODE_GOOD) {
        printf("error %s\n", UA_StatusCode_name(code));
        return;
    }
    printf("message");
    if(message.publisherIdEnabled)
        print_publisher(&message.publisherId);
    for(size_t i = 0; i < message.messageCount; i++) {
        const UA_DataSetMessage *set = &message.payload.dataSetMessages[i];
        printf(" writer=%u", message.dataSetWriterIds[i]);
        if(set->header.dataSetMessageSequenceNrEnabled)
            printf(" sequence=%u", set->header.dataSetMessageSequenceNr);
        if(set->header.configVersionMajorVersionEnabled)
            printf(" version=%" PRIu32 ".%" PRIu32, set->header.configVersionMajorVersion,
                   set->header.configVersionMinorVersion);
        if(set->header.timestampEnabled)
            printf(" time=%" PRId64, set->header.timestamp);
        if(set->header.statusEnabled)
            printf(" status=%u", set->header.status);
        for(size_t n = 0; n < set->fieldCount; n++)
            print_hex(&set->data.keyFrameFields[n]);
    }
    printf("\n");
    UA_NetworkMessage_clear(&message);
}

static int json(UA_Boolean encodes) {
    char *line = (char *)malloc(JSON_LINE);
    if(!line)
        return 1;
    printf("READY\n");
    fflush(stdout);
    while(fgets(line, JSON_LINE, stdin)) {
        if(encodes)
            encode_line(line);
        else
            decode_line(line);
        fflush(stdout);
    }
    free(line);
    return 0;
}

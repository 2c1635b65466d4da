/* Messages of services between UA Binary and JSON, by the library's own functions: a message in binary is the NodeId of
 * its encoding and its fields, one in JSON an ExtensionObject (Part 6, 5.2.9 and 5.4.2.16).
 *
 * messages: a line `json HEX` of standard input is answered with the message in JSON, a line `binary JSON` with the
 *           message in hex. What cannot be done is answered with `error NAME`. */
#include <open62541/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE (4 << 20)

static const UA_DataType *by_encoding(const UA_NodeId *id) {
    for(size_t i = 0; i < UA_TYPES_COUNT; i++)
        if(UA_NodeId_equal(&UA_TYPES[i].binaryEncodingId, id))
            return &UA_TYPES[i];
    return NULL;
}

static UA_StatusCode from_hex(const char *hex, UA_ByteString *bytes) {
    UA_StatusCode code = UA_ByteString_allocBuffer(bytes, strlen(hex) / 2);
    for(size_t i = 0; code == UA_STATUSCODE_GOOD && i < bytes->length; i++) {
        unsigned byte;
        if(sscanf(hex + 2 * i, "%2x", &byte) != 1)
            code = UA_STATUSCODE_BADDECODINGERROR;
        bytes->data[i] = (UA_Byte)byte;
    }
    return code;
}

static void print_hex(const UA_ByteString *bytes) {
    for(size_t i = 0; i < bytes->length; i++)
        printf("%02x", bytes->data[i]);
}

static UA_StatusCode to_json(const char *hex) {
    UA_ByteString bytes = UA_BYTESTRING_NULL;
    UA_StatusCode code = from_hex(hex, &bytes);
    UA_NodeId id = UA_NODEID_NULL;
    if(code == UA_STATUSCODE_GOOD)
        code = UA_decodeBinary(&bytes, &id, &UA_TYPES[UA_TYPES_NODEID], NULL);
    const UA_DataType *type = code == UA_STATUSCODE_GOOD ? by_encoding(&id) : NULL;
    if(code == UA_STATUSCODE_GOOD && !type)
        code = UA_STATUSCODE_BADDATATYPEIDUNKNOWN;
    void *message = NULL;
    if(code == UA_STATUSCODE_GOOD && !(message = UA_new(type)))
        code = UA_STATUSCODE_BADOUTOFMEMORY;
    if(code == UA_STATUSCODE_GOOD) {
        size_t before = UA_calcSizeBinary(&id, &UA_TYPES[UA_TYPES_NODEID], NULL);
        UA_ByteString rest = {bytes.length - before, bytes.data + before};
        code = UA_decodeBinary(&rest, message, type, NULL);
    }
    if(code == UA_STATUSCODE_GOOD) {
        UA_ExtensionObject object;
        UA_ExtensionObject_setValueNoDelete(&object, message, type);
        UA_ByteString text = UA_BYTESTRING_NULL;
        code = UA_encodeJson(&object, &UA_TYPES[UA_TYPES_EXTENSIONOBJECT], &text, NULL);
        if(code == UA_STATUSCODE_GOOD)
            printf("%.*s", (int)text.length, (const char *)text.data);
        UA_ByteString_clear(&text);
    }
    if(message)
        UA_delete(message, type);
    UA_NodeId_clear(&id);
    UA_ByteString_clear(&bytes);
    return code;
}

/* The library writes fields beside UaTypeId, as 1.05 has them, and reads only those inside a UaBody: so what is around
 * the message is taken off here. */
static UA_StatusCode to_binary(char *text) {
    static const char around[] = "{\"UaTypeId\":\"i=";
    if(strncmp(text, around, sizeof around - 1) != 0)
        return UA_STATUSCODE_BADDATATYPEIDUNKNOWN;
    char *end;
    UA_NodeId id = UA_NODEID_NUMERIC(0, (UA_UInt32)strtoul(text + sizeof around - 1, &end, 10));
    const UA_DataType *type = UA_findDataType(&id);
    if(!type)
        return UA_STATUSCODE_BADDATATYPEIDUNKNOWN;
    if(*end != '"' || (end[1] != ',' && end[1] != '}'))
        return UA_STATUSCODE_BADDECODINGERROR;
    char *fields = end + 1;
    if(*fields == ',')
        *fields = '{';
    else
        *--fields = '{';
    void *message = UA_new(type);
    if(!message)
        return UA_STATUSCODE_BADOUTOFMEMORY;
    UA_ByteString json = {strlen(fields), (UA_Byte *)fields};
    UA_ByteString head = UA_BYTESTRING_NULL, body = UA_BYTESTRING_NULL;
    UA_StatusCode code = UA_decodeJson(&json, message, type, NULL);
    if(code == UA_STATUSCODE_GOOD)
        code = UA_encodeBinary(&type->binaryEncodingId, &UA_TYPES[UA_TYPES_NODEID], &head, NULL);
    if(code == UA_STATUSCODE_GOOD)
        code = UA_encodeBinary(message, type, &body, NULL);
    if(code == UA_STATUSCODE_GOOD) {
        print_hex(&head);
        print_hex(&body);
    }
    UA_ByteString_clear(&head);
    UA_ByteString_clear(&body);
    UA_delete(message, type);
    return code;
}

int main(void) {
    char *line = malloc(LINE);
    if(!line)
        return 1;
    while(fgets(line, LINE, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        UA_StatusCode code = UA_STATUSCODE_BADDECODINGERROR;
        if(rest && strncmp(line, "json ", 5) == 0)
            code = to_json(rest + 1);
        else if(rest && strncmp(line, "binary ", 7) == 0)
            code = to_binary(rest + 1);
        if(code != UA_STATUSCODE_GOOD)
            printf("error %s", UA_StatusCode_name(code));
        printf("\n");
        fflush(stdout);
    }
    free(line);
    return 0;
}

/* The bench address space on open62541: server --port P --pki DIR [--update-us U] [--strict] */
#include "identity.h"

#include <open62541/plugin/accesscontrol_default.h>
#include <open62541/plugin/certificategroup_default.h>
#include <open62541/server.h>
#include <open62541/server_config_default.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define URI "urn:uaperf:peers:open62541:server"

static volatile UA_Boolean running = true;
static UA_UInt16 ns;

static void stop(int signal) {
    (void)signal;
    running = false;
}

/* Ends the server when whoever started it is gone. */
static void *watch_stdin(void *none) {
    char buffer[256];
    while(read(STDIN_FILENO, buffer, sizeof buffer) > 0) {}
    running = false;
    return none;
}

static void check(UA_StatusCode code, const char *what) {
    if(code != UA_STATUSCODE_GOOD) {
        fprintf(stderr, "%s: %s\n", what, UA_StatusCode_name(code));
        exit(2);
    }
}

/* --- address space --- */

/* length 0 is a scalar */
static void add_variable(UA_Server *server, UA_UInt32 id, void *value, size_t length, size_t type) {
    UA_VariableAttributes attributes = UA_VariableAttributes_default;
    UA_UInt32 dimensions[1] = {(UA_UInt32)length};
    char name[16];
    snprintf(name, sizeof name, "v%u", id);
    if(length) {
        UA_Variant_setArray(&attributes.value, value, length, &UA_TYPES[type]);
        attributes.valueRank = UA_VALUERANK_ONE_DIMENSION;
        attributes.arrayDimensions = dimensions;
        attributes.arrayDimensionsSize = 1;
    } else {
        UA_Variant_setScalar(&attributes.value, value, &UA_TYPES[type]);
        attributes.valueRank = UA_VALUERANK_SCALAR;
    }
    attributes.dataType = UA_TYPES[type].typeId;
    attributes.displayName = UA_LOCALIZEDTEXT("", name);
    attributes.accessLevel = UA_ACCESSLEVELMASK_READ | UA_ACCESSLEVELMASK_WRITE;
    check(UA_Server_addVariableNode(server, UA_NODEID_NUMERIC(ns, id), UA_NODEID_NUMERIC(ns, 1),
                                    UA_NS0ID(ORGANIZES), UA_QUALIFIEDNAME(ns, name),
                                    UA_NS0ID(BASEDATAVARIABLETYPE), attributes, NULL, NULL), name);
}

static void add_object(UA_Server *server, UA_UInt32 id, UA_NodeId parent, char *name) {
    UA_ObjectAttributes attributes = UA_ObjectAttributes_default;
    attributes.displayName = UA_LOCALIZEDTEXT("", name);
    check(UA_Server_addObjectNode(server, UA_NODEID_NUMERIC(ns, id), parent, UA_NS0ID(ORGANIZES),
                                  UA_QUALIFIEDNAME(ns, name), UA_NS0ID(FOLDERTYPE), attributes,
                                  NULL, NULL), name);
}

static UA_StatusCode echo(UA_Server *server, const UA_NodeId *session, void *sessionContext,
                          const UA_NodeId *method, void *methodContext, const UA_NodeId *object,
                          void *objectContext, size_t inputs, const UA_Variant *input,
                          size_t outputs, UA_Variant *output) {
    (void)server, (void)session, (void)sessionContext, (void)method, (void)methodContext;
    (void)object, (void)objectContext, (void)inputs, (void)outputs;
    return UA_Variant_copy(input, output); /* number and types were checked by the stack */
}

static void add_method(UA_Server *server) {
    UA_Argument value;
    UA_Argument_init(&value);
    value.name = UA_STRING("value");
    value.dataType = UA_TYPES[UA_TYPES_DOUBLE].typeId;
    value.valueRank = UA_VALUERANK_SCALAR;
    UA_MethodAttributes attributes = UA_MethodAttributes_default;
    attributes.displayName = UA_LOCALIZEDTEXT("", "echo");
    attributes.executable = attributes.userExecutable = true;
    check(UA_Server_addMethodNode(server, UA_NODEID_NUMERIC(ns, 4000), UA_NODEID_NUMERIC(ns, 4001),
                                  UA_NS0ID(HASCOMPONENT), UA_QUALIFIEDNAME(ns, "echo"), attributes,
                                  echo, 1, &value, 1, &value, NULL, NULL), "echo");
}

static void fill(UA_Server *server) {
    static UA_Byte bytes[102400];
    static UA_Int16 words[512];
    const size_t lengths[] = {10, 10000, 20000, 65535, 102400};
    UA_UInt32 zero = 0;
    ns = UA_Server_addNamespace(server, "urn:bench");
    add_object(server, 1, UA_NS0ID(OBJECTSFOLDER), "bench");
    for(UA_UInt32 i = 1000; i < 1500; i++) {
        UA_Double value = i;
        add_variable(server, i, &value, 0, UA_TYPES_DOUBLE);
    }
    for(UA_UInt32 i = 1500; i < 2000; i++) {
        UA_Int32 value = (UA_Int32)i;
        add_variable(server, i, &value, 0, UA_TYPES_INT32);
    }
    for(size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (UA_Byte)k;
    for(UA_Int16 k = 0; k < 512; k++)
        words[k] = k;
    for(UA_UInt32 k = 0; k < 5; k++)
        add_variable(server, 3010 + k, bytes, lengths[k], UA_TYPES_BYTE);
    add_variable(server, 3020, words, 512, UA_TYPES_INT16);
    add_variable(server, 3030, &zero, 0, UA_TYPES_UINT32);
    add_variable(server, 3031, &zero, 0, UA_TYPES_UINT32);
    add_object(server, 4001, UA_NODEID_NUMERIC(ns, 1), "methods");
    add_method(server);
}

/* --- new values --- */

static void set(UA_Server *server, UA_UInt32 id, void *value, size_t type) {
    UA_Variant variant;
    UA_Variant_setScalar(&variant, value, &UA_TYPES[type]);
    UA_Server_writeValue(server, UA_NODEID_NUMERIC(ns, id), variant);
}

static void count_fast(UA_Server *server, void *none) {
    static UA_UInt32 n;
    (void)none;
    n++;
    set(server, 3030, &n, UA_TYPES_UINT32);
}

static void count_slow(UA_Server *server, void *none) {
    static UA_UInt32 n;
    (void)none;
    n++;
    set(server, 3031, &n, UA_TYPES_UINT32);
}

static void renew(UA_Server *server, void *none) {
    static UA_Int32 n;
    (void)none;
    n++;
    for(UA_UInt32 i = 1000; i < 1500; i++) {
        UA_Double value = (UA_Double)i + n;
        set(server, i, &value, UA_TYPES_DOUBLE);
    }
    for(UA_UInt32 i = 1500; i < 2000; i++) {
        UA_Int32 value = (UA_Int32)i + n;
        set(server, i, &value, UA_TYPES_INT32);
    }
}

/* --- configuration --- */

static size_t read_folder(const char *pki, const char *below, UA_ByteString **list) {
    char path[1024];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", pki, below);
    DIR *dir = opendir(path);
    for(struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *ending = strrchr(entry->d_name, '.');
        if(!ending || strcmp(ending, ".der") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", pki, below, entry->d_name);
        UA_ByteString cert = read_file(path);
        check(UA_Array_appendCopy((void **)list, &n, &cert, &UA_TYPES[UA_TYPES_BYTESTRING]), path);
        UA_ByteString_clear(&cert);
    }
    if(dir)
        closedir(dir);
    return n;
}

/* Both groups get a store, even an empty one: the configuration's own way takes an empty trust
 * list to mean that everybody is trusted. */
static void trust_only(UA_ServerConfig *config, const char *pki) {
    UA_TrustListDataType list;
    UA_TrustListDataType_init(&list);
    list.specifiedLists =
        UA_TRUSTLISTMASKS_TRUSTEDCERTIFICATES | UA_TRUSTLISTMASKS_ISSUERCERTIFICATES;
    list.trustedCertificatesSize = read_folder(pki, "trusted/certs", &list.trustedCertificates);
    list.issuerCertificatesSize = read_folder(pki, "issuers/certs", &list.issuerCertificates);
    UA_NodeId application =
        UA_NS0ID(SERVERCONFIGURATION_CERTIFICATEGROUPS_DEFAULTAPPLICATIONGROUP);
    UA_NodeId user = UA_NS0ID(SERVERCONFIGURATION_CERTIFICATEGROUPS_DEFAULTUSERTOKENGROUP);
    config->secureChannelPKI.clear(&config->secureChannelPKI);
    check(UA_CertificateGroup_Memorystore(&config->secureChannelPKI, &application, &list,
                                          config->logging, NULL), "trust list");
    config->sessionPKI.clear(&config->sessionPKI);
    check(UA_CertificateGroup_Memorystore(&config->sessionPKI, &user, &list, config->logging, NULL),
          "user trust list");
    UA_TrustListDataType_clear(&list);
}

/* The deprecated policies are in the library but not among its defaults. */
static void add_deprecated(UA_ServerConfig *config, const UA_ByteString *cert,
                           const UA_ByteString *key) {
    check(UA_ServerConfig_addSecurityPolicyBasic128Rsa15(config, cert, key), "Basic128Rsa15");
    check(UA_ServerConfig_addSecurityPolicyBasic256(config, cert, key), "Basic256");
    for(size_t i = config->securityPoliciesSize - 2; i < config->securityPoliciesSize; i++)
        for(int mode = UA_MESSAGESECURITYMODE_SIGN; mode <= UA_MESSAGESECURITYMODE_SIGNANDENCRYPT; mode++)
            check(UA_ServerConfig_addEndpoint(config, config->securityPolicies[i].policyUri,
                                              (UA_MessageSecurityMode)mode), "endpoint");
}

/* So are those of elliptic curves, each with a certificate of its own. */
static void add_curve(UA_ServerConfig *config, const char *pki, const char *curve,
                      UA_StatusCode (*add)(UA_ServerConfig *, const UA_ByteString *,
                                           const UA_ByteString *)) {
    UA_ByteString cert, key;
    identity_on(curve, pki, URI, &cert, &key);
    check(add(config, &cert, &key), curve);
    UA_String uri = config->securityPolicies[config->securityPoliciesSize - 1].policyUri;
    for(int mode = UA_MESSAGESECURITYMODE_SIGN; mode <= UA_MESSAGESECURITYMODE_SIGNANDENCRYPT; mode++)
        check(UA_ServerConfig_addEndpoint(config, uri, (UA_MessageSecurityMode)mode), "endpoint");
    UA_ByteString_clear(&cert);
    UA_ByteString_clear(&key);
}

static void raise_limits(UA_ServerConfig *config) {
    config->maxSecureChannels = 2000;
    config->maxSessions = 2000;
    config->maxNotificationsPerPublish = 100000; /* 0 means none at all, not "no limit" */
    config->maxPublishReqPerSession = 2000;
    config->samplingIntervalLimits.min = 5;
    config->publishingIntervalLimits.min = 5;
    config->queueSizeLimits.max = 100000;
    config->lifeTimeCountLimits.max = 100000;
}

int main(int argc, char **argv) {
    int port = 4840, update = 0;
    const char *pki = "pki";
    UA_Boolean strict = false;
    for(int i = 1; i < argc; i++) {
        if(strcmp(argv[i], "--strict") == 0)
            strict = true;
        else if(i + 1 < argc && strcmp(argv[i], "--port") == 0)
            port = atoi(argv[++i]);
        else if(i + 1 < argc && strcmp(argv[i], "--pki") == 0)
            pki = argv[++i];
        else if(i + 1 < argc && strcmp(argv[i], "--update-us") == 0)
            update = atoi(argv[++i]);
        else
            return fprintf(stderr, "unknown argument: %s\n", argv[i]), 2;
    }
    signal(SIGTERM, stop);
    signal(SIGINT, stop);

    UA_ByteString cert, key;
    identity(pki, URI, &cert, &key);
    UA_ServerConfig config;
    memset(&config, 0, sizeof config);
    config.logging = UA_Log_Stdout_new(UA_LOGLEVEL_WARNING);
    check(UA_ServerConfig_setDefaultWithSecurityPolicies(&config, (UA_UInt16)port, &cert, &key,
                                                         NULL, 0, NULL, 0, NULL, 0), "configure");
    add_deprecated(&config, &cert, &key);
    add_curve(&config, pki, "nistP256", UA_ServerConfig_addSecurityPolicyEccNistP256);
    add_curve(&config, pki, "nistP384", UA_ServerConfig_addSecurityPolicyEccNistP384);
    UA_String_clear(&config.applicationDescription.applicationUri);
    config.applicationDescription.applicationUri = certificate_uri(&cert);
    char url[64];
    snprintf(url, sizeof url, "opc.tcp://127.0.0.1:%d", port);
    UA_String_clear(&config.serverUrls[0]); /* or it listens on every interface */
    config.serverUrls[0] = UA_STRING_ALLOC(url);
    if(strict)
        trust_only(&config, pki);
    UA_UsernamePasswordLogin login = {UA_STRING_STATIC("bench"), UA_STRING_STATIC("bench")};
    check(UA_AccessControl_default(&config, true, NULL, 1, &login), "users");
    raise_limits(&config);

    UA_Server *server = UA_Server_newWithConfig(&config);
    if(!server)
        return fprintf(stderr, "no server\n"), 2;
    fill(server);
    check(UA_Server_addRepeatedCallback(server, count_fast, NULL, 100, NULL), "i=3030");
    check(UA_Server_addRepeatedCallback(server, count_slow, NULL, 1000, NULL), "i=3031");
    if(update > 0)
        check(UA_Server_addRepeatedCallback(server, renew, NULL, update / 1000.0, NULL), "update");
    check(UA_Server_run_startup(server), "start");
    printf("READY %s\n", url);
    fflush(stdout);

    pthread_t watcher;
    pthread_create(&watcher, NULL, watch_stdin, NULL);
    while(running) /* the counters wake it up at least every 100 ms */
        UA_Server_run_iterate(server, true);
    UA_Server_run_shutdown(server);
    UA_Server_delete(server);
    return 0;
}

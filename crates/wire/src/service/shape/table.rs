//! The facts: every message of Part 4, every structure in them, and the structures that
//! travel in their ExtensionObjects. One line each: name, id of the Default Binary
//! encoding, id of the DataType, fields in the order of the wire with their names, which only
//! JSON has; an array stands in brackets.
//!
//! A structure that is not here is still passed on, as the bytes it came in.

use super::line::{field, shapes};
use super::{Field, Form, Names, Otherwise, Shape};
use crate::types::{self, StatusCode};

/// The fewest bytes of each kind, reckoned when the crate is built.
pub(super) static MIN_LEN: [usize; COUNT] = {
    let mut lens = [0; COUNT];
    let mut i = 0;
    while i < COUNT {
        lens[i] = min_len(Kind::ALL[i]);
        i += 1;
    }
    lens
};

const fn min_len(kind: Kind) -> usize {
    let Form::Structure(fields) = SHAPES[kind as usize].form else {
        return built_in_min_len(kind);
    };
    let mut len = 0;
    let mut i = 0;
    while i < fields.len() {
        len += match fields[i] {
            Field::One(kind) => min_len(kind),
            Field::Many(_) => 4,
        };
        i += 1;
    }
    len
}

shapes! {
    // Part 6, table 1, in the order of their numbers: name, fewest bytes, decoded type
    built_in {
        Boolean 1 bool,
        SByte 1 i8,
        Byte 1 u8,
        Int16 2 i16,
        UInt16 2 u16,
        Int32 4 i32,
        UInt32 4 u32,
        Int64 8 i64,
        UInt64 8 u64,
        Float 4 f32,
        Double 8 f64,
        String 4 types::UAString,
        DateTime 8 types::DateTime,
        Guid 16 types::Guid,
        ByteString 4 types::ByteString,
        XmlElement 4 types::XmlElement,
        NodeId 2 types::NodeId,
        ExpandedNodeId 2 types::ExpandedNodeId,
        StatusCode 4 StatusCode,
        QualifiedName 6 types::QualifiedName,
        LocalizedText 1 types::LocalizedText,
        ExtensionObject 3 types::ExtensionObject,
        DataValue 1 types::DataValue,
        Variant 1 types::Variant,
        DiagnosticInfo 1 types::DiagnosticInfo,
        // Part 4, 7.27: a String with a form of its own
        NumericRange 4 types::NumericRange,
    }
    // name, values, what becomes of others
    enumeration {
        ApplicationType [0 1 2 3] Otherwise::Use(0),
        AxisScaleEnumeration [0 1 2] Otherwise::Refuse(StatusCode::BadDecodingError),
        BrowseDirection [0 1 2 3] Otherwise::Use(3),
        DataChangeTrigger [0 1 2] Otherwise::Refuse(StatusCode::BadMonitoredItemFilterInvalid),
        FilterOperator [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17] Otherwise::Refuse(StatusCode::BadFilterOperatorInvalid),
        HistoryUpdateType [1 2 3 4] Otherwise::Refuse(StatusCode::BadDecodingError),
        IdentityCriteriaType [1 2 3 4 5 6 7 8 9] Otherwise::Refuse(StatusCode::BadDecodingError),
        MessageSecurityMode [0 1 2 3] Otherwise::Use(0),
        MonitoringMode [0 1 2] Otherwise::Refuse(StatusCode::BadMonitoringModeInvalid),
        NodeClass [0 1 2 4 8 16 32 64 128] Otherwise::Use(0),
        PerformUpdateType [1 2 3 4] Otherwise::Refuse(StatusCode::BadHistoryOperationInvalid),
        SecurityTokenRequestType [0 1] Otherwise::Refuse(StatusCode::BadRequestTypeInvalid),
        ServerState [0 1 2 3 4 5 6 7] Otherwise::Use(7),
        SortOrderType [0 1] Otherwise::Refuse(StatusCode::BadDecodingError),
        StructureType [0 1 2 3 4] Otherwise::Refuse(StatusCode::BadDecodingError),
        TimestampsToReturn [0 1 2 3 4] Otherwise::Use(4),
        // a token of a later version is shown as IssuedToken, which no client makes by itself
        UserTokenType [0 1 2 3] Otherwise::Use(3),
    }
    // name, id of the Default Binary encoding, id of the DataType, fields
    structure {
        // Part 4, 7.33 and 7.34: headers
        RequestHeader 391 389 (
            AuthenticationToken: NodeId, Timestamp: DateTime, RequestHandle: UInt32, ReturnDiagnostics: UInt32,
            AuditEntryId: String, TimeoutHint: UInt32, AdditionalHeader: ExtensionObject
        )
        ResponseHeader 394 392 (
            Timestamp: DateTime, RequestHandle: UInt32, ServiceResult: StatusCode, ServiceDiagnostics: DiagnosticInfo,
            StringTable: [String], AdditionalHeader: ExtensionObject
        )
        // Part 4, 5.5: discovery
        FindServersRequest 422 420 (
            RequestHeader: RequestHeader, EndpointUrl: String, LocaleIds: [String], ServerUris: [String]
        )
        FindServersResponse 425 423 (ResponseHeader: ResponseHeader, Servers: [ApplicationDescription])
        ApplicationDescription 310 308 (
            ApplicationUri: String, ProductUri: String, ApplicationName: LocalizedText,
            ApplicationType: ApplicationType, GatewayServerUri: String, DiscoveryProfileUri: String,
            DiscoveryUrls: [String]
        )
        FindServersOnNetworkRequest 12208 12190 (
            RequestHeader: RequestHeader, StartingRecordId: UInt32, MaxRecordsToReturn: UInt32,
            ServerCapabilityFilter: [String]
        )
        FindServersOnNetworkResponse 12209 12191 (
            ResponseHeader: ResponseHeader, LastCounterResetTime: DateTime, Servers: [ServerOnNetwork]
        )
        ServerOnNetwork 12207 12189 (
            RecordId: UInt32, ServerName: String, DiscoveryUrl: String, ServerCapabilities: [String]
        )
        GetEndpointsRequest 428 426 (
            RequestHeader: RequestHeader, EndpointUrl: String, LocaleIds: [String], ProfileUris: [String]
        )
        GetEndpointsResponse 431 429 (ResponseHeader: ResponseHeader, Endpoints: [EndpointDescription])
        EndpointDescription 314 312 (
            EndpointUrl: String, Server: ApplicationDescription, ServerCertificate: ByteString,
            SecurityMode: MessageSecurityMode, SecurityPolicyUri: String, UserIdentityTokens: [UserTokenPolicy],
            TransportProfileUri: String, SecurityLevel: Byte
        )
        UserTokenPolicy 306 304 (
            PolicyId: String, TokenType: UserTokenType, IssuedTokenType: String, IssuerEndpointUrl: String,
            SecurityPolicyUri: String
        )
        RegisterServerRequest 437 435 (RequestHeader: RequestHeader, Server: RegisteredServer)
        RegisteredServer 434 432 (
            ServerUri: String, ProductUri: String, ServerNames: [LocalizedText], ServerType: ApplicationType,
            GatewayServerUri: String, DiscoveryUrls: [String], SemaphoreFilePath: String, IsOnline: Boolean
        )
        RegisterServerResponse 440 438 (ResponseHeader: ResponseHeader)
        RegisterServer2Request 12211 12193 (
            RequestHeader: RequestHeader, Server: RegisteredServer, DiscoveryConfiguration: [ExtensionObject]
        )
        RegisterServer2Response 12212 12194 (
            ResponseHeader: ResponseHeader, ConfigurationResults: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        // Part 4, 5.6: secure channel
        OpenSecureChannelRequest 446 444 (
            RequestHeader: RequestHeader, ClientProtocolVersion: UInt32, RequestType: SecurityTokenRequestType,
            SecurityMode: MessageSecurityMode, ClientNonce: ByteString, RequestedLifetime: UInt32
        )
        OpenSecureChannelResponse 449 447 (
            ResponseHeader: ResponseHeader, ServerProtocolVersion: UInt32, SecurityToken: ChannelSecurityToken,
            ServerNonce: ByteString
        )
        ChannelSecurityToken 443 441 (ChannelId: UInt32, TokenId: UInt32, CreatedAt: DateTime, RevisedLifetime: UInt32)
        CloseSecureChannelRequest 452 450 (RequestHeader: RequestHeader)
        CloseSecureChannelResponse 455 453 (ResponseHeader: ResponseHeader)
        // Part 4, 5.7: session
        CreateSessionRequest 461 459 (
            RequestHeader: RequestHeader, ClientDescription: ApplicationDescription, ServerUri: String,
            EndpointUrl: String, SessionName: String, ClientNonce: ByteString, ClientCertificate: ByteString,
            RequestedSessionTimeout: Double, MaxResponseMessageSize: UInt32
        )
        CreateSessionResponse 464 462 (
            ResponseHeader: ResponseHeader, SessionId: NodeId, AuthenticationToken: NodeId,
            RevisedSessionTimeout: Double, ServerNonce: ByteString, ServerCertificate: ByteString,
            ServerEndpoints: [EndpointDescription], ServerSoftwareCertificates: [SignedSoftwareCertificate],
            ServerSignature: SignatureData, MaxRequestMessageSize: UInt32
        )
        SignedSoftwareCertificate 346 344 (CertificateData: ByteString, Signature: ByteString)
        SignatureData 458 456 (Algorithm: String, Signature: ByteString)
        ActivateSessionRequest 467 465 (
            RequestHeader: RequestHeader, ClientSignature: SignatureData,
            ClientSoftwareCertificates: [SignedSoftwareCertificate], LocaleIds: [String],
            UserIdentityToken: ExtensionObject, UserTokenSignature: SignatureData
        )
        ActivateSessionResponse 470 468 (
            ResponseHeader: ResponseHeader, ServerNonce: ByteString, Results: [StatusCode],
            DiagnosticInfos: [DiagnosticInfo]
        )
        CloseSessionRequest 473 471 (RequestHeader: RequestHeader, DeleteSubscriptions: Boolean)
        CloseSessionResponse 476 474 (ResponseHeader: ResponseHeader)
        CancelRequest 479 477 (RequestHeader: RequestHeader, RequestHandle: UInt32)
        CancelResponse 482 480 (ResponseHeader: ResponseHeader, CancelCount: UInt32)
        // Part 4, 5.8: node management
        AddNodesRequest 488 486 (RequestHeader: RequestHeader, NodesToAdd: [AddNodesItem])
        AddNodesItem 378 376 (
            ParentNodeId: ExpandedNodeId, ReferenceTypeId: NodeId, RequestedNewNodeId: ExpandedNodeId,
            BrowseName: QualifiedName, NodeClass: NodeClass, NodeAttributes: ExtensionObject,
            TypeDefinition: ExpandedNodeId
        )
        AddNodesResponse 491 489 (
            ResponseHeader: ResponseHeader, Results: [AddNodesResult], DiagnosticInfos: [DiagnosticInfo]
        )
        AddNodesResult 485 483 (StatusCode: StatusCode, AddedNodeId: NodeId)
        AddReferencesRequest 494 492 (RequestHeader: RequestHeader, ReferencesToAdd: [AddReferencesItem])
        AddReferencesItem 381 379 (
            SourceNodeId: NodeId, ReferenceTypeId: NodeId, IsForward: Boolean, TargetServerUri: String,
            TargetNodeId: ExpandedNodeId, TargetNodeClass: NodeClass
        )
        AddReferencesResponse 497 495 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        DeleteNodesRequest 500 498 (RequestHeader: RequestHeader, NodesToDelete: [DeleteNodesItem])
        DeleteNodesItem 384 382 (NodeId: NodeId, DeleteTargetReferences: Boolean)
        DeleteNodesResponse 503 501 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        DeleteReferencesRequest 506 504 (RequestHeader: RequestHeader, ReferencesToDelete: [DeleteReferencesItem])
        DeleteReferencesItem 387 385 (
            SourceNodeId: NodeId, ReferenceTypeId: NodeId, IsForward: Boolean, TargetNodeId: ExpandedNodeId,
            DeleteBidirectional: Boolean
        )
        DeleteReferencesResponse 509 507 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        // Part 4, 5.9: view
        BrowseRequest 527 525 (
            RequestHeader: RequestHeader, View: ViewDescription, RequestedMaxReferencesPerNode: UInt32,
            NodesToBrowse: [BrowseDescription]
        )
        ViewDescription 513 511 (ViewId: NodeId, Timestamp: DateTime, ViewVersion: UInt32)
        BrowseDescription 516 514 (
            NodeId: NodeId, BrowseDirection: BrowseDirection, ReferenceTypeId: NodeId, IncludeSubtypes: Boolean,
            NodeClassMask: UInt32, ResultMask: UInt32
        )
        BrowseResponse 530 528 (
            ResponseHeader: ResponseHeader, Results: [BrowseResult], DiagnosticInfos: [DiagnosticInfo]
        )
        BrowseResult 524 522 (StatusCode: StatusCode, ContinuationPoint: ByteString, References: [ReferenceDescription])
        ReferenceDescription 520 518 (
            ReferenceTypeId: NodeId, IsForward: Boolean, NodeId: ExpandedNodeId, BrowseName: QualifiedName,
            DisplayName: LocalizedText, NodeClass: NodeClass, TypeDefinition: ExpandedNodeId
        )
        BrowseNextRequest 533 531 (
            RequestHeader: RequestHeader, ReleaseContinuationPoints: Boolean, ContinuationPoints: [ByteString]
        )
        BrowseNextResponse 536 534 (
            ResponseHeader: ResponseHeader, Results: [BrowseResult], DiagnosticInfos: [DiagnosticInfo]
        )
        TranslateBrowsePathsToNodeIdsRequest 554 552 (RequestHeader: RequestHeader, BrowsePaths: [BrowsePath])
        BrowsePath 545 543 (StartingNode: NodeId, RelativePath: RelativePath)
        RelativePath 542 540 (Elements: [RelativePathElement])
        RelativePathElement 539 537 (
            ReferenceTypeId: NodeId, IsInverse: Boolean, IncludeSubtypes: Boolean, TargetName: QualifiedName
        )
        TranslateBrowsePathsToNodeIdsResponse 557 555 (
            ResponseHeader: ResponseHeader, Results: [BrowsePathResult], DiagnosticInfos: [DiagnosticInfo]
        )
        BrowsePathResult 551 549 (StatusCode: StatusCode, Targets: [BrowsePathTarget])
        BrowsePathTarget 548 546 (TargetId: ExpandedNodeId, RemainingPathIndex: UInt32)
        RegisterNodesRequest 560 558 (RequestHeader: RequestHeader, NodesToRegister: [NodeId])
        RegisterNodesResponse 563 561 (ResponseHeader: ResponseHeader, RegisteredNodeIds: [NodeId])
        UnregisterNodesRequest 566 564 (RequestHeader: RequestHeader, NodesToUnregister: [NodeId])
        UnregisterNodesResponse 569 567 (ResponseHeader: ResponseHeader)
        // Part 4, 5.10: query
        QueryFirstRequest 615 613 (
            RequestHeader: RequestHeader, View: ViewDescription, NodeTypes: [NodeTypeDescription],
            Filter: ContentFilter, MaxDataSetsToReturn: UInt32, MaxReferencesToReturn: UInt32
        )
        NodeTypeDescription 575 573 (
            TypeDefinitionNode: ExpandedNodeId, IncludeSubTypes: Boolean, DataToReturn: [QueryDataDescription]
        )
        QueryDataDescription 572 570 (RelativePath: RelativePath, AttributeId: UInt32, IndexRange: NumericRange)
        ContentFilter 588 586 (Elements: [ContentFilterElement])
        ContentFilterElement 585 583 (FilterOperator: FilterOperator, FilterOperands: [ExtensionObject])
        QueryFirstResponse 618 616 (
            ResponseHeader: ResponseHeader, QueryDataSets: [QueryDataSet], ContinuationPoint: ByteString,
            ParsingResults: [ParsingResult], DiagnosticInfos: [DiagnosticInfo], FilterResult: ContentFilterResult
        )
        QueryDataSet 579 577 (NodeId: ExpandedNodeId, TypeDefinitionNode: ExpandedNodeId, Values: [Variant])
        ParsingResult 612 610 (
            StatusCode: StatusCode, DataStatusCodes: [StatusCode], DataDiagnosticInfos: [DiagnosticInfo]
        )
        ContentFilterResult 609 607 (
            ElementResults: [ContentFilterElementResult], ElementDiagnosticInfos: [DiagnosticInfo]
        )
        ContentFilterElementResult 606 604 (
            StatusCode: StatusCode, OperandStatusCodes: [StatusCode], OperandDiagnosticInfos: [DiagnosticInfo]
        )
        QueryNextRequest 621 619 (
            RequestHeader: RequestHeader, ReleaseContinuationPoint: Boolean, ContinuationPoint: ByteString
        )
        QueryNextResponse 624 622 (
            ResponseHeader: ResponseHeader, QueryDataSets: [QueryDataSet], RevisedContinuationPoint: ByteString
        )
        // Part 4, 5.11: attribute
        ReadRequest 631 629 (
            RequestHeader: RequestHeader, MaxAge: Double, TimestampsToReturn: TimestampsToReturn,
            NodesToRead: [ReadValueId]
        )
        ReadValueId 628 626 (NodeId: NodeId, AttributeId: UInt32, IndexRange: NumericRange, DataEncoding: QualifiedName)
        ReadResponse 634 632 (ResponseHeader: ResponseHeader, Results: [DataValue], DiagnosticInfos: [DiagnosticInfo])
        HistoryReadRequest 664 662 (
            RequestHeader: RequestHeader, HistoryReadDetails: ExtensionObject, TimestampsToReturn: TimestampsToReturn,
            ReleaseContinuationPoints: Boolean, NodesToRead: [HistoryReadValueId]
        )
        HistoryReadValueId 637 635 (
            NodeId: NodeId, IndexRange: NumericRange, DataEncoding: QualifiedName, ContinuationPoint: ByteString
        )
        HistoryReadResponse 667 665 (
            ResponseHeader: ResponseHeader, Results: [HistoryReadResult], DiagnosticInfos: [DiagnosticInfo]
        )
        HistoryReadResult 640 638 (StatusCode: StatusCode, ContinuationPoint: ByteString, HistoryData: ExtensionObject)
        WriteRequest 673 671 (RequestHeader: RequestHeader, NodesToWrite: [WriteValue])
        WriteValue 670 668 (NodeId: NodeId, AttributeId: UInt32, IndexRange: NumericRange, Value: DataValue)
        WriteResponse 676 674 (ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo])
        HistoryUpdateRequest 700 698 (RequestHeader: RequestHeader, HistoryUpdateDetails: [ExtensionObject])
        HistoryUpdateResponse 703 701 (
            ResponseHeader: ResponseHeader, Results: [HistoryUpdateResult], DiagnosticInfos: [DiagnosticInfo]
        )
        HistoryUpdateResult 697 695 (
            StatusCode: StatusCode, OperationResults: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        // Part 4, 5.12: method
        CallRequest 712 710 (RequestHeader: RequestHeader, MethodsToCall: [CallMethodRequest])
        CallMethodRequest 706 704 (ObjectId: NodeId, MethodId: NodeId, InputArguments: [Variant])
        CallResponse 715 713 (
            ResponseHeader: ResponseHeader, Results: [CallMethodResult], DiagnosticInfos: [DiagnosticInfo]
        )
        CallMethodResult 709 707 (
            StatusCode: StatusCode, InputArgumentResults: [StatusCode], InputArgumentDiagnosticInfos: [DiagnosticInfo],
            OutputArguments: [Variant]
        )
        // Part 4, 5.13: MonitoredItem
        CreateMonitoredItemsRequest 751 749 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, TimestampsToReturn: TimestampsToReturn,
            ItemsToCreate: [MonitoredItemCreateRequest]
        )
        MonitoredItemCreateRequest 745 743 (
            ItemToMonitor: ReadValueId, MonitoringMode: MonitoringMode, RequestedParameters: MonitoringParameters
        )
        MonitoringParameters 742 740 (
            ClientHandle: UInt32, SamplingInterval: Double, Filter: ExtensionObject, QueueSize: UInt32,
            DiscardOldest: Boolean
        )
        CreateMonitoredItemsResponse 754 752 (
            ResponseHeader: ResponseHeader, Results: [MonitoredItemCreateResult], DiagnosticInfos: [DiagnosticInfo]
        )
        MonitoredItemCreateResult 748 746 (
            StatusCode: StatusCode, MonitoredItemId: UInt32, RevisedSamplingInterval: Double, RevisedQueueSize: UInt32,
            FilterResult: ExtensionObject
        )
        ModifyMonitoredItemsRequest 763 761 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, TimestampsToReturn: TimestampsToReturn,
            ItemsToModify: [MonitoredItemModifyRequest]
        )
        MonitoredItemModifyRequest 757 755 (MonitoredItemId: UInt32, RequestedParameters: MonitoringParameters)
        ModifyMonitoredItemsResponse 766 764 (
            ResponseHeader: ResponseHeader, Results: [MonitoredItemModifyResult], DiagnosticInfos: [DiagnosticInfo]
        )
        MonitoredItemModifyResult 760 758 (
            StatusCode: StatusCode, RevisedSamplingInterval: Double, RevisedQueueSize: UInt32,
            FilterResult: ExtensionObject
        )
        SetMonitoringModeRequest 769 767 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, MonitoringMode: MonitoringMode,
            MonitoredItemIds: [UInt32]
        )
        SetMonitoringModeResponse 772 770 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        SetTriggeringRequest 775 773 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, TriggeringItemId: UInt32, LinksToAdd: [UInt32],
            LinksToRemove: [UInt32]
        )
        SetTriggeringResponse 778 776 (
            ResponseHeader: ResponseHeader, AddResults: [StatusCode], AddDiagnosticInfos: [DiagnosticInfo],
            RemoveResults: [StatusCode], RemoveDiagnosticInfos: [DiagnosticInfo]
        )
        DeleteMonitoredItemsRequest 781 779 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, MonitoredItemIds: [UInt32]
        )
        DeleteMonitoredItemsResponse 784 782 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        // Part 4, 5.14: Subscription
        CreateSubscriptionRequest 787 785 (
            RequestHeader: RequestHeader, RequestedPublishingInterval: Double, RequestedLifetimeCount: UInt32,
            RequestedMaxKeepAliveCount: UInt32, MaxNotificationsPerPublish: UInt32, PublishingEnabled: Boolean,
            Priority: Byte
        )
        CreateSubscriptionResponse 790 788 (
            ResponseHeader: ResponseHeader, SubscriptionId: UInt32, RevisedPublishingInterval: Double,
            RevisedLifetimeCount: UInt32, RevisedMaxKeepAliveCount: UInt32
        )
        ModifySubscriptionRequest 793 791 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, RequestedPublishingInterval: Double,
            RequestedLifetimeCount: UInt32, RequestedMaxKeepAliveCount: UInt32, MaxNotificationsPerPublish: UInt32,
            Priority: Byte
        )
        ModifySubscriptionResponse 796 794 (
            ResponseHeader: ResponseHeader, RevisedPublishingInterval: Double, RevisedLifetimeCount: UInt32,
            RevisedMaxKeepAliveCount: UInt32
        )
        SetPublishingModeRequest 799 797 (
            RequestHeader: RequestHeader, PublishingEnabled: Boolean, SubscriptionIds: [UInt32]
        )
        SetPublishingModeResponse 802 800 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        PublishRequest 826 824 (
            RequestHeader: RequestHeader, SubscriptionAcknowledgements: [SubscriptionAcknowledgement]
        )
        SubscriptionAcknowledgement 823 821 (SubscriptionId: UInt32, SequenceNumber: UInt32)
        PublishResponse 829 827 (
            ResponseHeader: ResponseHeader, SubscriptionId: UInt32, AvailableSequenceNumbers: [UInt32],
            MoreNotifications: Boolean, NotificationMessage: NotificationMessage, Results: [StatusCode],
            DiagnosticInfos: [DiagnosticInfo]
        )
        NotificationMessage 805 803 (SequenceNumber: UInt32, PublishTime: DateTime, NotificationData: [ExtensionObject])
        RepublishRequest 832 830 (
            RequestHeader: RequestHeader, SubscriptionId: UInt32, RetransmitSequenceNumber: UInt32
        )
        RepublishResponse 835 833 (ResponseHeader: ResponseHeader, NotificationMessage: NotificationMessage)
        TransferSubscriptionsRequest 841 839 (
            RequestHeader: RequestHeader, SubscriptionIds: [UInt32], SendInitialValues: Boolean
        )
        TransferSubscriptionsResponse 844 842 (
            ResponseHeader: ResponseHeader, Results: [TransferResult], DiagnosticInfos: [DiagnosticInfo]
        )
        TransferResult 838 836 (StatusCode: StatusCode, AvailableSequenceNumbers: [UInt32])
        DeleteSubscriptionsRequest 847 845 (RequestHeader: RequestHeader, SubscriptionIds: [UInt32])
        DeleteSubscriptionsResponse 850 848 (
            ResponseHeader: ResponseHeader, Results: [StatusCode], DiagnosticInfos: [DiagnosticInfo]
        )
        ServiceFault 397 395 (ResponseHeader: ResponseHeader)
        // Part 4, 7.40: user identity tokens
        AnonymousIdentityToken 321 319 (PolicyId: String)
        UserNameIdentityToken 324 322 (
            PolicyId: String, UserName: String, Password: ByteString, EncryptionAlgorithm: String
        )
        X509IdentityToken 327 325 (PolicyId: String, CertificateData: ByteString)
        IssuedIdentityToken 940 938 (PolicyId: String, TokenData: ByteString, EncryptionAlgorithm: String)
        // Part 4, 7.1: additional headers
        AdditionalParametersType 17537 16313 (Parameters: [KeyValuePair])
        KeyValuePair 14846 14533 (Key: QualifiedName, Value: Variant)
        EphemeralKeyType 17549 17548 (PublicKey: ByteString, Signature: ByteString)
        // Part 4, 7.13: discovery configuration
        MdnsDiscoveryConfiguration 12901 12891 (MdnsServerName: String, ServerCapabilities: [String])
        // Part 4, 7.24: node attributes
        ObjectAttributes 354 352 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, EventNotifier: Byte
        )
        VariableAttributes 357 355 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, Value: Variant, DataType: NodeId, ValueRank: Int32, ArrayDimensions: [UInt32],
            AccessLevel: Byte, UserAccessLevel: Byte, MinimumSamplingInterval: Double, Historizing: Boolean
        )
        MethodAttributes 360 358 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, Executable: Boolean, UserExecutable: Boolean
        )
        ObjectTypeAttributes 363 361 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, IsAbstract: Boolean
        )
        VariableTypeAttributes 366 364 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, Value: Variant, DataType: NodeId, ValueRank: Int32, ArrayDimensions: [UInt32],
            IsAbstract: Boolean
        )
        ReferenceTypeAttributes 369 367 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, IsAbstract: Boolean, Symmetric: Boolean, InverseName: LocalizedText
        )
        DataTypeAttributes 372 370 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, IsAbstract: Boolean
        )
        ViewAttributes 375 373 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, ContainsNoLoops: Boolean, EventNotifier: Byte
        )
        GenericAttributes 17611 17607 (
            SpecifiedAttributes: UInt32, DisplayName: LocalizedText, Description: LocalizedText, WriteMask: UInt32,
            UserWriteMask: UInt32, AttributeValues: [GenericAttributeValue]
        )
        GenericAttributeValue 17610 17606 (AttributeId: UInt32, Value: Variant)
        // Part 4, 7.7 and 7.22: filters
        DataChangeFilter 724 722 (Trigger: DataChangeTrigger, DeadbandType: UInt32, DeadbandValue: Double)
        EventFilter 727 725 (SelectClauses: [SimpleAttributeOperand], WhereClause: ContentFilter)
        SimpleAttributeOperand 603 601 (
            TypeDefinitionId: NodeId, BrowsePath: [QualifiedName], AttributeId: UInt32, IndexRange: NumericRange
        )
        AggregateFilter 730 728 (
            StartTime: DateTime, AggregateType: NodeId, ProcessingInterval: Double,
            AggregateConfiguration: AggregateConfiguration
        )
        AggregateConfiguration 950 948 (
            UseServerCapabilitiesDefaults: Boolean, TreatUncertainAsBad: Boolean, PercentDataBad: Byte,
            PercentDataGood: Byte, UseSlopedExtrapolation: Boolean
        )
        EventFilterResult 736 734 (
            SelectClauseResults: [StatusCode], SelectClauseDiagnosticInfos: [DiagnosticInfo],
            WhereClauseResult: ContentFilterResult
        )
        AggregateFilterResult 739 737 (
            RevisedStartTime: DateTime, RevisedProcessingInterval: Double,
            RevisedAggregateConfiguration: AggregateConfiguration
        )
        ElementOperand 594 592 (Index: UInt32)
        LiteralOperand 597 595 (Value: Variant)
        AttributeOperand 600 598 (
            NodeId: NodeId, Alias: String, BrowsePath: RelativePath, AttributeId: UInt32, IndexRange: NumericRange
        )
        // Part 4, 7.25: notifications
        DataChangeNotification 811 809 (MonitoredItems: [MonitoredItemNotification], DiagnosticInfos: [DiagnosticInfo])
        MonitoredItemNotification 808 806 (ClientHandle: UInt32, Value: DataValue)
        EventNotificationList 916 914 (Events: [EventFieldList])
        EventFieldList 919 917 (ClientHandle: UInt32, EventFields: [Variant])
        StatusChangeNotification 820 818 (Status: StatusCode, DiagnosticInfo: DiagnosticInfo)
        // Part 11: history
        ReadEventDetails 646 644 (NumValuesPerNode: UInt32, StartTime: DateTime, EndTime: DateTime, Filter: EventFilter)
        ReadEventDetails2 32800 32799 (
            NumValuesPerNode: UInt32, StartTime: DateTime, EndTime: DateTime, Filter: EventFilter, ReadModified: Boolean
        )
        ReadEventDetailsSorted 18651 18649 (
            NumValuesPerNode: UInt32, StartTime: DateTime, EndTime: DateTime, Filter: EventFilter,
            SortClause: [SortRuleElement]
        )
        SortRuleElement 18650 18648 (SortOrder: SortOrderType, EventField: SimpleAttributeOperand)
        ReadRawModifiedDetails 649 647 (
            IsReadModified: Boolean, StartTime: DateTime, EndTime: DateTime, NumValuesPerNode: UInt32,
            ReturnBounds: Boolean
        )
        ReadProcessedDetails 652 650 (
            StartTime: DateTime, EndTime: DateTime, ProcessingInterval: Double, AggregateType: [NodeId],
            AggregateConfiguration: AggregateConfiguration
        )
        ReadAtTimeDetails 655 653 (ReqTimes: [DateTime], UseSimpleBounds: Boolean)
        ReadAnnotationDataDetails 23500 23497 (ReqTimes: [DateTime])
        HistoryData 658 656 (DataValues: [DataValue])
        HistoryModifiedData 11227 11217 (DataValues: [DataValue], ModificationInfos: [ModificationInfo])
        ModificationInfo 11226 11216 (ModificationTime: DateTime, UpdateType: HistoryUpdateType, UserName: String)
        HistoryEvent 661 659 (Events: [HistoryEventFieldList])
        HistoryEventFieldList 922 920 (EventFields: [Variant])
        HistoryModifiedEvent 32825 32824 (Events: [HistoryEventFieldList], ModificationInfos: [ModificationInfo])
        UpdateDataDetails 682 680 (NodeId: NodeId, PerformInsertReplace: PerformUpdateType, UpdateValues: [DataValue])
        UpdateStructureDataDetails 11300 11295 (
            NodeId: NodeId, PerformInsertReplace: PerformUpdateType, UpdateValues: [DataValue]
        )
        UpdateEventDetails 685 683 (
            NodeId: NodeId, PerformInsertReplace: PerformUpdateType, Filter: EventFilter,
            EventData: [HistoryEventFieldList]
        )
        DeleteRawModifiedDetails 688 686 (
            NodeId: NodeId, IsDeleteModified: Boolean, StartTime: DateTime, EndTime: DateTime
        )
        DeleteAtTimeDetails 691 689 (NodeId: NodeId, ReqTimes: [DateTime])
        DeleteEventDetails 694 692 (NodeId: NodeId, EventIds: [ByteString])
        // Parts 3, 5, 8, 10, 12: values of common variables
        Argument 298 296 (
            Name: String, DataType: NodeId, ValueRank: Int32, ArrayDimensions: [UInt32], Description: LocalizedText
        )
        EnumValueType 8251 7594 (Value: Int64, DisplayName: LocalizedText, Description: LocalizedText)
        EnumDefinition 123 100 (Fields: [EnumField])
        EnumField 14845 102 (Value: Int64, DisplayName: LocalizedText, Description: LocalizedText, Name: String)
        StructureDefinition 122 99 (
            DefaultEncodingId: NodeId, BaseDataType: NodeId, StructureType: StructureType, Fields: [StructureField]
        )
        StructureField 14844 101 (
            Name: String, Description: LocalizedText, DataType: NodeId, ValueRank: Int32, ArrayDimensions: [UInt32],
            MaxStringLength: UInt32, IsOptional: Boolean
        )
        Range 886 884 (Low: Double, High: Double)
        EUInformation 889 887 (
            NamespaceUri: String, UnitId: Int32, DisplayName: LocalizedText, Description: LocalizedText
        )
        AxisInformation 12089 12079 (
            EngineeringUnits: EUInformation, EURange: Range, Title: LocalizedText, AxisScaleType: AxisScaleEnumeration,
            AxisSteps: [Double]
        )
        XVType 12090 12080 (X: Double, Value: Float)
        ComplexNumberType 12181 12171 (Real: Float, Imaginary: Float)
        DoubleComplexNumberType 12182 12172 (Real: Double, Imaginary: Double)
        BuildInfo 340 338 (
            ProductUri: String, ManufacturerName: String, ProductName: String, SoftwareVersion: String,
            BuildNumber: String, BuildDate: DateTime
        )
        ServerStatusDataType 864 862 (
            StartTime: DateTime, CurrentTime: DateTime, State: ServerState, BuildInfo: BuildInfo,
            SecondsTillShutdown: UInt32, ShutdownReason: LocalizedText
        )
        ServerDiagnosticsSummaryDataType 861 859 (
            ServerViewCount: UInt32, CurrentSessionCount: UInt32, CumulatedSessionCount: UInt32,
            SecurityRejectedSessionCount: UInt32, RejectedSessionCount: UInt32, SessionTimeoutCount: UInt32,
            SessionAbortCount: UInt32, CurrentSubscriptionCount: UInt32, CumulatedSubscriptionCount: UInt32,
            PublishingIntervalCount: UInt32, SecurityRejectedRequestsCount: UInt32, RejectedRequestsCount: UInt32
        )
        SamplingIntervalDiagnosticsDataType 858 856 (
            SamplingInterval: Double, MonitoredItemCount: UInt32, MaxMonitoredItemCount: UInt32,
            DisabledMonitoredItemCount: UInt32
        )
        SessionDiagnosticsDataType 867 865 (
            SessionId: NodeId, SessionName: String, ClientDescription: ApplicationDescription, ServerUri: String,
            EndpointUrl: String, LocaleIds: [String], ActualSessionTimeout: Double, MaxResponseMessageSize: UInt32,
            ClientConnectionTime: DateTime, ClientLastContactTime: DateTime, CurrentSubscriptionsCount: UInt32,
            CurrentMonitoredItemsCount: UInt32, CurrentPublishRequestsInQueue: UInt32,
            TotalRequestCount: ServiceCounterDataType, UnauthorizedRequestCount: UInt32,
            ReadCount: ServiceCounterDataType, HistoryReadCount: ServiceCounterDataType,
            WriteCount: ServiceCounterDataType, HistoryUpdateCount: ServiceCounterDataType,
            CallCount: ServiceCounterDataType, CreateMonitoredItemsCount: ServiceCounterDataType,
            ModifyMonitoredItemsCount: ServiceCounterDataType, SetMonitoringModeCount: ServiceCounterDataType,
            SetTriggeringCount: ServiceCounterDataType, DeleteMonitoredItemsCount: ServiceCounterDataType,
            CreateSubscriptionCount: ServiceCounterDataType, ModifySubscriptionCount: ServiceCounterDataType,
            SetPublishingModeCount: ServiceCounterDataType, PublishCount: ServiceCounterDataType,
            RepublishCount: ServiceCounterDataType, TransferSubscriptionsCount: ServiceCounterDataType,
            DeleteSubscriptionsCount: ServiceCounterDataType, AddNodesCount: ServiceCounterDataType,
            AddReferencesCount: ServiceCounterDataType, DeleteNodesCount: ServiceCounterDataType,
            DeleteReferencesCount: ServiceCounterDataType, BrowseCount: ServiceCounterDataType,
            BrowseNextCount: ServiceCounterDataType, TranslateBrowsePathsToNodeIdsCount: ServiceCounterDataType,
            QueryFirstCount: ServiceCounterDataType, QueryNextCount: ServiceCounterDataType,
            RegisterNodesCount: ServiceCounterDataType, UnregisterNodesCount: ServiceCounterDataType
        )
        ServiceCounterDataType 873 871 (TotalCount: UInt32, ErrorCount: UInt32)
        SessionSecurityDiagnosticsDataType 870 868 (
            SessionId: NodeId, ClientUserIdOfSession: String, ClientUserIdHistory: [String],
            AuthenticationMechanism: String, Encoding: String, TransportProtocol: String,
            SecurityMode: MessageSecurityMode, SecurityPolicyUri: String, ClientCertificate: ByteString
        )
        SubscriptionDiagnosticsDataType 876 874 (
            SessionId: NodeId, SubscriptionId: UInt32, Priority: Byte, PublishingInterval: Double,
            MaxKeepAliveCount: UInt32, MaxLifetimeCount: UInt32, MaxNotificationsPerPublish: UInt32,
            PublishingEnabled: Boolean, ModifyCount: UInt32, EnableCount: UInt32, DisableCount: UInt32,
            RepublishRequestCount: UInt32, RepublishMessageRequestCount: UInt32, RepublishMessageCount: UInt32,
            TransferRequestCount: UInt32, TransferredToAltClientCount: UInt32, TransferredToSameClientCount: UInt32,
            PublishRequestCount: UInt32, DataChangeNotificationsCount: UInt32, EventNotificationsCount: UInt32,
            NotificationsCount: UInt32, LatePublishRequestCount: UInt32, CurrentKeepAliveCount: UInt32,
            CurrentLifetimeCount: UInt32, UnacknowledgedMessageCount: UInt32, DiscardedMessageCount: UInt32,
            MonitoredItemCount: UInt32, DisabledMonitoredItemCount: UInt32, MonitoringQueueOverflowCount: UInt32,
            NextSequenceNumber: UInt32, EventQueueOverflowCount: UInt32
        )
        ModelChangeStructureDataType 879 877 (Affected: NodeId, AffectedType: NodeId, Verb: Byte)
        SemanticChangeStructureDataType 899 897 (Affected: NodeId, AffectedType: NodeId)
        RedundantServerDataType 855 853 (ServerId: String, ServiceLevel: Byte, ServerState: ServerState)
        EndpointUrlListDataType 11957 11943 (EndpointUrlList: [String])
        NetworkGroupDataType 11958 11944 (ServerUri: String, NetworkPaths: [EndpointUrlListDataType])
        TimeZoneDataType 8917 8912 (Offset: Int16, DaylightSavingInOffset: Boolean)
        StatusResult 301 299 (StatusCode: StatusCode, DiagnosticInfo: DiagnosticInfo)
        Annotation 893 891 (Message: String, UserName: String, AnnotationTime: DateTime)
        RolePermissionType 128 96 (RoleId: NodeId, Permissions: Int32)
        IdentityMappingRuleType 15736 15634 (CriteriaType: IdentityCriteriaType, Criteria: String)
        ProgramDiagnosticDataType 896 894 (
            CreateSessionId: NodeId, CreateClientName: String, InvocationCreationTime: DateTime,
            LastTransitionTime: DateTime, LastMethodCall: String, LastMethodSessionId: NodeId,
            LastMethodInputArguments: [Argument], LastMethodOutputArguments: [Argument], LastMethodCallTime: DateTime,
            LastMethodReturnStatus: StatusResult
        )
        ProgramDiagnostic2DataType 24034 24033 (
            CreateSessionId: NodeId, CreateClientName: String, InvocationCreationTime: DateTime,
            LastTransitionTime: DateTime, LastMethodCall: String, LastMethodSessionId: NodeId,
            LastMethodInputArguments: [Argument], LastMethodOutputArguments: [Argument],
            LastMethodInputValues: [Variant], LastMethodOutputValues: [Variant], LastMethodCallTime: DateTime,
            LastMethodReturnStatus: StatusCode
        )
        DecimalDataType 17863 17861 (Scale: Int16, Value: ByteString)
        TrustListDataType 12680 12554 (
            SpecifiedLists: UInt32, TrustedCertificates: [ByteString], TrustedCrls: [ByteString],
            IssuerCertificates: [ByteString], IssuerCrls: [ByteString]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_structure_has_a_name_for_each_field_and_a_type_of_its_own() {
        for &kind in Kind::ALL {
            let Form::Structure(fields) = kind.shape().form else {
                assert_eq!(kind.names(), None, "{kind:?}");
                continue;
            };
            let names = kind.names().unwrap();
            assert_eq!(names.fields.len(), fields.len(), "{kind:?}");
            assert_eq!(Kind::from_data_type(names.data_type), Some(kind));
            let type_id = types::DataTypeId::try_from(names.data_type).unwrap();
            assert_eq!(format!("{type_id:?}"), kind.name());
        }
    }

    #[test]
    fn each_value_of_an_enumeration_has_a_name() {
        for &kind in Kind::ALL {
            if let Form::Enumeration(values, _) = kind.shape().form {
                for &value in values {
                    assert!(kind.value_name(value).is_some(), "{kind:?} {value}");
                }
            }
        }
        let name = Kind::MessageSecurityMode.value_name(3);
        assert_eq!(name.as_deref(), Some("SignAndEncrypt"));
    }
}

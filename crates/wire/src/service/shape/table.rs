//! The facts: every message of Part 4, every structure in them, and the structures that
//! travel in their ExtensionObjects. One line each: name, id of the Default Binary
//! encoding, fields in the order of the wire; an array stands in brackets.
//!
//! A structure that is not here is still passed on, as the bytes it came in.

use super::{Field, Form, Otherwise, Shape};
use crate::types::{self, StatusCode};

macro_rules! field {
    ([$kind:ident]) => {
        Field::Many(Kind::$kind)
    };
    ($kind:ident) => {
        Field::One(Kind::$kind)
    };
}

macro_rules! shapes {
    (
        built_in { $($built_in:ident $least:literal $decoded:ty,)* }
        enumeration { $($enumeration:ident [$($value:literal)*] $otherwise:expr,)* }
        structure { $($structure:ident $id:literal ($($field:tt)*))* }
    ) => {
        /// A kind of value that the table knows, named as in the specification.
        #[allow(missing_docs, reason = "the names are those of the specification")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Kind {
            $($built_in,)*
            $($enumeration,)*
            $($structure,)*
        }

        const COUNT: usize = Kind::ALL.len();

        const SHAPES: [Shape; COUNT] = [
            $(Shape {
                name: stringify!($built_in),
                encoding_id: 0,
                form: Form::BuiltIn,
                size: size_of::<$decoded>(),
            },)*
            $(Shape {
                name: stringify!($enumeration),
                encoding_id: 0,
                form: Form::Enumeration(&[$($value),*], $otherwise),
                size: size_of::<types::$enumeration>(),
            },)*
            $(Shape {
                name: stringify!($structure),
                encoding_id: $id,
                form: Form::Structure(&[$(field!($field)),*]),
                size: size_of::<types::$structure>(),
            },)*
        ];

        static TABLE: [Shape; COUNT] = SHAPES;

        const fn built_in_min_len(kind: Kind) -> usize {
            match kind {
                $(Kind::$built_in => $least,)*
                _ => 4,
            }
        }

        impl Kind {
            /// Every kind of the table.
            pub const ALL: &[Kind] = &[
                $(Kind::$built_in,)*
                $(Kind::$enumeration,)*
                $(Kind::$structure,)*
            ];

            /// The line of the table.
            pub const fn shape(self) -> &'static Shape {
                &TABLE[self as usize]
            }

            /// The structure whose Default Binary encoding has this id in namespace 0.
            pub fn from_encoding_id(id: u32) -> Option<Kind> {
                match id {
                    $($id => Some(Kind::$structure),)*
                    _ => None,
                }
            }
        }
    };
}

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
    structure {
        // Part 4, 7.33 and 7.34: headers
        RequestHeader 391 (NodeId DateTime UInt32 UInt32 String UInt32 ExtensionObject)
        ResponseHeader 394 (DateTime UInt32 StatusCode DiagnosticInfo [String] ExtensionObject)
        // Part 4, 5.5: discovery
        FindServersRequest 422 (RequestHeader String [String] [String])
        FindServersResponse 425 (ResponseHeader [ApplicationDescription])
        ApplicationDescription 310 (String String LocalizedText ApplicationType String String [String])
        FindServersOnNetworkRequest 12208 (RequestHeader UInt32 UInt32 [String])
        FindServersOnNetworkResponse 12209 (ResponseHeader DateTime [ServerOnNetwork])
        ServerOnNetwork 12207 (UInt32 String String [String])
        GetEndpointsRequest 428 (RequestHeader String [String] [String])
        GetEndpointsResponse 431 (ResponseHeader [EndpointDescription])
        EndpointDescription 314 (
            String ApplicationDescription ByteString MessageSecurityMode String [UserTokenPolicy] String Byte
        )
        UserTokenPolicy 306 (String UserTokenType String String String)
        RegisterServerRequest 437 (RequestHeader RegisteredServer)
        RegisteredServer 434 (String String [LocalizedText] ApplicationType String [String] String Boolean)
        RegisterServerResponse 440 (ResponseHeader)
        RegisterServer2Request 12211 (RequestHeader RegisteredServer [ExtensionObject])
        RegisterServer2Response 12212 (ResponseHeader [StatusCode] [DiagnosticInfo])
        // Part 4, 5.6: secure channel
        OpenSecureChannelRequest 446 (
            RequestHeader UInt32 SecurityTokenRequestType MessageSecurityMode ByteString UInt32
        )
        OpenSecureChannelResponse 449 (ResponseHeader UInt32 ChannelSecurityToken ByteString)
        ChannelSecurityToken 443 (UInt32 UInt32 DateTime UInt32)
        CloseSecureChannelRequest 452 (RequestHeader)
        CloseSecureChannelResponse 455 (ResponseHeader)
        // Part 4, 5.7: session
        CreateSessionRequest 461 (
            RequestHeader ApplicationDescription String String String ByteString ByteString Double UInt32
        )
        CreateSessionResponse 464 (
            ResponseHeader NodeId NodeId Double ByteString ByteString [EndpointDescription]
            [SignedSoftwareCertificate] SignatureData UInt32
        )
        SignedSoftwareCertificate 346 (ByteString ByteString)
        SignatureData 458 (String ByteString)
        ActivateSessionRequest 467 (
            RequestHeader SignatureData [SignedSoftwareCertificate] [String] ExtensionObject SignatureData
        )
        ActivateSessionResponse 470 (ResponseHeader ByteString [StatusCode] [DiagnosticInfo])
        CloseSessionRequest 473 (RequestHeader Boolean)
        CloseSessionResponse 476 (ResponseHeader)
        CancelRequest 479 (RequestHeader UInt32)
        CancelResponse 482 (ResponseHeader UInt32)
        // Part 4, 5.8: node management
        AddNodesRequest 488 (RequestHeader [AddNodesItem])
        AddNodesItem 378 (ExpandedNodeId NodeId ExpandedNodeId QualifiedName NodeClass ExtensionObject ExpandedNodeId)
        AddNodesResponse 491 (ResponseHeader [AddNodesResult] [DiagnosticInfo])
        AddNodesResult 485 (StatusCode NodeId)
        AddReferencesRequest 494 (RequestHeader [AddReferencesItem])
        AddReferencesItem 381 (NodeId NodeId Boolean String ExpandedNodeId NodeClass)
        AddReferencesResponse 497 (ResponseHeader [StatusCode] [DiagnosticInfo])
        DeleteNodesRequest 500 (RequestHeader [DeleteNodesItem])
        DeleteNodesItem 384 (NodeId Boolean)
        DeleteNodesResponse 503 (ResponseHeader [StatusCode] [DiagnosticInfo])
        DeleteReferencesRequest 506 (RequestHeader [DeleteReferencesItem])
        DeleteReferencesItem 387 (NodeId NodeId Boolean ExpandedNodeId Boolean)
        DeleteReferencesResponse 509 (ResponseHeader [StatusCode] [DiagnosticInfo])
        // Part 4, 5.9: view
        BrowseRequest 527 (RequestHeader ViewDescription UInt32 [BrowseDescription])
        ViewDescription 513 (NodeId DateTime UInt32)
        BrowseDescription 516 (NodeId BrowseDirection NodeId Boolean UInt32 UInt32)
        BrowseResponse 530 (ResponseHeader [BrowseResult] [DiagnosticInfo])
        BrowseResult 524 (StatusCode ByteString [ReferenceDescription])
        ReferenceDescription 520 (NodeId Boolean ExpandedNodeId QualifiedName LocalizedText NodeClass ExpandedNodeId)
        BrowseNextRequest 533 (RequestHeader Boolean [ByteString])
        BrowseNextResponse 536 (ResponseHeader [BrowseResult] [DiagnosticInfo])
        TranslateBrowsePathsToNodeIdsRequest 554 (RequestHeader [BrowsePath])
        BrowsePath 545 (NodeId RelativePath)
        RelativePath 542 ([RelativePathElement])
        RelativePathElement 539 (NodeId Boolean Boolean QualifiedName)
        TranslateBrowsePathsToNodeIdsResponse 557 (ResponseHeader [BrowsePathResult] [DiagnosticInfo])
        BrowsePathResult 551 (StatusCode [BrowsePathTarget])
        BrowsePathTarget 548 (ExpandedNodeId UInt32)
        RegisterNodesRequest 560 (RequestHeader [NodeId])
        RegisterNodesResponse 563 (ResponseHeader [NodeId])
        UnregisterNodesRequest 566 (RequestHeader [NodeId])
        UnregisterNodesResponse 569 (ResponseHeader)
        // Part 4, 5.10: query
        QueryFirstRequest 615 (RequestHeader ViewDescription [NodeTypeDescription] ContentFilter UInt32 UInt32)
        NodeTypeDescription 575 (ExpandedNodeId Boolean [QueryDataDescription])
        QueryDataDescription 572 (RelativePath UInt32 NumericRange)
        ContentFilter 588 ([ContentFilterElement])
        ContentFilterElement 585 (FilterOperator [ExtensionObject])
        QueryFirstResponse 618 (
            ResponseHeader [QueryDataSet] ByteString [ParsingResult] [DiagnosticInfo] ContentFilterResult
        )
        QueryDataSet 579 (ExpandedNodeId ExpandedNodeId [Variant])
        ParsingResult 612 (StatusCode [StatusCode] [DiagnosticInfo])
        ContentFilterResult 609 ([ContentFilterElementResult] [DiagnosticInfo])
        ContentFilterElementResult 606 (StatusCode [StatusCode] [DiagnosticInfo])
        QueryNextRequest 621 (RequestHeader Boolean ByteString)
        QueryNextResponse 624 (ResponseHeader [QueryDataSet] ByteString)
        // Part 4, 5.11: attribute
        ReadRequest 631 (RequestHeader Double TimestampsToReturn [ReadValueId])
        ReadValueId 628 (NodeId UInt32 NumericRange QualifiedName)
        ReadResponse 634 (ResponseHeader [DataValue] [DiagnosticInfo])
        HistoryReadRequest 664 (RequestHeader ExtensionObject TimestampsToReturn Boolean [HistoryReadValueId])
        HistoryReadValueId 637 (NodeId NumericRange QualifiedName ByteString)
        HistoryReadResponse 667 (ResponseHeader [HistoryReadResult] [DiagnosticInfo])
        HistoryReadResult 640 (StatusCode ByteString ExtensionObject)
        WriteRequest 673 (RequestHeader [WriteValue])
        WriteValue 670 (NodeId UInt32 NumericRange DataValue)
        WriteResponse 676 (ResponseHeader [StatusCode] [DiagnosticInfo])
        HistoryUpdateRequest 700 (RequestHeader [ExtensionObject])
        HistoryUpdateResponse 703 (ResponseHeader [HistoryUpdateResult] [DiagnosticInfo])
        HistoryUpdateResult 697 (StatusCode [StatusCode] [DiagnosticInfo])
        // Part 4, 5.12: method
        CallRequest 712 (RequestHeader [CallMethodRequest])
        CallMethodRequest 706 (NodeId NodeId [Variant])
        CallResponse 715 (ResponseHeader [CallMethodResult] [DiagnosticInfo])
        CallMethodResult 709 (StatusCode [StatusCode] [DiagnosticInfo] [Variant])
        // Part 4, 5.13: MonitoredItem
        CreateMonitoredItemsRequest 751 (RequestHeader UInt32 TimestampsToReturn [MonitoredItemCreateRequest])
        MonitoredItemCreateRequest 745 (ReadValueId MonitoringMode MonitoringParameters)
        MonitoringParameters 742 (UInt32 Double ExtensionObject UInt32 Boolean)
        CreateMonitoredItemsResponse 754 (ResponseHeader [MonitoredItemCreateResult] [DiagnosticInfo])
        MonitoredItemCreateResult 748 (StatusCode UInt32 Double UInt32 ExtensionObject)
        ModifyMonitoredItemsRequest 763 (RequestHeader UInt32 TimestampsToReturn [MonitoredItemModifyRequest])
        MonitoredItemModifyRequest 757 (UInt32 MonitoringParameters)
        ModifyMonitoredItemsResponse 766 (ResponseHeader [MonitoredItemModifyResult] [DiagnosticInfo])
        MonitoredItemModifyResult 760 (StatusCode Double UInt32 ExtensionObject)
        SetMonitoringModeRequest 769 (RequestHeader UInt32 MonitoringMode [UInt32])
        SetMonitoringModeResponse 772 (ResponseHeader [StatusCode] [DiagnosticInfo])
        SetTriggeringRequest 775 (RequestHeader UInt32 UInt32 [UInt32] [UInt32])
        SetTriggeringResponse 778 (ResponseHeader [StatusCode] [DiagnosticInfo] [StatusCode] [DiagnosticInfo])
        DeleteMonitoredItemsRequest 781 (RequestHeader UInt32 [UInt32])
        DeleteMonitoredItemsResponse 784 (ResponseHeader [StatusCode] [DiagnosticInfo])
        // Part 4, 5.14: Subscription
        CreateSubscriptionRequest 787 (RequestHeader Double UInt32 UInt32 UInt32 Boolean Byte)
        CreateSubscriptionResponse 790 (ResponseHeader UInt32 Double UInt32 UInt32)
        ModifySubscriptionRequest 793 (RequestHeader UInt32 Double UInt32 UInt32 UInt32 Byte)
        ModifySubscriptionResponse 796 (ResponseHeader Double UInt32 UInt32)
        SetPublishingModeRequest 799 (RequestHeader Boolean [UInt32])
        SetPublishingModeResponse 802 (ResponseHeader [StatusCode] [DiagnosticInfo])
        PublishRequest 826 (RequestHeader [SubscriptionAcknowledgement])
        SubscriptionAcknowledgement 823 (UInt32 UInt32)
        PublishResponse 829 (ResponseHeader UInt32 [UInt32] Boolean NotificationMessage [StatusCode] [DiagnosticInfo])
        NotificationMessage 805 (UInt32 DateTime [ExtensionObject])
        RepublishRequest 832 (RequestHeader UInt32 UInt32)
        RepublishResponse 835 (ResponseHeader NotificationMessage)
        TransferSubscriptionsRequest 841 (RequestHeader [UInt32] Boolean)
        TransferSubscriptionsResponse 844 (ResponseHeader [TransferResult] [DiagnosticInfo])
        TransferResult 838 (StatusCode [UInt32])
        DeleteSubscriptionsRequest 847 (RequestHeader [UInt32])
        DeleteSubscriptionsResponse 850 (ResponseHeader [StatusCode] [DiagnosticInfo])
        ServiceFault 397 (ResponseHeader)
        // Part 4, 7.40: user identity tokens
        AnonymousIdentityToken 321 (String)
        UserNameIdentityToken 324 (String String ByteString String)
        X509IdentityToken 327 (String ByteString)
        IssuedIdentityToken 940 (String ByteString String)
        // Part 4, 7.1: additional headers
        AdditionalParametersType 17537 ([KeyValuePair])
        KeyValuePair 14846 (QualifiedName Variant)
        EphemeralKeyType 17549 (ByteString ByteString)
        // Part 4, 7.13: discovery configuration
        MdnsDiscoveryConfiguration 12901 (String [String])
        // Part 4, 7.24: node attributes
        ObjectAttributes 354 (UInt32 LocalizedText LocalizedText UInt32 UInt32 Byte)
        VariableAttributes 357 (
            UInt32 LocalizedText LocalizedText UInt32 UInt32 Variant NodeId Int32 [UInt32] Byte Byte Double
            Boolean
        )
        MethodAttributes 360 (UInt32 LocalizedText LocalizedText UInt32 UInt32 Boolean Boolean)
        ObjectTypeAttributes 363 (UInt32 LocalizedText LocalizedText UInt32 UInt32 Boolean)
        VariableTypeAttributes 366 (
            UInt32 LocalizedText LocalizedText UInt32 UInt32 Variant NodeId Int32 [UInt32] Boolean
        )
        ReferenceTypeAttributes 369 (UInt32 LocalizedText LocalizedText UInt32 UInt32 Boolean Boolean LocalizedText)
        DataTypeAttributes 372 (UInt32 LocalizedText LocalizedText UInt32 UInt32 Boolean)
        ViewAttributes 375 (UInt32 LocalizedText LocalizedText UInt32 UInt32 Boolean Byte)
        GenericAttributes 17611 (UInt32 LocalizedText LocalizedText UInt32 UInt32 [GenericAttributeValue])
        GenericAttributeValue 17610 (UInt32 Variant)
        // Part 4, 7.7 and 7.22: filters
        DataChangeFilter 724 (DataChangeTrigger UInt32 Double)
        EventFilter 727 ([SimpleAttributeOperand] ContentFilter)
        SimpleAttributeOperand 603 (NodeId [QualifiedName] UInt32 NumericRange)
        AggregateFilter 730 (DateTime NodeId Double AggregateConfiguration)
        AggregateConfiguration 950 (Boolean Boolean Byte Byte Boolean)
        EventFilterResult 736 ([StatusCode] [DiagnosticInfo] ContentFilterResult)
        AggregateFilterResult 739 (DateTime Double AggregateConfiguration)
        ElementOperand 594 (UInt32)
        LiteralOperand 597 (Variant)
        AttributeOperand 600 (NodeId String RelativePath UInt32 NumericRange)
        // Part 4, 7.25: notifications
        DataChangeNotification 811 ([MonitoredItemNotification] [DiagnosticInfo])
        MonitoredItemNotification 808 (UInt32 DataValue)
        EventNotificationList 916 ([EventFieldList])
        EventFieldList 919 (UInt32 [Variant])
        StatusChangeNotification 820 (StatusCode DiagnosticInfo)
        // Part 11: history
        ReadEventDetails 646 (UInt32 DateTime DateTime EventFilter)
        ReadEventDetails2 32800 (UInt32 DateTime DateTime EventFilter Boolean)
        ReadEventDetailsSorted 18651 (UInt32 DateTime DateTime EventFilter [SortRuleElement])
        SortRuleElement 18650 (SortOrderType SimpleAttributeOperand)
        ReadRawModifiedDetails 649 (Boolean DateTime DateTime UInt32 Boolean)
        ReadProcessedDetails 652 (DateTime DateTime Double [NodeId] AggregateConfiguration)
        ReadAtTimeDetails 655 ([DateTime] Boolean)
        ReadAnnotationDataDetails 23500 ([DateTime])
        HistoryData 658 ([DataValue])
        HistoryModifiedData 11227 ([DataValue] [ModificationInfo])
        ModificationInfo 11226 (DateTime HistoryUpdateType String)
        HistoryEvent 661 ([HistoryEventFieldList])
        HistoryEventFieldList 922 ([Variant])
        HistoryModifiedEvent 32825 ([HistoryEventFieldList] [ModificationInfo])
        UpdateDataDetails 682 (NodeId PerformUpdateType [DataValue])
        UpdateStructureDataDetails 11300 (NodeId PerformUpdateType [DataValue])
        UpdateEventDetails 685 (NodeId PerformUpdateType EventFilter [HistoryEventFieldList])
        DeleteRawModifiedDetails 688 (NodeId Boolean DateTime DateTime)
        DeleteAtTimeDetails 691 (NodeId [DateTime])
        DeleteEventDetails 694 (NodeId [ByteString])
        // Parts 3, 5, 8, 10, 12: values of common variables
        Argument 298 (String NodeId Int32 [UInt32] LocalizedText)
        EnumValueType 8251 (Int64 LocalizedText LocalizedText)
        EnumDefinition 123 ([EnumField])
        EnumField 14845 (Int64 LocalizedText LocalizedText String)
        StructureDefinition 122 (NodeId NodeId StructureType [StructureField])
        StructureField 14844 (String LocalizedText NodeId Int32 [UInt32] UInt32 Boolean)
        Range 886 (Double Double)
        EUInformation 889 (String Int32 LocalizedText LocalizedText)
        AxisInformation 12089 (EUInformation Range LocalizedText AxisScaleEnumeration [Double])
        XVType 12090 (Double Float)
        ComplexNumberType 12181 (Float Float)
        DoubleComplexNumberType 12182 (Double Double)
        BuildInfo 340 (String String String String String DateTime)
        ServerStatusDataType 864 (DateTime DateTime ServerState BuildInfo UInt32 LocalizedText)
        ServerDiagnosticsSummaryDataType 861 (
            UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32
        )
        SamplingIntervalDiagnosticsDataType 858 (Double UInt32 UInt32 UInt32)
        SessionDiagnosticsDataType 867 (
            NodeId String ApplicationDescription String String [String] Double UInt32 DateTime DateTime UInt32
            UInt32 UInt32 ServiceCounterDataType UInt32 ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType ServiceCounterDataType
            ServiceCounterDataType ServiceCounterDataType
        )
        ServiceCounterDataType 873 (UInt32 UInt32)
        SessionSecurityDiagnosticsDataType 870 (
            NodeId String [String] String String String MessageSecurityMode String ByteString
        )
        SubscriptionDiagnosticsDataType 876 (
            NodeId UInt32 Byte Double UInt32 UInt32 UInt32 Boolean UInt32 UInt32 UInt32 UInt32 UInt32 UInt32
            UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32 UInt32
            UInt32 UInt32 UInt32
        )
        ModelChangeStructureDataType 879 (NodeId NodeId Byte)
        SemanticChangeStructureDataType 899 (NodeId NodeId)
        RedundantServerDataType 855 (String Byte ServerState)
        EndpointUrlListDataType 11957 ([String])
        NetworkGroupDataType 11958 (String [EndpointUrlListDataType])
        TimeZoneDataType 8917 (Int16 Boolean)
        StatusResult 301 (StatusCode DiagnosticInfo)
        Annotation 893 (String String DateTime)
        RolePermissionType 128 (NodeId Int32)
        IdentityMappingRuleType 15736 (IdentityCriteriaType String)
        ProgramDiagnosticDataType 896 (
            NodeId String DateTime DateTime String NodeId [Argument] [Argument] DateTime StatusResult
        )
        ProgramDiagnostic2DataType 24034 (
            NodeId String DateTime DateTime String NodeId [Argument] [Argument] [Variant] [Variant] DateTime
            StatusCode
        )
        DecimalDataType 17863 (Int16 ByteString)
        TrustListDataType 12680 (UInt32 [ByteString] [ByteString] [ByteString] [ByteString])
    }
}

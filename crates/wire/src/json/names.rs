//! What JSON has and the bytes have not: names of fields and of enumeration values, and the NodeIds of DataTypes.

use crate::service::Kind;
use crate::types;

/// A structure as JSON knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// The numeric NodeId of the DataType, in namespace 0.
    pub data_type: u32,
    /// The names of its fields, in the order of the bytes.
    pub fields: &'static [&'static str],
}

macro_rules! names {
    (
        enumeration { $($enumeration:ident)* }
        structure { $($structure:ident $id:literal ($($field:ident)*))* }
    ) => {
        impl Names {
            /// Those of a structure; None of other kinds.
            pub fn of(kind: Kind) -> Option<&'static Names> {
                match kind {
                    $(Kind::$structure => Some(&Names {
                        data_type: $id,
                        fields: &[$(stringify!($field)),*],
                    }),)*
                    _ => None,
                }
            }

            /// The structure whose DataType has this number in namespace 0.
            pub fn kind(data_type: u32) -> Option<Kind> {
                match data_type {
                    $($id => Some(Kind::$structure),)*
                    _ => None,
                }
            }
        }

        /// The name of a value of an enumeration, if it has one.
        pub fn value_name(kind: Kind, value: i32) -> Option<String> {
            match kind {
                $(Kind::$enumeration => {
                    types::$enumeration::try_from(value).ok().map(|it| format!("{it:?}"))
                })*
                _ => None,
            }
        }
    };
}

names! {
    enumeration {
        ApplicationType AxisScaleEnumeration BrowseDirection DataChangeTrigger FilterOperator HistoryUpdateType
        IdentityCriteriaType MessageSecurityMode MonitoringMode NodeClass PerformUpdateType SecurityTokenRequestType
        ServerState SortOrderType StructureType TimestampsToReturn UserTokenType
    }
    // name, DataType, fields
    structure {
        RequestHeader 389 (
            AuthenticationToken Timestamp RequestHandle ReturnDiagnostics AuditEntryId TimeoutHint AdditionalHeader
        )
        ResponseHeader 392 (Timestamp RequestHandle ServiceResult ServiceDiagnostics StringTable AdditionalHeader)
        FindServersRequest 420 (RequestHeader EndpointUrl LocaleIds ServerUris)
        FindServersResponse 423 (ResponseHeader Servers)
        ApplicationDescription 308 (
            ApplicationUri ProductUri ApplicationName ApplicationType GatewayServerUri DiscoveryProfileUri
            DiscoveryUrls
        )
        FindServersOnNetworkRequest 12190 (RequestHeader StartingRecordId MaxRecordsToReturn ServerCapabilityFilter)
        FindServersOnNetworkResponse 12191 (ResponseHeader LastCounterResetTime Servers)
        ServerOnNetwork 12189 (RecordId ServerName DiscoveryUrl ServerCapabilities)
        GetEndpointsRequest 426 (RequestHeader EndpointUrl LocaleIds ProfileUris)
        GetEndpointsResponse 429 (ResponseHeader Endpoints)
        EndpointDescription 312 (
            EndpointUrl Server ServerCertificate SecurityMode SecurityPolicyUri UserIdentityTokens
            TransportProfileUri SecurityLevel
        )
        UserTokenPolicy 304 (PolicyId TokenType IssuedTokenType IssuerEndpointUrl SecurityPolicyUri)
        RegisterServerRequest 435 (RequestHeader Server)
        RegisteredServer 432 (
            ServerUri ProductUri ServerNames ServerType GatewayServerUri DiscoveryUrls SemaphoreFilePath IsOnline
        )
        RegisterServerResponse 438 (ResponseHeader)
        RegisterServer2Request 12193 (RequestHeader Server DiscoveryConfiguration)
        RegisterServer2Response 12194 (ResponseHeader ConfigurationResults DiagnosticInfos)
        OpenSecureChannelRequest 444 (
            RequestHeader ClientProtocolVersion RequestType SecurityMode ClientNonce RequestedLifetime
        )
        OpenSecureChannelResponse 447 (ResponseHeader ServerProtocolVersion SecurityToken ServerNonce)
        ChannelSecurityToken 441 (ChannelId TokenId CreatedAt RevisedLifetime)
        CloseSecureChannelRequest 450 (RequestHeader)
        CloseSecureChannelResponse 453 (ResponseHeader)
        CreateSessionRequest 459 (
            RequestHeader ClientDescription ServerUri EndpointUrl SessionName ClientNonce ClientCertificate
            RequestedSessionTimeout MaxResponseMessageSize
        )
        CreateSessionResponse 462 (
            ResponseHeader SessionId AuthenticationToken RevisedSessionTimeout ServerNonce ServerCertificate
            ServerEndpoints ServerSoftwareCertificates ServerSignature MaxRequestMessageSize
        )
        SignedSoftwareCertificate 344 (CertificateData Signature)
        SignatureData 456 (Algorithm Signature)
        ActivateSessionRequest 465 (
            RequestHeader ClientSignature ClientSoftwareCertificates LocaleIds UserIdentityToken UserTokenSignature
        )
        ActivateSessionResponse 468 (ResponseHeader ServerNonce Results DiagnosticInfos)
        CloseSessionRequest 471 (RequestHeader DeleteSubscriptions)
        CloseSessionResponse 474 (ResponseHeader)
        CancelRequest 477 (RequestHeader RequestHandle)
        CancelResponse 480 (ResponseHeader CancelCount)
        AddNodesRequest 486 (RequestHeader NodesToAdd)
        AddNodesItem 376 (
            ParentNodeId ReferenceTypeId RequestedNewNodeId BrowseName NodeClass NodeAttributes TypeDefinition
        )
        AddNodesResponse 489 (ResponseHeader Results DiagnosticInfos)
        AddNodesResult 483 (StatusCode AddedNodeId)
        AddReferencesRequest 492 (RequestHeader ReferencesToAdd)
        AddReferencesItem 379 (SourceNodeId ReferenceTypeId IsForward TargetServerUri TargetNodeId TargetNodeClass)
        AddReferencesResponse 495 (ResponseHeader Results DiagnosticInfos)
        DeleteNodesRequest 498 (RequestHeader NodesToDelete)
        DeleteNodesItem 382 (NodeId DeleteTargetReferences)
        DeleteNodesResponse 501 (ResponseHeader Results DiagnosticInfos)
        DeleteReferencesRequest 504 (RequestHeader ReferencesToDelete)
        DeleteReferencesItem 385 (SourceNodeId ReferenceTypeId IsForward TargetNodeId DeleteBidirectional)
        DeleteReferencesResponse 507 (ResponseHeader Results DiagnosticInfos)
        BrowseRequest 525 (RequestHeader View RequestedMaxReferencesPerNode NodesToBrowse)
        ViewDescription 511 (ViewId Timestamp ViewVersion)
        BrowseDescription 514 (NodeId BrowseDirection ReferenceTypeId IncludeSubtypes NodeClassMask ResultMask)
        BrowseResponse 528 (ResponseHeader Results DiagnosticInfos)
        BrowseResult 522 (StatusCode ContinuationPoint References)
        ReferenceDescription 518 (ReferenceTypeId IsForward NodeId BrowseName DisplayName NodeClass TypeDefinition)
        BrowseNextRequest 531 (RequestHeader ReleaseContinuationPoints ContinuationPoints)
        BrowseNextResponse 534 (ResponseHeader Results DiagnosticInfos)
        TranslateBrowsePathsToNodeIdsRequest 552 (RequestHeader BrowsePaths)
        BrowsePath 543 (StartingNode RelativePath)
        RelativePath 540 (Elements)
        RelativePathElement 537 (ReferenceTypeId IsInverse IncludeSubtypes TargetName)
        TranslateBrowsePathsToNodeIdsResponse 555 (ResponseHeader Results DiagnosticInfos)
        BrowsePathResult 549 (StatusCode Targets)
        BrowsePathTarget 546 (TargetId RemainingPathIndex)
        RegisterNodesRequest 558 (RequestHeader NodesToRegister)
        RegisterNodesResponse 561 (ResponseHeader RegisteredNodeIds)
        UnregisterNodesRequest 564 (RequestHeader NodesToUnregister)
        UnregisterNodesResponse 567 (ResponseHeader)
        QueryFirstRequest 613 (RequestHeader View NodeTypes Filter MaxDataSetsToReturn MaxReferencesToReturn)
        NodeTypeDescription 573 (TypeDefinitionNode IncludeSubTypes DataToReturn)
        QueryDataDescription 570 (RelativePath AttributeId IndexRange)
        ContentFilter 586 (Elements)
        ContentFilterElement 583 (FilterOperator FilterOperands)
        QueryFirstResponse 616 (
            ResponseHeader QueryDataSets ContinuationPoint ParsingResults DiagnosticInfos FilterResult
        )
        QueryDataSet 577 (NodeId TypeDefinitionNode Values)
        ParsingResult 610 (StatusCode DataStatusCodes DataDiagnosticInfos)
        ContentFilterResult 607 (ElementResults ElementDiagnosticInfos)
        ContentFilterElementResult 604 (StatusCode OperandStatusCodes OperandDiagnosticInfos)
        QueryNextRequest 619 (RequestHeader ReleaseContinuationPoint ContinuationPoint)
        QueryNextResponse 622 (ResponseHeader QueryDataSets RevisedContinuationPoint)
        ReadRequest 629 (RequestHeader MaxAge TimestampsToReturn NodesToRead)
        ReadValueId 626 (NodeId AttributeId IndexRange DataEncoding)
        ReadResponse 632 (ResponseHeader Results DiagnosticInfos)
        HistoryReadRequest 662 (
            RequestHeader HistoryReadDetails TimestampsToReturn ReleaseContinuationPoints NodesToRead
        )
        HistoryReadValueId 635 (NodeId IndexRange DataEncoding ContinuationPoint)
        HistoryReadResponse 665 (ResponseHeader Results DiagnosticInfos)
        HistoryReadResult 638 (StatusCode ContinuationPoint HistoryData)
        WriteRequest 671 (RequestHeader NodesToWrite)
        WriteValue 668 (NodeId AttributeId IndexRange Value)
        WriteResponse 674 (ResponseHeader Results DiagnosticInfos)
        HistoryUpdateRequest 698 (RequestHeader HistoryUpdateDetails)
        HistoryUpdateResponse 701 (ResponseHeader Results DiagnosticInfos)
        HistoryUpdateResult 695 (StatusCode OperationResults DiagnosticInfos)
        CallRequest 710 (RequestHeader MethodsToCall)
        CallMethodRequest 704 (ObjectId MethodId InputArguments)
        CallResponse 713 (ResponseHeader Results DiagnosticInfos)
        CallMethodResult 707 (StatusCode InputArgumentResults InputArgumentDiagnosticInfos OutputArguments)
        CreateMonitoredItemsRequest 749 (RequestHeader SubscriptionId TimestampsToReturn ItemsToCreate)
        MonitoredItemCreateRequest 743 (ItemToMonitor MonitoringMode RequestedParameters)
        MonitoringParameters 740 (ClientHandle SamplingInterval Filter QueueSize DiscardOldest)
        CreateMonitoredItemsResponse 752 (ResponseHeader Results DiagnosticInfos)
        MonitoredItemCreateResult 746 (
            StatusCode MonitoredItemId RevisedSamplingInterval RevisedQueueSize FilterResult
        )
        ModifyMonitoredItemsRequest 761 (RequestHeader SubscriptionId TimestampsToReturn ItemsToModify)
        MonitoredItemModifyRequest 755 (MonitoredItemId RequestedParameters)
        ModifyMonitoredItemsResponse 764 (ResponseHeader Results DiagnosticInfos)
        MonitoredItemModifyResult 758 (StatusCode RevisedSamplingInterval RevisedQueueSize FilterResult)
        SetMonitoringModeRequest 767 (RequestHeader SubscriptionId MonitoringMode MonitoredItemIds)
        SetMonitoringModeResponse 770 (ResponseHeader Results DiagnosticInfos)
        SetTriggeringRequest 773 (RequestHeader SubscriptionId TriggeringItemId LinksToAdd LinksToRemove)
        SetTriggeringResponse 776 (ResponseHeader AddResults AddDiagnosticInfos RemoveResults RemoveDiagnosticInfos)
        DeleteMonitoredItemsRequest 779 (RequestHeader SubscriptionId MonitoredItemIds)
        DeleteMonitoredItemsResponse 782 (ResponseHeader Results DiagnosticInfos)
        CreateSubscriptionRequest 785 (
            RequestHeader RequestedPublishingInterval RequestedLifetimeCount RequestedMaxKeepAliveCount
            MaxNotificationsPerPublish PublishingEnabled Priority
        )
        CreateSubscriptionResponse 788 (
            ResponseHeader SubscriptionId RevisedPublishingInterval RevisedLifetimeCount RevisedMaxKeepAliveCount
        )
        ModifySubscriptionRequest 791 (
            RequestHeader SubscriptionId RequestedPublishingInterval RequestedLifetimeCount
            RequestedMaxKeepAliveCount MaxNotificationsPerPublish Priority
        )
        ModifySubscriptionResponse 794 (
            ResponseHeader RevisedPublishingInterval RevisedLifetimeCount RevisedMaxKeepAliveCount
        )
        SetPublishingModeRequest 797 (RequestHeader PublishingEnabled SubscriptionIds)
        SetPublishingModeResponse 800 (ResponseHeader Results DiagnosticInfos)
        PublishRequest 824 (RequestHeader SubscriptionAcknowledgements)
        SubscriptionAcknowledgement 821 (SubscriptionId SequenceNumber)
        PublishResponse 827 (
            ResponseHeader SubscriptionId AvailableSequenceNumbers MoreNotifications NotificationMessage Results
            DiagnosticInfos
        )
        NotificationMessage 803 (SequenceNumber PublishTime NotificationData)
        RepublishRequest 830 (RequestHeader SubscriptionId RetransmitSequenceNumber)
        RepublishResponse 833 (ResponseHeader NotificationMessage)
        TransferSubscriptionsRequest 839 (RequestHeader SubscriptionIds SendInitialValues)
        TransferSubscriptionsResponse 842 (ResponseHeader Results DiagnosticInfos)
        TransferResult 836 (StatusCode AvailableSequenceNumbers)
        DeleteSubscriptionsRequest 845 (RequestHeader SubscriptionIds)
        DeleteSubscriptionsResponse 848 (ResponseHeader Results DiagnosticInfos)
        ServiceFault 395 (ResponseHeader)
        AnonymousIdentityToken 319 (PolicyId)
        UserNameIdentityToken 322 (PolicyId UserName Password EncryptionAlgorithm)
        X509IdentityToken 325 (PolicyId CertificateData)
        IssuedIdentityToken 938 (PolicyId TokenData EncryptionAlgorithm)
        AdditionalParametersType 16313 (Parameters)
        KeyValuePair 14533 (Key Value)
        EphemeralKeyType 17548 (PublicKey Signature)
        MdnsDiscoveryConfiguration 12891 (MdnsServerName ServerCapabilities)
        ObjectAttributes 352 (SpecifiedAttributes DisplayName Description WriteMask UserWriteMask EventNotifier)
        VariableAttributes 355 (
            SpecifiedAttributes DisplayName Description WriteMask UserWriteMask Value DataType ValueRank
            ArrayDimensions AccessLevel UserAccessLevel MinimumSamplingInterval Historizing
        )
        MethodAttributes 358 (
            SpecifiedAttributes DisplayName Description WriteMask UserWriteMask Executable UserExecutable
        )
        ObjectTypeAttributes 361 (SpecifiedAttributes DisplayName Description WriteMask UserWriteMask IsAbstract)
        VariableTypeAttributes 364 (
            SpecifiedAttributes DisplayName Description WriteMask UserWriteMask Value DataType ValueRank
            ArrayDimensions IsAbstract
        )
        ReferenceTypeAttributes 367 (
            SpecifiedAttributes DisplayName Description WriteMask UserWriteMask IsAbstract Symmetric InverseName
        )
        DataTypeAttributes 370 (SpecifiedAttributes DisplayName Description WriteMask UserWriteMask IsAbstract)
        ViewAttributes 373 (
            SpecifiedAttributes DisplayName Description WriteMask UserWriteMask ContainsNoLoops EventNotifier
        )
        GenericAttributes 17607 (SpecifiedAttributes DisplayName Description WriteMask UserWriteMask AttributeValues)
        GenericAttributeValue 17606 (AttributeId Value)
        DataChangeFilter 722 (Trigger DeadbandType DeadbandValue)
        EventFilter 725 (SelectClauses WhereClause)
        SimpleAttributeOperand 601 (TypeDefinitionId BrowsePath AttributeId IndexRange)
        AggregateFilter 728 (StartTime AggregateType ProcessingInterval AggregateConfiguration)
        AggregateConfiguration 948 (
            UseServerCapabilitiesDefaults TreatUncertainAsBad PercentDataBad PercentDataGood UseSlopedExtrapolation
        )
        EventFilterResult 734 (SelectClauseResults SelectClauseDiagnosticInfos WhereClauseResult)
        AggregateFilterResult 737 (RevisedStartTime RevisedProcessingInterval RevisedAggregateConfiguration)
        ElementOperand 592 (Index)
        LiteralOperand 595 (Value)
        AttributeOperand 598 (NodeId Alias BrowsePath AttributeId IndexRange)
        DataChangeNotification 809 (MonitoredItems DiagnosticInfos)
        MonitoredItemNotification 806 (ClientHandle Value)
        EventNotificationList 914 (Events)
        EventFieldList 917 (ClientHandle EventFields)
        StatusChangeNotification 818 (Status DiagnosticInfo)
        ReadEventDetails 644 (NumValuesPerNode StartTime EndTime Filter)
        ReadEventDetails2 32799 (NumValuesPerNode StartTime EndTime Filter ReadModified)
        ReadEventDetailsSorted 18649 (NumValuesPerNode StartTime EndTime Filter SortClause)
        SortRuleElement 18648 (SortOrder EventField)
        ReadRawModifiedDetails 647 (IsReadModified StartTime EndTime NumValuesPerNode ReturnBounds)
        ReadProcessedDetails 650 (StartTime EndTime ProcessingInterval AggregateType AggregateConfiguration)
        ReadAtTimeDetails 653 (ReqTimes UseSimpleBounds)
        ReadAnnotationDataDetails 23497 (ReqTimes)
        HistoryData 656 (DataValues)
        HistoryModifiedData 11217 (DataValues ModificationInfos)
        ModificationInfo 11216 (ModificationTime UpdateType UserName)
        HistoryEvent 659 (Events)
        HistoryEventFieldList 920 (EventFields)
        HistoryModifiedEvent 32824 (Events ModificationInfos)
        UpdateDataDetails 680 (NodeId PerformInsertReplace UpdateValues)
        UpdateStructureDataDetails 11295 (NodeId PerformInsertReplace UpdateValues)
        UpdateEventDetails 683 (NodeId PerformInsertReplace Filter EventData)
        DeleteRawModifiedDetails 686 (NodeId IsDeleteModified StartTime EndTime)
        DeleteAtTimeDetails 689 (NodeId ReqTimes)
        DeleteEventDetails 692 (NodeId EventIds)
        Argument 296 (Name DataType ValueRank ArrayDimensions Description)
        EnumValueType 7594 (Value DisplayName Description)
        EnumDefinition 100 (Fields)
        EnumField 102 (Value DisplayName Description Name)
        StructureDefinition 99 (DefaultEncodingId BaseDataType StructureType Fields)
        StructureField 101 (Name Description DataType ValueRank ArrayDimensions MaxStringLength IsOptional)
        Range 884 (Low High)
        EUInformation 887 (NamespaceUri UnitId DisplayName Description)
        AxisInformation 12079 (EngineeringUnits EURange Title AxisScaleType AxisSteps)
        XVType 12080 (X Value)
        ComplexNumberType 12171 (Real Imaginary)
        DoubleComplexNumberType 12172 (Real Imaginary)
        BuildInfo 338 (ProductUri ManufacturerName ProductName SoftwareVersion BuildNumber BuildDate)
        ServerStatusDataType 862 (StartTime CurrentTime State BuildInfo SecondsTillShutdown ShutdownReason)
        ServerDiagnosticsSummaryDataType 859 (
            ServerViewCount CurrentSessionCount CumulatedSessionCount SecurityRejectedSessionCount
            RejectedSessionCount SessionTimeoutCount SessionAbortCount CurrentSubscriptionCount
            CumulatedSubscriptionCount PublishingIntervalCount SecurityRejectedRequestsCount RejectedRequestsCount
        )
        SamplingIntervalDiagnosticsDataType 856 (
            SamplingInterval MonitoredItemCount MaxMonitoredItemCount DisabledMonitoredItemCount
        )
        SessionDiagnosticsDataType 865 (
            SessionId SessionName ClientDescription ServerUri EndpointUrl LocaleIds ActualSessionTimeout
            MaxResponseMessageSize ClientConnectionTime ClientLastContactTime CurrentSubscriptionsCount
            CurrentMonitoredItemsCount CurrentPublishRequestsInQueue TotalRequestCount UnauthorizedRequestCount
            ReadCount HistoryReadCount WriteCount HistoryUpdateCount CallCount CreateMonitoredItemsCount
            ModifyMonitoredItemsCount SetMonitoringModeCount SetTriggeringCount DeleteMonitoredItemsCount
            CreateSubscriptionCount ModifySubscriptionCount SetPublishingModeCount PublishCount RepublishCount
            TransferSubscriptionsCount DeleteSubscriptionsCount AddNodesCount AddReferencesCount DeleteNodesCount
            DeleteReferencesCount BrowseCount BrowseNextCount TranslateBrowsePathsToNodeIdsCount QueryFirstCount
            QueryNextCount RegisterNodesCount UnregisterNodesCount
        )
        ServiceCounterDataType 871 (TotalCount ErrorCount)
        SessionSecurityDiagnosticsDataType 868 (
            SessionId ClientUserIdOfSession ClientUserIdHistory AuthenticationMechanism Encoding TransportProtocol
            SecurityMode SecurityPolicyUri ClientCertificate
        )
        SubscriptionDiagnosticsDataType 874 (
            SessionId SubscriptionId Priority PublishingInterval MaxKeepAliveCount MaxLifetimeCount
            MaxNotificationsPerPublish PublishingEnabled ModifyCount EnableCount DisableCount RepublishRequestCount
            RepublishMessageRequestCount RepublishMessageCount TransferRequestCount TransferredToAltClientCount
            TransferredToSameClientCount PublishRequestCount DataChangeNotificationsCount EventNotificationsCount
            NotificationsCount LatePublishRequestCount CurrentKeepAliveCount CurrentLifetimeCount
            UnacknowledgedMessageCount DiscardedMessageCount MonitoredItemCount DisabledMonitoredItemCount
            MonitoringQueueOverflowCount NextSequenceNumber EventQueueOverflowCount
        )
        ModelChangeStructureDataType 877 (Affected AffectedType Verb)
        SemanticChangeStructureDataType 897 (Affected AffectedType)
        RedundantServerDataType 853 (ServerId ServiceLevel ServerState)
        EndpointUrlListDataType 11943 (EndpointUrlList)
        NetworkGroupDataType 11944 (ServerUri NetworkPaths)
        TimeZoneDataType 8912 (Offset DaylightSavingInOffset)
        StatusResult 299 (StatusCode DiagnosticInfo)
        Annotation 891 (Message UserName AnnotationTime)
        RolePermissionType 96 (RoleId Permissions)
        IdentityMappingRuleType 15634 (CriteriaType Criteria)
        ProgramDiagnosticDataType 894 (
            CreateSessionId CreateClientName InvocationCreationTime LastTransitionTime LastMethodCall
            LastMethodSessionId LastMethodInputArguments LastMethodOutputArguments LastMethodCallTime
            LastMethodReturnStatus
        )
        ProgramDiagnostic2DataType 24033 (
            CreateSessionId CreateClientName InvocationCreationTime LastTransitionTime LastMethodCall
            LastMethodSessionId LastMethodInputArguments LastMethodOutputArguments LastMethodInputValues
            LastMethodOutputValues LastMethodCallTime LastMethodReturnStatus
        )
        DecimalDataType 17861 (Scale Value)
        TrustListDataType 12554 (SpecifiedLists TrustedCertificates TrustedCrls IssuerCertificates IssuerCrls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::shape::Form;

    #[test]
    fn each_structure_has_a_name_for_each_field_and_a_type_of_its_own() {
        for &kind in Kind::ALL {
            let Form::Structure(fields) = kind.shape().form else {
                assert_eq!(Names::of(kind), None, "{kind:?}");
                continue;
            };
            let names = Names::of(kind).unwrap();
            assert_eq!(names.fields.len(), fields.len(), "{kind:?}");
            assert_eq!(Names::kind(names.data_type), Some(kind));
            let type_id = types::DataTypeId::try_from(names.data_type).unwrap();
            assert_eq!(format!("{type_id:?}"), kind.name());
        }
    }

    #[test]
    fn each_value_of_an_enumeration_has_a_name() {
        for &kind in Kind::ALL {
            if let Form::Enumeration(values, _) = kind.shape().form {
                for &value in values {
                    assert!(value_name(kind, value).is_some(), "{kind:?} {value}");
                }
            }
        }
        let name = value_name(Kind::MessageSecurityMode, 3);
        assert_eq!(name.as_deref(), Some("SignAndEncrypt"));
    }
}

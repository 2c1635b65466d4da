//! Certificates, trust lists, chains and revocation for OPC UA applications.

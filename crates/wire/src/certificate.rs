//! Application instance certificates as the wire needs them: the chain, its thumbprint, its key.

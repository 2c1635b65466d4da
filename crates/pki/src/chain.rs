//! From a certificate up to a root: every way there is, within bounds.

use crate::certificate::Certificate;
use crate::refusal::{Reason, Refusal};

/// A certificate and at most this many above it, less one.
const MAX_LENGTH: usize = 8;
/// A peer does not get more signatures verified than this.
const MAX_VERIFICATIONS: u32 = 64;
/// Cross-signed authorities can make many ways; the first ones will do.
const MAX_PATHS: usize = 8;

/// A certificate, the authority that signed it, and so on; the last one signed
/// itself.
pub(crate) type Path<'a> = Vec<&'a Certificate>;

struct Search<'a> {
    pool: Vec<&'a Certificate>,
    found: Vec<Path<'a>>,
    verifications: u32,
    missing: Option<Refusal>,
    forged: Option<Refusal>,
}

/// All ways from `leaf` to a root over the certificates of `pool`.
///
/// Signatures are verified on the way: several authorities may have the same name,
/// and only the signature tells which one it was.
pub(crate) fn paths<'a>(
    leaf: &'a Certificate,
    pool: impl IntoIterator<Item = &'a Certificate>,
) -> Result<Vec<Path<'a>>, Refusal> {
    let mut search = Search {
        pool: Vec::new(),
        found: Vec::new(),
        verifications: 0,
        missing: None,
        forged: None,
    };
    let pool = pool.into_iter();
    search.pool.extend(pool.filter(|other| *other != leaf));
    search.climb(&mut vec![leaf]);
    if !search.found.is_empty() {
        return Ok(search.found);
    }
    Err(search.missing.or(search.forged).unwrap_or_else(|| {
        Refusal::new(
            Reason::ChainIncomplete,
            leaf.subject(),
            "its chain of authorities is too tangled to follow",
        )
    }))
}

impl<'a> Search<'a> {
    fn climb(&mut self, path: &mut Path<'a>) {
        let Some(&last) = path.last() else { return };
        let mut seen_issuer = false;
        if last.is_self_issued() {
            seen_issuer = true;
            if self.verify(last, last) {
                self.found.push(path.clone());
                return;
            }
        }
        let named = self.pool.iter().copied();
        let named = named.filter(|issuer| last.issuer().matches(issuer.subject()));
        let mut issuers: Vec<&'a Certificate> = Vec::new();
        for issuer in named {
            // A loop of authorities that sign each other leads nowhere.
            if !path.contains(&issuer) && !issuers.contains(&issuer) {
                issuers.push(issuer);
            }
        }
        issuers.sort_by_key(|issuer| !last.points_to(issuer));
        let mut signed = false;
        for issuer in issuers {
            seen_issuer = true;
            if self.found.len() >= MAX_PATHS {
                return;
            }
            if !self.verify(last, issuer) {
                continue;
            }
            signed = true;
            if path.len() == MAX_LENGTH {
                self.missing.get_or_insert_with(|| {
                    let detail = format!("no root within {MAX_LENGTH} certificates");
                    Refusal::new(Reason::ChainIncomplete, last.subject(), detail)
                });
                continue;
            }
            path.push(issuer);
            self.climb(path);
            path.pop();
        }
        if !seen_issuer {
            self.missing.get_or_insert_with(|| {
                let detail = format!(
                    "its issuer {} was not sent and is not among the known authorities",
                    last.issuer()
                );
                Refusal::new(Reason::ChainIncomplete, last.subject(), detail)
            });
        } else if !signed {
            self.forged.get_or_insert_with(|| {
                let detail = match last.signature_algorithm() {
                    Some(_) => format!("the signature is not that of {}", last.issuer()),
                    None => "the algorithm of its signature is unknown".to_owned(),
                };
                Refusal::new(Reason::Signature, last.subject(), detail)
            });
        }
    }

    fn verify(&mut self, certificate: &Certificate, issuer: &Certificate) -> bool {
        if self.verifications == MAX_VERIFICATIONS {
            return false;
        }
        self.verifications += 1;
        certificate.is_signed_by(issuer)
    }
}

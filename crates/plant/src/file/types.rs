//! The structures and enumerations that a plant file declares, and types by their names.

use std::collections::HashMap;
use std::sync::Arc;

use toml::Spanned;

use super::document::{EnumerationTable, FieldTable, StructureTable};
use super::error::Complaint;
use super::ids::Taken;
use crate::describe::{Enumeration, Field, Kind, Structure};
use crate::terms::Id;

/// The longest array in a structure.
const LONGEST: u32 = 1 << 20;

/// All types that are known so far.
#[derive(Debug, Default)]
pub struct Types(HashMap<String, Kind>);

impl Types {
    /// A type by its name.
    pub fn kind(&self, name: &Spanned<String>) -> Result<Kind, Complaint> {
        let text = name.get_ref();
        let own = || self.0.get(text).cloned();
        Kind::built_in(text).or_else(own).ok_or_else(|| {
            let mut known: Vec<_> = Kind::built_in_names().collect();
            let mut own: Vec<_> = self.0.keys().map(|name| &**name).collect();
            own.sort_unstable();
            known.append(&mut own);
            let known = known.join(", ");
            let what = format!(
                "{text:?} is no type (want one of {known}, or a structure or enumeration declared above)"
            );
            Complaint::about(name, what)
        })
    }

    fn add(&mut self, name: &Spanned<String>, kind: Kind) -> Result<(), Complaint> {
        let text = name.get_ref();
        if text.is_empty() || Kind::built_in(text).is_some() || self.0.contains_key(text) {
            let what = format!("{text:?} is empty or a type already (want another name)");
            return Err(Complaint::about(name, what));
        }
        self.0.insert(text.clone(), kind);
        Ok(())
    }

    pub fn enumerations(
        &mut self,
        tables: Vec<EnumerationTable>,
        namespace: usize,
        index: u16,
        taken: &mut Taken,
    ) -> Result<Vec<Arc<Enumeration>>, Complaint> {
        let mut all = Vec::new();
        for table in tables {
            let values = &table.values.get_ref().0;
            if values.is_empty() {
                let what = "is empty (want names, as [\"Off\", \"On\"])";
                return Err(Complaint::about(&table.values, what));
            }
            let twice = (1..values.len()).any(|n| {
                let (before, rest) = values.split_at(n);
                let same = |a: &(String, i32), b: &(String, i32)| a.0 == b.0 || a.1 == b.1;
                before
                    .iter()
                    .any(|one| rest.first().is_some_and(|other| same(one, other)))
            });
            if twice {
                let what = "has a name or a number twice (want each once)";
                return Err(Complaint::about(&table.values, what));
            }
            let id = id_of(&table.name, table.id);
            let what = format!("enumeration {}", table.name.get_ref());
            taken.one(index, &id, id.get_ref(), &what)?;
            let of = Arc::new(Enumeration {
                name: table.name.get_ref().clone(),
                namespace,
                id: id.into_inner(),
                values: table.values.into_inner().0,
            });
            self.add(&table.name, Kind::Enumeration(Arc::clone(&of)))?;
            all.push(of);
        }
        Ok(all)
    }

    pub fn structures(
        &mut self,
        tables: Vec<StructureTable>,
        namespace: usize,
        index: u16,
        taken: &mut Taken,
    ) -> Result<Vec<Arc<Structure>>, Complaint> {
        let mut all = Vec::new();
        for table in tables {
            let name = table.name.get_ref().clone();
            let fields = self.fields(table.fields)?;
            if fields.is_empty() {
                let what = "has no fields (want one or more)";
                return Err(Complaint::about(&table.name, what));
            }
            let id = id_of(&table.name, table.id);
            taken.one(index, &id, id.get_ref(), &format!("structure {name}"))?;
            let encoding = format!("{name}.DefaultBinary");
            let encoding = table
                .encoding
                .unwrap_or_else(|| Spanned::new(table.name.span(), Id::text(encoding)));
            let what = format!("encoding of {name}");
            taken.one(index, &encoding, encoding.get_ref(), &what)?;
            let of = Arc::new(Structure {
                name,
                namespace,
                id: id.into_inner(),
                encoding: encoding.into_inner(),
                fields: fields.into_iter().map(|(field, _)| field).collect(),
            });
            self.add(&table.name, Kind::Structure(Arc::clone(&of)))?;
            all.push(of);
        }
        Ok(all)
    }

    /// Fields of a structure or arguments of a method, each with the place of its name.
    pub fn fields(
        &self,
        tables: Vec<FieldTable>,
    ) -> Result<Vec<(Field, std::ops::Range<usize>)>, Complaint> {
        let mut fields: Vec<(Field, _)> = Vec::new();
        for table in tables {
            let name = table.name.get_ref();
            if name.is_empty() || fields.iter().any(|(field, _)| field.name == *name) {
                let what = format!("{name:?} is empty or there twice (want another name)");
                return Err(Complaint::about(&table.name, what));
            }
            if let Some(len) = &table.length
                && !(1..=LONGEST).contains(len.get_ref())
            {
                let what = format!(
                    "is {} (want 1 to {LONGEST}; leave it out for a scalar)",
                    len.get_ref()
                );
                return Err(Complaint::about(len, what));
            }
            let span = table.name.span();
            fields.push((
                Field {
                    kind: self.kind(&table.kind)?,
                    name: table.name.into_inner(),
                    len: table.length.map(Spanned::into_inner),
                },
                span,
            ));
        }
        Ok(fields)
    }
}

fn id_of(name: &Spanned<String>, id: Option<Spanned<Id>>) -> Spanned<Id> {
    id.unwrap_or_else(|| Spanned::new(name.span(), Id::text(name.get_ref())))
}

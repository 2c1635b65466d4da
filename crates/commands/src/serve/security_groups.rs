//! Security groups of PubSub as typed: who gets keys at the server.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use plan::unit::duration::parse;
use plant::{Config, SecurityGroup};
use pubsub::security::PubSubPolicy;
use wire::policy::Mode;

use crate::failure::Failure;
use crate::screen::tell;

/// Security groups, as typed.
#[derive(Debug, clap::Args)]
#[group(id = "security-groups")]
pub struct Args {
    /// Hand out keys of this SecurityGroup of PubSub (GetSecurityKeys) to clients who may call methods, over encrypted
    /// channels; may be given several times
    #[arg(long, value_name = "NAME")]
    security_group: Vec<String>,
    /// How long a key holds
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse)]
    group_lifetime: Duration,
    /// What keys are for: PubSub-Aes128-CTR, PubSub-Aes256-CTR
    #[arg(long, value_name = "NAME", default_value = "PubSub-Aes256-CTR", hide_possible_values = true, value_parser = PossibleValuesParser::new(PubSubPolicy::ALL.map(PubSubPolicy::name)))]
    group_policy: String,
}

impl Args {
    /// Adds them to those of the plant.
    pub fn add_to(&self, config: &mut Config) -> anyhow::Result<()> {
        if self.group_lifetime < SecurityGroup::LEAST_LIFETIME {
            let what = format!(
                "--group-lifetime {:?}: want {:?} or more",
                self.group_lifetime,
                SecurityGroup::LEAST_LIFETIME
            );
            return Err(Failure::usage(what).into());
        }
        for id in &self.security_group {
            if id.is_empty() || config.security_groups.iter().any(|it| it.id == *id) {
                let what = format!("--security-group {id:?}: empty, or there already");
                return Err(Failure::usage(what).into());
            }
            config.security_groups.push(SecurityGroup {
                policy: self.group_policy.parse()?,
                lifetime: self.group_lifetime,
                ..SecurityGroup::new(id.clone())
            });
        }
        Ok(())
    }
}

/// Says so if nobody can get keys.
pub fn warn(config: &Config) {
    let encrypted = |it: &wire::channel::Protection| it.mode == Mode::SignAndEncrypt;
    if !config.security_groups.is_empty() && !config.protections.iter().any(encrypted) {
        tell!(
            "warning: nobody gets keys of security groups, as no endpoint is encrypted; offer one with --security \
             POLICY:SignAndEncrypt"
        );
    }
}

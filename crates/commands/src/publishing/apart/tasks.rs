//! What agents are to do of a phase.

use plan::unit::duration::nanos;
use plan::{Phase, Work};

use super::super::broker::{Secret, Url};
use super::super::carried_out::{Secured, words};
use super::super::listener_display::length;
use super::super::phase::PubSubCommand;
use crate::failure::Failure;
use crate::fleet::{Listens, Publishes, Role};

impl PubSubCommand {
    /// What agents are to do, and how many of it.
    pub(super) fn tasks(
        &self,
        phase: &Phase,
        at: &Url,
        (secured, secret): (&Secured, &Secret),
        agents: usize,
    ) -> anyhow::Result<(Vec<Role>, Vec<u64>)> {
        let (mut tasks, mut many) = (Vec::new(), Vec::new());
        let secret = || secret.as_ref().map(|it| it.to_string());
        if let (Work::Publish(plan), Some(_)) = (&phase.work, &self.publish_on) {
            let mut words = words(plan, at, length(phase));
            // Where to stands beside them.
            words.retain(|it| it.starts_with("--"));
            if at.is_broker() {
                words.extend(self.broker.words());
                words.push(format!("--in-flight={}", self.in_flight));
            }
            many.push(1);
            tasks.push(Role::Publish(Publishes {
                url: at.to_string(),
                words,
                secret: secret(),
                keys: secured.text.to_string(),
                window_ns: (nanos(phase.warmup.given()), nanos(length(phase))),
            }));
        }
        let (service, listeners) = match &phase.work {
            Work::Publish(plan) => ("publish", plan.listeners),
            Work::Listen(plan) => ("listen", plan.listeners),
            _ => return Err(Failure::usage(format!("{} is no PubSub", phase.work.name())).into()),
        };
        let mut words = Vec::new();
        if at.is_broker() {
            words.extend(self.broker.words());
        }
        if let (true, "publish") = (at.is_broker(), service) {
            words.push(format!("--in-flight={}", self.in_flight));
        }
        if let Work::Listen(plan) = &phase.work {
            let same = plan.broker.as_ref().is_some_and(|it| it.same_clock);
            words.extend(same.then(|| "--same-clock".to_owned()));
            words.extend(self.discovery.map(|it| format!("--discovery={it}")));
        }
        for _ in tasks.len()..agents {
            many.push(u64::from(listeners));
            tasks.push(Role::Listen(Listens {
                url: at.to_string(),
                service: service.to_owned(),
                words: words.clone(),
                phase: serde_json::to_string(phase)?,
                secret: secret(),
                keys: secured.text.to_string(),
            }));
        }
        Ok((tasks, many))
    }
}

//! Registrations: the client, the user, the ground, and the answer.

use super::{ClientId, Presented, Reply, Service, Subscription};
use crate::audit::{EndReason, Event, Ground, Refused};
use crate::identity::{SourceName, UserIndex};
use crate::limits::{MAX_SUBSCRIPTIONS, MAX_TOO_FAST};
use cellcc_netassist_client::Role;
use cellcc_netassist_client::protocol::Answer;
use cellcc_units::Time;
use std::net::IpAddr;

impl Service {
    pub(super) fn subscribe(
        &mut self,
        now: Time,
        id: ClientId,
        user: IpAddr,
        flows: u16,
        consent: &Presented,
    ) -> Reply {
        let Some(index) = self.identities.by_address(user) else {
            return self.refuse(now, id, Some(user), Refused::UnknownUser);
        };
        let known = self.subscriptions[index.0].get(&id).copied();
        let (ground, consent_until) = match (self.ground(id, index, consent), known) {
            (Ok(ground), _) => ground,
            (Err(_), Some(known)) => (known.ground, known.consent_until),
            (Err(refused), None) => return self.refuse(now, id, Some(user), refused),
        };
        if known.is_none() && self.clients[&id].subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return self.refuse(now, id, Some(user), Refused::TooMany);
        }
        if known.is_none_or(|known| known.ground != ground) {
            let name = self.clients[&id].name.clone();
            // No report on a user without a line in the log.
            if !self.may_begin(now, &name) {
                return self.refuse(now, id, Some(user), Refused::TooOften);
            }
            let user = self.identities.user(index).name.clone();
            self.audit(id, Event::Subscribed { user, because: ground });
        }
        let subscription = Subscription { user, flows, ground, consent_until };
        Reply::Answers(vec![self.begin(id, index, subscription)])
    }

    fn ground(
        &self,
        id: ClientId,
        index: UserIndex,
        consent: &Presented,
    ) -> Result<(Ground, Option<Time>), Refused> {
        let (client, user) = (&self.clients[&id], self.identities.user(index));
        match consent {
            Presented::Signed(consent) => {
                let is_for_us = consent.server == client.name;
                let is_of_user = consent.user.role() == Role::User && consent.user.name() == user.name;
                if is_for_us && is_of_user {
                    Ok((Ground::Consent, Some(consent.until)))
                } else {
                    Err(Refused::WrongConsent)
                }
            }
            Presented::Forged => Err(Refused::WrongConsent),
            Presented::None if self.live_flows.has(client.address, self.identities.addresses(index)) => {
                Ok((Ground::LiveFlow, None))
            }
            Presented::None => Err(Refused::NoGround),
        }
    }

    pub(super) fn subscribe_all(&mut self, now: Time, id: ClientId) -> Reply {
        if self.clients[&id].subscriptions.is_empty() {
            let name = self.clients[&id].name.clone();
            if !self.may_begin(now, &name) {
                return self.refuse(now, id, None, Refused::TooOften);
            }
            self.audit(id, Event::SubscribedToAll);
        }
        let mut answers = Vec::new();
        for index in self.identities.all().collect::<Vec<_>>() {
            let Some(user) = self.identities.addresses(index).next() else { continue };
            let subscription = Subscription { user, flows: 0, ground: Ground::Operator, consent_until: None };
            answers.push(self.begin(id, index, subscription));
        }
        Reply::Answers(answers)
    }

    fn begin(&mut self, id: ClientId, index: UserIndex, subscription: Subscription) -> Answer {
        self.subscriptions[index.0].insert(id, subscription);
        if let Some(client) = self.clients.get_mut(&id) {
            client.subscriptions.insert(index);
        }
        self.counts.granted += 1;
        let key = self.identities.key(index).to_string();
        Answer::Subscribed { user: subscription.user, key }
    }

    pub(super) fn unsubscribe(&mut self, id: ClientId, user: IpAddr) -> Reply {
        let ended =
            self.identities.by_address(user).and_then(|index| self.end(id, index, EndReason::Unsubscribed));
        Reply::Answers(ended.into_iter().collect())
    }

    pub(super) fn flows_reported(&mut self, now: Time, id: ClientId, active: u16) -> Reply {
        let name = SourceName::Name(self.clients[&id].name.name().to_owned());
        match self.identities.by_source(&name) {
            Some(index) => {
                self.users[index.0].on_own_flows(now, active);
                Reply::Answers(Vec::new())
            }
            None => self.refuse(now, id, None, Refused::UnknownUser),
        }
    }

    /// A client learns no more than that it has no right: not whether there is such a user.
    pub(super) fn refuse(
        &mut self,
        now: Time,
        id: ClientId,
        user: Option<IpAddr>,
        refused: Refused,
    ) -> Reply {
        self.counts.refused += 1;
        let Some(client) = self.clients.get_mut(&id) else { return Reply::Disconnect };
        client.refused += 1;
        client.too_fast += u32::from(refused == Refused::TooFast);
        if client.too_fast >= MAX_TOO_FAST {
            return Reply::Disconnect;
        }
        let name = client.name.clone();
        // A flood of refusals does not become a flood of lines: that of the disconnection has the count.
        if let Some(address_asked) = user
            && self.written(now, &name).refusals.allows(now)
        {
            self.audit(id, Event::Refused { address_asked, reason: refused });
        }
        let (reason, retry_after_ms) = match refused {
            Refused::UnknownUser | Refused::NoGround => {
                ("no live flow between this server and this user, and no consent of the user", Some(1000))
            }
            Refused::WrongConsent => ("the consent is not this user's for this server, or has expired", None),
            Refused::Role => ("the certificate's role does not allow this", None),
            Refused::TooFast => ("more requests than are allowed: 5000 at once, 2000 a second", Some(1000)),
            Refused::TooOften => {
                ("more users and connections in turn than are written down: 100 a second", Some(1000))
            }
            Refused::TooMany => ("as many users as one client may have: 10000", None),
        };
        Reply::Answers(vec![Answer::Refused { user, reason: reason.into(), retry_after_ms }])
    }

    pub(super) fn review(&mut self, unix: Time, answers: &mut Vec<(ClientId, Answer)>) {
        let mut over = Vec::new();
        for (index, subscriptions) in self.identities.all().zip(&self.subscriptions) {
            for (&id, subscription) in subscriptions {
                let reason = match subscription.ground {
                    Ground::Consent => {
                        let is_over = subscription.consent_until.is_some_and(|until| until <= unix);
                        is_over.then_some(EndReason::ConsentExpired)
                    }
                    Ground::LiveFlow => {
                        let addresses = self.identities.addresses(index);
                        let has = self.live_flows.has(self.clients[&id].address, addresses);
                        (!has).then_some(EndReason::FlowEnded)
                    }
                    Ground::Operator => None,
                };
                over.extend(reason.map(|reason| (id, index, reason)));
            }
        }
        for (id, index, reason) in over {
            answers.extend(self.end(id, index, reason).map(|answer| (id, answer)));
        }
    }

    fn end(&mut self, id: ClientId, index: UserIndex, reason: EndReason) -> Option<Answer> {
        let subscription = self.subscriptions[index.0].remove(&id)?;
        if let Some(client) = self.clients.get_mut(&id) {
            client.subscriptions.remove(&index);
        }
        let user = self.identities.user(index).name.clone();
        self.audit(id, Event::Ended { user, reason });
        let reason = match reason {
            EndReason::Unsubscribed => "as asked",
            EndReason::FlowEnded => "there is no flow with this user any more",
            EndReason::ConsentExpired => "the user's consent has expired",
        };
        Some(Answer::Ended { user: subscription.user, reason: reason.into() })
    }
}

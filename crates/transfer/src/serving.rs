//! A server's transfer, from the request to the end.

use crate::agreement::{Agreed, described};
use crate::flow::Flow;
use crate::protocol::Message;
use crate::receiving::PeerClock;
use crate::server::{GRACE, LAST_PACKETS, PATIENCE, Shared};
use crate::session::{Control, Event, Session, Task};
use crate::{CloseCode, Direction, Request, TransferError};
use noq::Connection;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, timeout};

/// How often what a transfer uses is counted: a limit is kept within what the link carries in so much.
const CHARGE_EVERY: Duration = Duration::from_millis(20);

impl Shared {
    /// A transfer from its request to its end.
    pub(crate) async fn serve(&self, connection: &Connection, peer: SocketAddr) -> Result<(), TransferError> {
        let late = |_| TransferError::Protocol("no request for 10 s".into());
        let streams = timeout(PATIENCE, connection.accept_bi()).await.map_err(late)?;
        let streams = streams.map_err(|error| TransferError::of(error, "client"))?;
        let mut control = Control::new(connection.clone(), streams, "client");
        let request = match timeout(PATIENCE, control.read()).await.map_err(late)?? {
            Message::Request(request) => request,
            other => return Err(Control::unexpected(&other)),
        };
        let mut agreed = self.agree(&request, peer.ip())?;
        control.write(&agreed.answer()).await?;
        let scheme = agreed.congestion.scheme().text().to_owned();
        self.log(&format!("{peer}: {} by {scheme}", described(&request)));
        let preparing = self.prepare(&mut control, &mut agreed, &request);
        let late = |_| TransferError::Protocol("the data connections did not come within 10 s".into());
        let (flows, clock) = timeout(PATIENCE, preparing).await.map_err(late)??;
        let task = Task {
            payload: &request.payload,
            is_sender: request.direction == Direction::Get,
            streams: request.streams,
            file: agreed.file(),
            clock,
        };
        let mut session = Session::start(control, flows, &task);
        match self.transfer(&mut session, &request, &mut agreed).await {
            Ok(()) => {
                let took = session.elapsed().as_secs_f64();
                self.log(&format!("{peer}: complete after {took:.1} s"));
                // The client closes: it has the last word.
                let _ = timeout(LAST_PACKETS, connection.closed()).await;
                session.close(CloseCode::Done, "complete");
                Ok(())
            }
            Err(error) => {
                session.close(error.close_code(), &error.to_string());
                Err(error)
            }
        }
    }

    /// Until all data connections are there and the client says start.
    async fn prepare(
        &self,
        control: &mut Control,
        agreed: &mut Agreed,
        request: &Request,
    ) -> Result<(Vec<Flow>, PeerClock), TransferError> {
        let mut flows = Vec::new();
        let mut clock = None;
        while clock.is_none() || flows.len() < usize::from(request.connections) {
            tokio::select! {
                Some(connection) = agreed.arriving.recv() => {
                    flows.push(match request.direction {
                        Direction::Get => {
                            Flow::sending(connection, &agreed.congestion, self.settings.adviser.as_ref())?
                        }
                        Direction::Put => Flow::receiving(connection),
                    });
                }
                message = control.read() => match message? {
                    Message::Ping { client_ns } => {
                        let server_ns = self.epoch.elapsed().as_nanos() as u64;
                        control.write(&Message::Pong { client_ns, server_ns }).await?;
                    }
                    Message::Start { server_ahead_ns } => {
                        clock = Some(PeerClock { epoch: self.epoch, ahead_ns: server_ahead_ns.saturating_neg() });
                    }
                    other => return Err(Control::unexpected(&other)),
                },
            }
        }
        Ok((flows, clock.unwrap_or(PeerClock { epoch: self.epoch, ahead_ns: 0 })))
    }

    /// Moves the data, and tells the client how it goes.
    async fn transfer(
        &self,
        session: &mut Session,
        request: &Request,
        agreed: &mut Agreed,
    ) -> Result<(), TransferError> {
        let mut ticks = tokio::time::interval(Duration::from_nanos(request.interval.as_nanos()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks.reset();
        let mut charges = tokio::time::interval(CHARGE_EVERY);
        charges.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut charged_at = Instant::now();
        let mut ends = self.ends.subscribe();
        let ending = async {
            let _ = ends.wait_for(|ends| *ends).await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::pin!(ending);
        let mut is_through = false;
        loop {
            let event = tokio::select! {
                event = session.next(&mut ticks) => match event {
                    // The client has everything, and has closed before its report was read.
                    Err(TransferError::Closed { code, .. }) if is_through && code == CloseCode::Done as u64 => {
                        return Ok(());
                    }
                    event => event?,
                },
                () = &mut ending => {
                    return Err(TransferError::Shutdown("it shuts down; try again when it is back".into()));
                }
                _ = charges.tick() => {
                    let now = Instant::now();
                    let bytes = session.flows.iter_mut().map(Flow::uncharged).sum();
                    agreed.lease.charge(now, bytes, now - charged_at)?;
                    charged_at = now;
                    continue;
                }
            };
            match event {
                Event::Tick => {
                    let message = Message::Interval { at: session.elapsed(), flows: session.sample() };
                    session.control.write(&message).await?;
                }
                Event::Through => {
                    let report = session.report();
                    session.control.write(&Message::Ended(report)).await?;
                    is_through = true;
                }
                Event::Message(Message::Stop) => session.stop(),
                Event::Message(Message::Ended(_)) if request.direction == Direction::Get => return Ok(()),
                Event::Message(Message::Ended(sent)) => {
                    session.receive_rest(&sent, &request.payload).await?;
                    agreed.complete_file()?;
                    let report = session.report();
                    return session.control.write(&Message::Ended(report)).await;
                }
                Event::Message(other) => return Err(Control::unexpected(&other)),
            }
        }
    }
}

//! A server's transfer, from the request to the end.

use crate::agreement::{Agreed, described};
use crate::flow::Flow;
use crate::limits::CHARGE_INTERVAL;
use crate::protocol::Message;
use crate::receiving::PeerClock;
use crate::server::{FLUSH_TIMEOUT, REQUEST_TIMEOUT, SHUTDOWN_GRACE, Shared};
use crate::session::{Control, Event, Session, Task};
use crate::{CloseCode, Direction, Request, TransferError};
use noq::Connection;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, timeout};

/// A transfer whose request was accepted.
pub(crate) struct Begun {
    control: Control,
    request: Request,
    agreed: Agreed,
}

impl Shared {
    /// Waits for the request, and agrees to it.
    pub(crate) async fn begin(
        &self,
        connection: &Connection,
        peer: SocketAddr,
    ) -> Result<Begun, TransferError> {
        let late = |_| TransferError::Protocol("no request for 10 s".into());
        let streams = timeout(REQUEST_TIMEOUT, connection.accept_bi()).await.map_err(late)?;
        let streams = streams.map_err(|error| TransferError::of(error, "client"))?;
        let mut control = Control::new(connection.clone(), streams, "client");
        let request = match timeout(REQUEST_TIMEOUT, control.read()).await.map_err(late)?? {
            Message::Request(request) => request,
            other => return Err(Control::unexpected(&other)),
        };
        let agreed = self.agree(&request, peer.ip())?;
        Ok(Begun { control, request, agreed })
    }

    /// Serves a transfer from the agreement to its end.
    pub(crate) async fn serve(
        &self,
        connection: &Connection,
        peer: SocketAddr,
        begun: Begun,
    ) -> Result<(), TransferError> {
        let Begun { mut control, request, mut agreed } = begun;
        control.write(&agreed.answer()).await?;
        let scheme = agreed.congestion.scheme().text().to_owned();
        self.log(&format!("{peer}: {} by {scheme}", described(&request)));
        let preparing = self.prepare(&mut control, &mut agreed, &request);
        let late = |_| TransferError::Protocol("the data connections did not come within 10 s".into());
        let (flows, clock) = timeout(REQUEST_TIMEOUT, preparing).await.map_err(late)??;
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
                // The client closes the connection.
                let _ = timeout(FLUSH_TIMEOUT, connection.closed()).await;
                session.close(CloseCode::Done, "complete");
                Ok(())
            }
            Err(error) => {
                session.close(error.close_code(), &error.reason());
                Err(error)
            }
        }
    }

    /// Waits for all data connections and the client's start.
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
                            Flow::sending(connection, &agreed.congestion, self.settings.advice.as_ref())?
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

    /// Moves the data, and reports to the client.
    async fn transfer(
        &self,
        session: &mut Session,
        request: &Request,
        agreed: &mut Agreed,
    ) -> Result<(), TransferError> {
        let mut ticks = tokio::time::interval(Duration::from_nanos(request.interval.as_nanos()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        ticks.reset();
        let mut charges = tokio::time::interval(CHARGE_INTERVAL);
        charges.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut charged_at = Instant::now();
        let mut ends = self.ends.subscribe();
        let ending = async {
            let _ = ends.wait_for(|ends| *ends).await;
            tokio::time::sleep(SHUTDOWN_GRACE).await;
        };
        tokio::pin!(ending);
        let mut is_finished = false;
        loop {
            let event = tokio::select! {
                event = session.next(&mut ticks) => match event {
                    // The client has everything, and closed before its report was read.
                    Err(TransferError::Closed { code, .. }) if is_finished && code == CloseCode::Done as u64 => {
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
                Event::Finished => {
                    let report = session.report();
                    session.control.write(&Message::Ended(report)).await?;
                    is_finished = true;
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

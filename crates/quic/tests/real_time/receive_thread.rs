//! An endpoint that receives on a thread of its own.

use crate::support;
use crate::support::{HANG_TIMEOUT, SERVER_NAME};
use cellcc_quic::receive_thread::endpoint;
use noq::{ClientConfig, ServerConfig, TransportConfig};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn configs() -> (ServerConfig, ClientConfig) {
    support::configs(TransportConfig::default(), TransportConfig::default())
}

/// Waits until the address is free.
async fn is_free(address: SocketAddr) -> bool {
    let freed = async {
        while UdpSocket::bind(address).is_err() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(HANG_TIMEOUT, freed).await.is_ok()
}

#[tokio::test]
async fn connections_come_about_and_the_thread_ends_with_its_endpoint() {
    let (server, client) = configs();
    let (server, endpoint) = (endpoint(ANYWHERE, Some(server)).unwrap(), endpoint(ANYWHERE, None).unwrap());
    let address = server.local_addr().unwrap();
    let connecting = endpoint.connect_with(client, address, SERVER_NAME).unwrap();
    let accepted = async { server.accept().await.unwrap().await };
    let (connected, accepted) = tokio::join!(connecting, accepted);
    connected.unwrap().close(0_u32.into(), b"");
    accepted.unwrap().closed().await;
    drop(endpoint);
    drop(server);
    assert!(is_free(address).await);
}

#[test]
fn the_thread_ends_with_the_runtime_that_its_endpoint_was_made_in() {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let endpoint = runtime.block_on(async { endpoint(ANYWHERE, Some(configs().0)).unwrap() });
    let address = endpoint.local_addr().unwrap();
    drop(runtime);
    drop(endpoint);
    let here = Builder::new_current_thread().enable_all().build().unwrap();
    assert!(here.block_on(is_free(address)));
}

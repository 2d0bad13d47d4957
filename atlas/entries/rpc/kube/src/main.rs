//! kube: pods are listed or created, or their port is spoken to through the API server.
use std::io::Read;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PORT: u16 = 80;
const MESSAGE: [u8; 200] = [b'x'; 200];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let server = format!("http://{}:{}/", words[0], words[1]);
    let client = Client::try_from(Config::new(server.parse().unwrap())).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let exchanges = words[2].parse().unwrap();
    match words[3].as_str() {
        "list" => {
            ask(exchanges, async || {
                pods.list(&ListParams::default()).await.unwrap();
            })
            .await
        }
        "create" => {
            let pod = a_pod();
            ask(exchanges, async || {
                pods.create(&PostParams::default(), &pod).await.unwrap();
            })
            .await
        }
        _ => forward(&pods, exchanges).await,
    }
}

/// Sends two messages to a port of a pod and waits for the answer, again and again.
async fn forward(pods: &Api<Pod>, exchanges: u64) {
    let mut forwarder = pods.portforward("blog", &[PORT]).await.unwrap();
    let mut stream = forwarder.take_stream(PORT).unwrap();
    ask(exchanges, async || {
        stream.write_all(&MESSAGE).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        stream.write_all(&MESSAGE).await.unwrap();
        stream.read_exact(&mut [0; 400]).await.unwrap();
    })
    .await;
}

fn a_pod() -> Pod {
    serde_json::from_value(serde_json::json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "blog" },
        "spec": { "containers": [{ "name": "blog", "image": "clux/blog:0.1.0" }] }
    }))
    .unwrap()
}

async fn ask(exchanges: u64, mut exchange: impl AsyncFnMut()) {
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let began = Instant::now();
        exchange().await;
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

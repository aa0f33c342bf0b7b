//! A proxy that charges a request in Redis before it forwards it: what bench/nginx/quota.lua does, with Pingora.
//!
//! Arguments: port, port of the upstream, port of Redis, file with one line for each user (id, space, credential), file of the script.

use async_trait::async_trait;
use pingora_core::prelude::{Error, ErrorType, HttpPeer, Result};
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use pingora_http::RequestHeader;
use pingora_proxy::{ProxyHttp, Session, http_proxy_service};
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, Script};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

const HOUR: u64 = 3_600_000;
const LIMIT: u64 = 1_000_000_000_000;
const WINDOWS: [(&str, u64); 3] = [("1h", HOUR), ("5h", 5 * HOUR), ("1d", 24 * HOUR)];

struct Quota {
    upstream: u16,
    /** User of each field `Authorization`. */
    users: HashMap<String, String>,
    script: Script,
    redis: Client,
    /** Made by the first request, because it belongs to the runtime of the proxy. Requests share it. */
    connection: OnceCell<MultiplexedConnection>,
}

impl Quota {
    /** Number of the window that refuses, or 0. */
    async fn charge(&self, user: &str) -> std::result::Result<u32, RedisError> {
        let open = || self.redis.get_multiplexed_async_connection();
        let mut connection = self.connection.get_or_try_init(open).await?.clone();
        let mut call = self.script.prepare_invoke();
        for (name, _) in WINDOWS {
            call.key(format!("n:u:{user}:read:{name}"));
        }
        for (name, _) in WINDOWS {
            call.key(format!("n:g:read:{name}"));
        }
        call.arg(1);
        for (_, length) in WINDOWS.iter().chain(&WINDOWS) {
            call.arg(*length).arg(LIMIT);
        }
        call.invoke_async(&mut connection).await
    }
}

#[async_trait]
impl ProxyHttp for Quota {
    type CTX = Option<Arc<str>>;

    fn new_ctx(&self) -> Self::CTX {
        None
    }

    async fn request_filter(&self, session: &mut Session, user: &mut Self::CTX) -> Result<bool> {
        let credential = session.req_header().headers.get("authorization").and_then(|field| field.to_str().ok());
        let Some(known) = credential.and_then(|field| self.users.get(field)) else {
            session.respond_error(401).await?;
            return Ok(true);
        };
        match self.charge(known).await {
            Ok(0) => *user = Some(known.as_str().into()),
            Ok(_) => session.respond_error(429).await?,
            Err(_) => session.respond_error(503).await?,
        }
        Ok(user.is_none())
    }

    async fn upstream_peer(&self, _: &mut Session, _: &mut Self::CTX) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(("127.0.0.1", self.upstream), false, String::new())))
    }

    async fn upstream_request_filter(
        &self,
        _: &mut Session,
        request: &mut RequestHeader,
        user: &mut Self::CTX,
    ) -> Result<()> {
        request.remove_header("authorization");
        let known = user.as_deref().ok_or_else(|| Error::new(ErrorType::InternalError))?;
        request.insert_header("x-user", known)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, upstream, redis, users, script] = arguments.as_slice() else {
        panic!("port, port of the upstream, port of Redis, file of the users, file of the script");
    };
    let text = |file: &str| std::fs::read_to_string(file).expect("a file that can be read");
    let users = text(users)
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(user, credential)| (format!("Bearer {credential}"), user.to_owned()))
        .collect();
    let quota = Quota {
        upstream: upstream.parse().expect("port of the upstream"),
        users,
        script: Script::new(&text(script)),
        redis: Client::open(format!("redis://127.0.0.1:{redis}")).expect("port of Redis"),
        connection: OnceCell::new(),
    };
    let conf = ServerConf {
        threads: 1,
        upstream_keepalive_pool_size: 1100,
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(1),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let mut service = http_proxy_service(&server.configuration, quota);
    service.add_tcp(&format!("127.0.0.1:{port}"));
    server.add_service(service);
    server.run_forever();
}

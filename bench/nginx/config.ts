import { fileURLToPath } from 'node:url'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const MODULES = '/usr/lib/nginx/modules'

/** The common parts of a configuration. Its paths stand without quotes, so they may not have spaces or dollars. */
function frame(main: string, http: string, connections = 8192): string {
  return `
worker_processes 1;
pid nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
${main}
events { worker_connections ${connections}; }
http {
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  keepalive_requests 1000000000;
  tcp_nodelay on;
${http}
}
`
}

const LUA = `load_module ${MODULES}/ndk_http_module.so;
load_module ${MODULES}/ngx_http_lua_module.so;`

/**
 * The upstream of every row with the cheapest responses: files of the folder below /files/, at /upload a response after the
 * whole body, and below /socket a silent WebSocket. Below /introspect there is a provider of credentials. It responds
 * after as many milliseconds as its path says, and accepts the credentials that begin with `good-` and a number.
 */
export function upstreamConfig(port: number, folder: string): string {
  return frame(
    LUA,
    `
  access_log off;
  sendfile on;
  server {
    listen 127.0.0.1:${port};
    location / { default_type text/plain; return 200 "ok"; }
    location /files/ { root ${folder}; default_type application/octet-stream; }
    location /upload {
      client_max_body_size 0;
      client_body_buffer_size 11m;
      content_by_lua_block { ngx.req.read_body(); ngx.header.content_length = 2; ngx.print('ok') }
    }
    location /socket {
      content_by_lua_block {
        local key = ngx.req.get_headers()['Sec-WebSocket-Key'] .. '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
        local socket = ngx.req.socket(true)
        socket:send('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: '
          .. ngx.encode_base64(ngx.sha1_bin(key)) .. '\\r\\n\\r\\n')
        socket:settimeout(60000)
        socket:receive('*a')
      }
    }
    location ~ ^/introspect/(\\d+)$ {
      default_type application/json;
      content_by_lua_block {
        ngx.req.read_body()
        local user = (ngx.req.get_post_args().token or ''):match('^good%-(%d+)')
        ngx.sleep(tonumber(ngx.var[1]) / 1000)
        ngx.print(user and string.format('{"active":true,"sub":"u%09d"}', user) or '{"active":false}')
      }
    }
  }`,
  )
}

export interface QuotaConfig {
  readonly port: number
  readonly upstream: number
  readonly redis: number
  /** File with one line for each user: its id, a space, its credential. */
  readonly users: string
  /** `null` for no log. */
  readonly accessLog: string | null
  /** `null` for as many connections as the load has. */
  readonly limits: NginxLimits | null
}

export interface NginxLimits {
  /** Connections of clients. */
  readonly connections: number
  /** Connections of one address with a request under way. */
  readonly ofAddress: number
}

/** Connections of nginx itself, to the upstream and the store. */
const OWN_CONNECTIONS = 512

/** nginx with the quota in Lua, and with access lines that have the fields of the gateway's. */
export function quotaConfig({ port, upstream, redis, users, accessLog, limits }: QuotaConfig): string {
  return frame(
    LUA,
    `
  log_format request escape=json '{"time":"$msec","requestId":"$request_id","user":"$user","method":"$request_method",'
    '"route":"$uri","category":"read","cost":1,"httpStatus":"$upstream_status","clientStatus":$status,"durationMs":$request_time}';
  access_log ${accessLog === null ? 'off' : `${accessLog} request buffer=64k flush=500ms`};
  lua_package_path '${file('.')}?.lua;/usr/share/lua/5.1/?.lua;;';
  init_by_lua_block {
    quota = require 'quota'
    quota.init({ redis = ${redis}, users = '${users}', script = '${file('charge.lua')}' })
  }
  upstream backend { server 127.0.0.1:${upstream}; keepalive 1100; keepalive_requests 1000000000; }
  ${limits === null ? '' : limitsOf(limits)}
  server {
    listen 127.0.0.1:${port} backlog=1024;
    set $user '';
    location / {
      access_by_lua_block { quota.admit() }
      proxy_http_version 1.1;
      proxy_set_header Connection '';
      proxy_set_header Authorization '';
      proxy_set_header X-User $user;
      # Bodies are passed on as they come, as Tollgate does; the default writes large ones to files first.
      client_max_body_size 0;
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
      proxy_pass http://backend;
    }
  }`,
    limits === null ? undefined : limits.connections + OWN_CONNECTIONS,
  )
}

/** nginx that forwards. @param server the lines of its `server` block, with the upstreams `service` and, if it asks, `decisions` */
export function forwardingConfig(
  server: string,
  ports: { readonly service: number; readonly decisions: number },
): string {
  const upstreams = Object.entries(ports).map(
    ([name, port]) => `upstream ${name} { server 127.0.0.1:${port}; keepalive 1100; keepalive_requests 1000000000; }`,
  )
  return frame('', `  access_log off;\n  ${upstreams.join('\n  ')}\n  server {\n${server}\n  }`)
}

/** The limits of Tollgate's defaults that nginx has, too. */
function limitsOf({ ofAddress }: NginxLimits): string {
  return `client_header_timeout 10s; client_body_timeout 30s; keepalive_timeout 65s;
  limit_conn_zone $binary_remote_addr zone=address:10m; limit_conn address ${ofAddress};`
}

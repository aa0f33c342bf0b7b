import { delimiter } from 'node:path'
import { guideTool } from '../setup/guides-tools.ts'
import { startNginx } from '../setup/nginx.ts'
import { blockOf, HOST } from './page.ts'
import { startProgram } from './program.ts'
import type { Service } from './service.ts'
import { startTraefik } from './traefik.ts'

/** A proxy that forwards, and asks the gateway, as its page has it. */
export interface AskingProxy {
  /** The page, and the name of the proxy. */
  readonly page: string
  /** What the page has it read, with the addresses of the page. */
  file(): string
  /**
   * Starts it.
   * @param text the file, with the addresses of this machine
   * @param log where it writes a line for each request, all of them when it has stopped. Default nowhere
   */
  start(text: string, log?: string): Promise<Service>
  /** The file, by the lines of the page that have bodies sent to the gateway. Absent where the proxy sends none. */
  withBodies?(file: string): string
  /** Of a line of that log: method, target and status, as `GET /a 200`. */
  lineOf(line: string): string
}

/** Between the two files of a page. */
const BREAK = '\f'

/** `"GET /a HTTP/1.1" 200`, with anything around it. */
function common(line: string): string {
  const [, method, target, status] = /"(\S+) (\S+)[^"]*" (\d{3})/.exec(line) ?? []
  return `${method} ${target} ${status}`
}

export const nginx: AskingProxy = {
  page: 'nginx',
  file: () => blockOf('nginx', 'nginx').replace(/^listen .*$/m, ''),
  start: (text, log) => startNginx(log === undefined ? text : `access_log ${log} combined;\n${text}`),
  lineOf: common,
}

export const haproxy: AskingProxy = {
  page: 'haproxy',
  file: () => [blockOf('haproxy', 'lua'), blockOf('haproxy', 'haproxy')].join(BREAK),
  start: (text, log) =>
    startProgram(({ port, write }) => {
      const [lua = '', own = ''] = text.split(BREAK)
      // A thread that finds another one at the log leaves its line out, so one has to do.
      const logged = `frontend shop\n  option dontlognull\n  log stdout format raw local0\n  log-format '"%HM %HU %HV" %ST'`
      write('tollgate.lua', lua)
      const all = own.replace('127.0.0.1:8000', `127.0.0.1:${port}`)
      write(
        'haproxy.cfg',
        log === undefined ? all : all.replace('frontend shop', logged).replace('global', 'global\n  nbthread 1'),
      )
      const env = { PATH: `${process.env.PATH}${delimiter}/usr/sbin` }
      return { command: 'haproxy', args: ['-db', '-f', 'haproxy.cfg'], env, ...(log !== undefined && { output: log }) }
    }),
  lineOf: common,
}

export const caddy: AskingProxy = {
  page: 'caddy',
  file: () => blockOf('caddy', 'caddy'),
  start: (text, log) =>
    startProgram(({ port, folder, write }) => {
      const logged = log === undefined ? '' : `\n\tlog {\n\t\toutput file ${log}\n\t\tformat json\n\t}`
      write('Caddyfile', text.replace(':8000 {', `:${port} {${logged}`))
      const args = ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile']
      return { command: guideTool('caddy'), args, env: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder } }
    }),
  lineOf(line) {
    const { request, status } = JSON.parse(line) as { request: { method: string; uri: string }; status: number }
    return `${request.method} ${request.uri} ${status}`
  },
}

export const envoy: AskingProxy = {
  page: 'envoy',
  file: () => blockOf('envoy', 'yml'),
  start: (text, log) =>
    startProgram(({ port, write }) => {
      const own = text.replace('port_value: 8000 ', `port_value: ${port} `)
      write('envoy.yaml', log === undefined ? own : own.replace('stat_prefix: shop', (key) => `${key}${logTo(log)}`))
      const args = ['-c', 'envoy.yaml', '--concurrency', '1', '--use-dynamic-base-id', '-l', 'critical']
      return { command: guideTool('envoy'), args }
    }),
  withBodies: (file) =>
    file
      .replace(/^( *)http_service:/m, '$1with_request_body: { max_request_bytes: 65536 }\n$&')
      .replace('{ exact: accept }', '{ exact: accept }, { exact: content-type }'),
  lineOf: common,
}

function logTo(path: string): string {
  const format = '"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE%\n'
  const config = {
    '@type': 'type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog',
    path,
    log_format: { text_format_source: { inline_string: format } },
  }
  const indent = ' '.repeat(16)
  return `\n${indent}access_log: ${JSON.stringify([{ name: 'envoy.access_loggers.file', typed_config: config }])}`
}

export const traefik: AskingProxy = {
  page: 'traefik-forward-auth',
  file: () => blockOf('traefik-forward-auth', 'yml'),
  start: (text, log) =>
    startTraefik(
      text,
      (port) => ({ port, origin: `http://${HOST}` }),
      ...(log === undefined ? [] : [`--accesslog.filepath=${log}`]),
    ),
  withBodies: (file) => file.replace(/^( *)trustForwardHeader/m, '$1forwardBody: true\n$1maxBodySize: 65536\n$&'),
  lineOf: common,
}

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Place, type Program, startProgram } from '../guides/program.ts'
import type { Service } from '../guides/service.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import { freePort } from '../setup/redis.ts'
import { zooProgram, zooTool } from '../setup/zoo-tools.ts'
import { SHAPES, type Shape } from './shapes.ts'

export interface Upstream {
  readonly name: string
  readonly url: string
  readonly shapes: ReadonlySet<Shape>
  /** Lines of `upstream` of Tollgate, and of the `location` of nginx, that it needs. */
  readonly tollgate: string
  readonly nginx: string
  stop(): Promise<void>
}

interface Kind {
  readonly name: string
  readonly shapes: ReadonlySet<Shape>
  /** `null` if it cannot be had here. */
  program(place: Place): Program | null
}

const PROGRAMS = join(import.meta.dirname, 'programs')
const ALL = new Set(Object.keys(SHAPES) as Shape[])
const HTTP = new Set([...ALL].filter((shape) => shape !== 'ws'))
/** Of a server that has files. */
const FILES = new Set<Shape>(['early', 'head', 'range', 'keepalive'])

/** Without what it writes about each request. */
function quiet(command: string | null, ...args: string[]): Program | null {
  if (command === null) return null
  return { command: 'sh', args: ['-c', 'exec "$0" "$@" >/dev/null 2>&1', command, ...args] }
}

function python(tool: string, ...args: string[]): Program | null {
  const path = zooTool('python')
  const program = quiet(path && join(dirname(path), tool), ...args)
  return program && { ...program, env: { PYTHONPATH: join(PROGRAMS, 'python'), PYTHONDONTWRITEBYTECODE: '1' } }
}

function java(server: string, port: number): Program | null {
  const jar = zooTool('java')
  return jar === null ? null : quiet('java', '-cp', `${jar}:${dirname(jar)}/lib/*`, 'Service', server, String(port))
}

const KINDS: readonly Kind[] = [
  {
    name: 'gunicorn sync',
    shapes: HTTP,
    program: ({ port }) => python('gunicorn', '-w', '2', '-b', `127.0.0.1:${port}`, 'service:wsgi'),
  },
  {
    name: 'gunicorn gthread',
    shapes: HTTP,
    program: ({ port }) =>
      python('gunicorn', '-k', 'gthread', '--threads', '4', '-b', `127.0.0.1:${port}`, 'service:wsgi'),
  },
  {
    name: 'waitress',
    shapes: HTTP,
    program: ({ port }) => python('waitress-serve', `--listen=127.0.0.1:${port}`, 'service:wsgi'),
  },
  {
    name: 'uvicorn',
    shapes: ALL,
    program: ({ port }) => python('uvicorn', '--port', `${port}`, 'service:asgi'),
  },
  {
    name: 'hypercorn',
    shapes: ALL,
    program: ({ port }) => python('hypercorn', '-b', `127.0.0.1:${port}`, 'service:asgi'),
  },
  {
    name: 'puma',
    shapes: HTTP,
    program: ({ port }) => quiet(zooProgram('puma'), '-b', `tcp://127.0.0.1:${port}`, join(PROGRAMS, 'ruby/config.ru')),
  },
  {
    name: 'php -S',
    shapes: HTTP,
    program: ({ port }) => quiet(zooProgram('php'), '-S', `127.0.0.1:${port}`, join(PROGRAMS, 'php/index.php')),
  },
  {
    name: 'Express',
    shapes: ALL,
    program: ({ port }) => quiet(process.execPath, join(PROGRAMS, 'service.mjs'), `${port}`),
  },
  { name: 'Go', shapes: ALL, program: ({ port }) => quiet(zooTool('go'), 'service', `${port}`) },
  { name: 'Tomcat', shapes: ALL, program: ({ port }) => java('tomcat', port) },
  { name: 'Jetty', shapes: HTTP, program: ({ port }) => java('jetty', port) },
  { name: 'Undertow', shapes: ALL, program: ({ port }) => java('undertow', port) },
  { name: 'nginx', shapes: FILES, program: nginxFiles },
]

function nginxFiles(place: Place): Program | null {
  const { port, folder } = place
  filesIn(place)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  place.write(
    'nginx.conf',
    `daemon off; pid ${folder}/pid; error_log stderr crit; events {}
http { access_log off; ${temporary.join(' ')} server { listen 127.0.0.1:${port}; root ${folder}/files;
  location = /early { return 401 early; } } }`,
  )
  return quiet(zooProgram('nginx'), '-p', folder, '-c', join(folder, 'nginx.conf'))
}

function filesIn({ folder }: Place): void {
  mkdirSync(join(folder, 'files'))
  writeFileSync(join(folder, 'files/hello'), 'hello')
  writeFileSync(join(folder, 'files/range'), 'abcdefghijklmnopqrstuvwxyz')
}

/**
 * Starts one of each kind that can be had.
 * @param started gets them as they come, so that they can be stopped if another fails
 * @param missing gets the names of those that cannot be had
 */
export async function startUpstreams(started: Upstream[], missing: string[]): Promise<void> {
  const kinds = KINDS.map(async (kind) => {
    const upstream = await startKind(kind)
    if (upstream === null) missing.push(kind.name)
    else started.push(upstream)
  })
  await Promise.all([...kinds, startApache(started, missing)])
  const names = [...KINDS.map(({ name }) => name), APACHE, APACHE_TLS]
  started.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name))
}

export const APACHE = 'Apache'
const APACHE_TLS = 'Apache, TLS'

async function startKind({ name, shapes, program }: Kind): Promise<Upstream | null> {
  const service = await startIf(program)
  if (service === null) return null
  const { port, stop } = service
  return { name, url: `http://127.0.0.1:${port}`, shapes, tollgate: '', nginx: '', stop }
}

/** Starts one kind by its name; `null` if it cannot be had. */
export async function startUpstream(name: string): Promise<Upstream | null> {
  const kind = KINDS.find((each) => each.name === name)
  if (kind === undefined) throw new Error(`no upstream is called ${name}`)
  return await startKind(kind)
}

class Missing extends Error {}

async function startIf(program: Kind['program']): Promise<Service | null> {
  try {
    return await startProgram((place) => {
      const say = program(place)
      if (say === null) throw new Missing()
      return say
    })
  } catch (error) {
    if (error instanceof Missing) return null
    throw error
  }
}

const MODULES = [
  ...['mpm_event', 'authz_core', 'authn_core', 'alias', 'dir', 'mime', 'env', 'cgid', 'headers'],
  ...['ssl', 'socache_shmcb', 'dav', 'dav_fs', 'dav_lock'],
]

/** Apache with files, DAV and repositories of git; and as two names over TLS, of which the second is asked. */
export async function startApache(started: Upstream[], missing: string[]): Promise<void> {
  const tlsPort = await freePort()
  let ca = ''
  const service = await startIf((place) => {
    const command = zooProgram('apache2')
    if (command === null) return null
    ca = join(place.folder, 'ca.crt')
    writeApache(place, tlsPort)
    return quiet(command, '-X', '-f', join(place.folder, 'apache.conf'))
  })
  if (service === null) {
    missing.push(APACHE)
    return
  }
  const plain = { name: APACHE, url: `http://127.0.0.1:${service.port}`, shapes: FILES, stop: service.stop }
  const tls = {
    name: APACHE_TLS,
    url: `https://127.0.0.1:${tlsPort}`,
    shapes: FILES,
    stop: async () => {},
    tollgate: `host: b.test, tls: { ca: "${ca}", server_name: b.test }`,
    nginx: `proxy_set_header Host b.test; proxy_ssl_server_name on; proxy_ssl_name b.test; proxy_ssl_verify on; proxy_ssl_trusted_certificate ${ca};`,
  }
  started.push({ ...plain, tollgate: '', nginx: '' }, tls)
}

function writeApache(place: Place, tlsPort: number): void {
  const { port, folder, write } = place
  filesIn(place)
  for (const name of ['dav', 'git']) {
    mkdirSync(join(folder, name))
    chmodSync(join(folder, name), 0o777)
  }
  makeRepository(join(folder, 'git/zoo.git'))
  const authority = makeCa(folder, 'ca')
  const host = (name: string): string => {
    const { certFile, keyFile } = makeCertificate(folder, name, authority, `DNS:${name}.test`)
    return `<VirtualHost 127.0.0.1:${tlsPort}>
ServerName ${name}.test
SSLEngine on
SSLCertificateFile ${certFile}
SSLCertificateKeyFile ${keyFile}
</VirtualHost>`
  }
  write(
    'apache.conf',
    `${MODULES.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
ServerRoot ${folder}
TypesConfig /dev/null
ServerName localhost
User www-data
Group www-data
PidFile ${folder}/apache.pid
Mutex file:${folder}
ScriptSock ${folder}/cgi.sock
ErrorLog ${folder}/error.log
Listen 127.0.0.1:${port}
Listen 127.0.0.1:${tlsPort}
DocumentRoot ${folder}/files
Redirect 401 /early
ErrorDocument 401 early
DavLockDB ${folder}/dav/.lock
Alias /dav ${folder}/dav
<Location /dav>
Dav On
</Location>
SetEnv GIT_PROJECT_ROOT ${folder}/git
SetEnv GIT_HTTP_EXPORT_ALL 1
SetEnv GIT_CONFIG_COUNT 1
SetEnv GIT_CONFIG_KEY_0 safe.directory
SetEnv GIT_CONFIG_VALUE_0 *
ScriptAlias /git/ /usr/lib/git-core/git-http-backend/
${host('a')}
${host('b')}`,
  )
}

/** An empty one that takes what anybody pushes. */
function makeRepository(folder: string): void {
  execFileSync('git', ['init', '--quiet', '--bare', '--shared=all', '--initial-branch=main', folder])
  execFileSync('git', ['-C', folder, 'config', 'http.receivepack', 'true'])
  execFileSync('chmod', ['-R', 'a+rwX', folder])
}

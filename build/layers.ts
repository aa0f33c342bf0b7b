import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'

/**
 * The imports that each part of `src` and `services` may have. All else is denied: a folder that is not named here, a library, a
 * module of Node. Types count, because a type connects two parts like a value.
 */
interface Part {
  /** Files and folders of other parts. */
  readonly files: readonly string[]
  readonly libraries?: readonly string[]
  /** Modules of Node. Default any. */
  readonly node?: readonly string[]
}

/** Small tools without any knowledge of the project. */
const LIB = ['lib/']
/** The basic terms of requests, charges and changes. They are pure: no library, no socket, no file. */
const GROUND = [...LIB, 'errors.ts', 'observe/observation.ts']
const DOMAIN = [
  ...GROUND,
  'inputs/',
  'quota/',
  'failures/',
  'usage/',
  'control/',
  'replicas/',
  'alerts/',
  'alerts/kinds/',
]
/** Parts that adapt something outside the domain. The name of each tells what it adapts. */
const ADAPTERS = [
  'config/',
  'config/checks/',
  'routing/',
  'auth/',
  'store/',
  'store/redis/',
  'forward/',
  'respond/',
  'webhook/',
  'observe/',
  'opentelemetry/',
  'oidc/',
  'node/',
  'contract/',
]
/** The public files of the upstream client: its contract, its implementation, and its names and failures. */
const CLIENT = ['contract', 'pool', 'failure', 'header-name', 'addresses'].map((name) => `forward/client/${name}.ts`)
/** Parts that know contracts, and never a store, a logger or a counter. */
const PLANES = ['edge/', 'gateway/', 'decisions/', 'admin/', 'reference/']
const APP = [...DOMAIN, ...ADAPTERS, ...PLANES, 'app/']
const PURE = { node: ['node:crypto', 'node:zlib'] }
const SERVICE = ['services/common/', 'services/music/', 'lib/', 'node/inspector-signal.ts']
const SERVICES = [...SERVICE, 'services/chart/', 'services/score/', 'services/sync/']
const SERVER = ['fastify', 'zod']
const BROWSER = { node: [] }

const PARTS: Readonly<Record<string, Part>> = {
  'lib/': { files: [] },
  // zod and undici have no place in the domain, which may use all other files of `lib`.
  'lib/openapi-schemas.ts': { files: LIB, libraries: ['zod'] },
  'lib/http-client.ts': { files: LIB, libraries: ['undici'] },
  'errors.ts': { files: [] },
  'observe/observation.ts': { files: DOMAIN, ...PURE },
  'inputs/': { files: GROUND, node: [] },
  'quota/': { files: GROUND, ...PURE },
  'failures/': { files: [...GROUND, 'quota/'], ...PURE },
  'usage/': { files: [...GROUND, 'quota/', 'failures/'], ...PURE },
  'control/': { files: [...GROUND, 'quota/'], ...PURE },
  'replicas/': { files: [...GROUND, 'usage/silence.ts'] },
  'alerts/': {
    files: [...GROUND, 'quota/', 'failures/', 'alerts/kinds/'],
    node: [...PURE.node, 'node:timers/promises'],
  },
  // The types of the dashboard are made from the kinds, so these use no module of Node.
  'alerts/kinds/': { files: [...GROUND, 'quota/', 'failures/', 'alerts/'], node: [] },
  'config/': { files: [...DOMAIN, 'config/checks/'], libraries: ['yaml', 'zod'] },
  // To warn about a request, a check looks up its route as the gateway does.
  'config/checks/': { files: [...DOMAIN, 'config/', 'routing/'] },
  'routing/': { files: DOMAIN },
  'auth/': { files: [...DOMAIN, 'lib/http-client.ts'], libraries: ['jose'] },
  'store/': { files: DOMAIN },
  'store/redis/': { files: [...DOMAIN, 'store/', 'node/'], libraries: ['ioredis'] },
  'webhook/': { files: [...DOMAIN, 'lib/http-client.ts'], libraries: ['standardwebhooks'] },
  'respond/': { files: [...DOMAIN, 'node/'] },
  'forward/': { files: [...DOMAIN, ...CLIENT, 'respond/', 'node/'], libraries: ['http-proxy-3'] },
  // A separate product, which knows no charges, no users and nothing else of Tollgate.
  'forward/client/': { files: [...LIB, 'node/failed-writes.ts'] },
  'observe/': { files: [...DOMAIN, 'node/'], libraries: ['pino', 'prom-client'] },
  // Loaded only by a process that sends spans.
  'opentelemetry/': {
    files: DOMAIN,
    libraries: ['api', 'exporter-trace-otlp-proto', 'resources', 'sdk-trace'].map((name) => `@opentelemetry/${name}`),
  },
  // Loaded when somebody signs in by a provider.
  'oidc/': { files: DOMAIN, libraries: ['openid-client'] },
  'node/': { files: LIB },
  // The bodies of everything that leaves the process.
  'contract/': { files: [...DOMAIN, 'lib/openapi-schemas.ts'], libraries: ['zod'], ...PURE },
  'edge/': { files: [...DOMAIN, 'respond/', 'routing/', 'node/'] },
  'gateway/': { files: [...DOMAIN, 'edge/', 'respond/', 'routing/', 'auth/', 'forward/'] },
  'decisions/': { files: [...DOMAIN, 'edge/', 'auth/', 'gateway/', 'respond/', 'contract/', 'lib/openapi-schemas.ts'] },
  'admin/': {
    files: [
      ...DOMAIN,
      'contract/',
      'lib/openapi-schemas.ts',
      'node/flood-rests.ts',
      'node/late-requests.ts',
      'node/raw-socket.ts',
      'node/short-records.ts',
    ],
    libraries: SERVER,
  },
  'reference/': {
    files: [...DOMAIN, 'contract/', 'config/', 'config/checks/', 'routing/', 'gateway/', 'respond/'],
  },
  'app/': { files: APP },
  // Decides logs again: the arithmetic of the gateway without sockets and stores.
  'replay/': {
    files: [...DOMAIN, 'config/', 'routing/', 'auth/', 'gateway/', 'app/'],
  },
  'suggest/': {
    files: [...DOMAIN, 'config/', 'routing/', 'app/', 'replay/'],
  },
  'workers/': { files: APP },
  'cli/': { files: [...APP, 'workers/', 'replay/', 'suggest/'] },
  'main.ts': { files: [...APP, 'workers/', 'cli/'] },
  'services/common/': { files: [...LIB, 'lib/openapi-schemas.ts'], libraries: SERVER },
  'services/music/': { files: SERVICE, libraries: SERVER },
  'services/chart/': { files: SERVICE, libraries: SERVER },
  'services/score/': { files: [...SERVICE, 'services/score/external/http.ts'], libraries: SERVER },
  'services/score/external/http.ts': { files: [], libraries: ['undici'] },
  'services/sync/': { files: SERVICE, libraries: SERVER },
  // The only place where the gateway and the services meet.
  'services/demo/': { files: [...APP, 'cli/', ...SERVICES] },
  // The pages run in a browser. These files of the domain are shared with the gateway, so that each rule is written once: when a window
  // blocks, what a mode makes of a limit, how a limit is written, which settings lie over others, and what a spreadsheet runs.
  'dashboard/': {
    files: [
      'contract/api.ts',
      'control/leaves.ts',
      'quota/window.ts',
      'quota/limit-layers.ts',
      'quota/limit-value.ts',
      'quota/forecast.ts',
      'quota/multiplied.ts',
      'lib/csv.ts',
    ],
    libraries: [
      'react',
      'react-dom',
      '@mantine/core',
      '@mantine/hooks',
      '@tanstack/react-query',
      '@visx/axis',
      '@visx/pattern',
      '@visx/scale',
      '@visx/shape',
    ],
    ...BROWSER,
  },
  'reference/page/': { files: ['reference/selection.ts'], libraries: ['swagger-ui-dist'], ...BROWSER },
}

type Rule = 'layer' | 'node' | 'library' | 'import-type' | 'computed'

interface Import {
  readonly from: string
  /** A file, or the name of a module or library. */
  readonly to: string
  /** The rule that judges it. */
  readonly rule: Rule
}

/** All violations of the layers, each with the name of its rule. @param root the folder that holds `src` and `services` */
export function violations(root: string): string[] {
  const paths = globSync(['src/**/*.{ts,tsx}', 'services/**/*.{ts,tsx}'], { cwd: root, exclude: ['services/test/**'] })
  const files = paths.map(nameOf)
  const imports = paths.flatMap((path) => importsOf(path, readFileSync(join(root, path), 'utf8')))
  return [
    ...files.filter((file) => partOf(file) === null).map((file) => `part: ${file} is in no part of build/layers.ts`),
    ...imports.flatMap((each) => denied(each) ?? []),
    ...circles(imports),
  ]
}

function denied({ from, to, rule }: Import): string | null {
  const name = partOf(from)
  if (name === null) return null
  const { files, libraries = [], node } = PARTS[name] as Part
  const isAllowed = {
    layer: [name, ...files].some((known) => known === to || known === partOf(to)),
    node: node === undefined || node.includes(to),
    library: libraries.includes(to),
    // Neither of these stands among the imports at the top, where a reader looks for imports.
    'import-type': false,
    computed: false,
  }[rule]
  return isAllowed ? null : `${rule}: ${from} may not import ${to}`
}

/** The part of a file: of all parts that fit, the one with the longest name. */
function partOf(file: string): string | null {
  const fitting = Object.keys(PARTS).filter((name) => (name.endsWith('/') ? file.startsWith(name) : file === name))
  return fitting.reduce<string | null>((best, name) => (name.length > (best?.length ?? 0) ? name : best), null)
}

function importsOf(path: string, text: string): Import[] {
  const from = nameOf(path)
  const { program, errors, comments } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${from}: ${errors[0]?.message}`)
  const found: Import[] = comments.flatMap(({ value }) =>
    /^\/\s*<reference\b/.test(value) ? { from, to: value.slice(1).trim(), rule: 'import-type' } : [],
  )
  visit(program, ({ type, source, expression, callee, arguments: args }) => {
    const isRequired = type === 'CallExpression' && callee?.name === 'require'
    const name = type === 'TSExternalModuleReference' ? expression : isRequired ? args?.[0] : source
    if (typeof name?.value === 'string') found.push(importOf(path, name.value, type === 'TSImportType'))
    else if (isRequired || type === 'ImportExpression')
      found.push({ from, to: 'what only a run shows', rule: 'computed' })
  })
  return found
}

/** The parts of a node that are read. Each kind of node has some of them. */
interface Syntax {
  readonly type?: string
  readonly name?: string
  readonly value?: unknown
  readonly source?: Syntax | null
  readonly expression?: Syntax
  readonly callee?: Syntax
  readonly arguments?: readonly Syntax[]
}

function visit(node: unknown, look: (node: Syntax) => void): void {
  if (typeof node !== 'object' || node === null) return
  look(node)
  for (const part of Object.values(node)) visit(part, look)
}

/** The name of a file in this check: its path without `src/`. */
function nameOf(path: string): string {
  return path.replace(/^src\//, '')
}

function importOf(path: string, name: string, isType: boolean): Import {
  const from = nameOf(path)
  if (isType) return { from, to: name, rule: 'import-type' }
  if (name.startsWith('.')) return { from, to: nameOf(posix.join(posix.dirname(path), name)), rule: 'layer' }
  if (isBuiltin(name)) return { from, to: `node:${name.replace('node:', '')}`, rule: 'node' }
  return { from, to: name.split('/', name.startsWith('@') ? 2 : 1).join('/'), rule: 'library' }
}

/** Circles of imports, at least one if there is any. Each file is visited once, so not every circle is found. */
function circles(imports: readonly Import[]): string[] {
  const next = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const found: string[] = []

  function follow(file: string, way: readonly string[]): void {
    const start = way.indexOf(file)
    if (start >= 0) found.push(`circle: ${[...way.slice(start), file].join(' -> ')}`)
    if (start >= 0 || done.has(file)) return
    for (const { to, rule } of next.get(file) ?? []) if (rule === 'layer') follow(to, [...way, file])
    done.add(file)
  }
  for (const file of next.keys()) follow(file, [])
  return found
}

if (import.meta.main) {
  const found = violations(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
  for (const each of found) console.error(each)
  console.log(found.length === 0 ? 'the layers hold' : `${found.length} imports break the layers`)
  process.exitCode = found.length === 0 ? 0 : 1
}

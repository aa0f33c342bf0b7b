import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { InTurn } from './test/setup/sequencer.ts'
import { Summary } from './test/setup/summary.ts'

/**
 * Functions and objects by themselves, in one process for all files: what is wrong with them shows within 5 s. `npm run test:quick`. A property
 * with many runs has a limit of its own, and so has a file that starts processes (`vi.setConfig`).
 */
const PURE = [
  'test/{alerts,auth,config,control,dashboard,failures,inputs,quota,routing,usage,webhook}/**/*.test.ts',
  // These two count the timers of the whole process.
  'test/lib/**/!(event-loop-delay|repeat).test.ts',
]
/** With programs of the system: never among the quick ones. */
const INSTALLED = 'test/*/installed/**/*.test.ts'
/**
 * What needs no process of its own either. With a fresh one for each file the folders of the first line, and those of PURE, take 327 s of CPU
 * instead of 253, and those from `bin` to `node` 135 instead of 107.
 */
const SHARED = [
  'test/{admin,bench,cli,contract,docs,face,reference}/**/*.test.ts',
  'test/{decisions,fuzz,replay}/**/*.test.ts',
  // What needs programs of the system is among the guides of another project.
  'test/guides/*.test.ts',
  // It counts the bytes of its process.
  'test/gateway/**/!(response-cost).test.ts',
  'test/{app,build,replicas,respond,edge/body}/**/*.test.ts',
  'test/routing/installed/*.test.ts',
  'services/test/**/*.test.ts',
  // It has a disk of its own in place of node:fs.
  'test/{bin,nights,observe,setup,store,suggest,workers}/**/!(full-disk).test.ts',
  // They look at the memory of the whole process.
  'test/forward/**/!(backlog|header-name|pool).test.ts',
  'test/node/**/*.test.ts',
  'test/{errors,main}.test.ts',
  // 181 s of CPU instead of 260, since the schemas that responses are held against are compiled once. The others count what a whole process holds or does in a turn.
  'test/edge/!(malformed-body|piece-floods|shares|turns|unseen).test.ts',
  'test/e2e/**/!(introspection-flood|traces).test.ts',
]
/** Bytes that a request allocates: behind all others and alone, since batches of charges are smaller where a machine has a lot to do. */
const PERFORMANCE = 'test/performance/**/*.test.ts'
/** `npm run test:browser`. */
const BROWSER = 'test/browser/**/*.test.ts'
/** The site of the documents, which another package builds: `npm run test:site`. */
const SITE = 'test/build/installed/*.test.ts'
/** What is broken on purpose: `npm run test:long`. */
const FAULTS = 'test/faults/**/*.test.ts'
/** Floods, slow clients, tunnels, groups of Redis, and how processes end: `npm run test:long`, too. */
const LONG = 'test/**/*.long.test.ts'
/** With tools that take minutes to install: `npm run test:deploy`. */
const DEPLOY = 'test/deploy/**/*.test.ts'
/** With services that other registries have: `npm run test:guides`. */
const GUIDES = 'test/guides/installed/**/*.test.ts'
/** Clients and servers of other languages, through Tollgate and its peers: `npm run test:zoo`. */
const ZOO = 'test/zoo/**/*.test.ts'
/** In a Kubernetes that takes minutes to build: `npm run test:cluster`. */
const CLUSTER = 'test/cluster/**/*.test.ts'
/** Two versions over one Redis, the other one out of the history: `npm run test:upgrade`. */
const UPGRADE = 'test/upgrade/**/*.test.ts'

export default defineConfig({
  test: {
    pool: 'forks',
    // Some start one process after the other; on a machine with a lot to do each takes seconds.
    testTimeout: 120_000,
    setupFiles: 'test/setup/hold-responses.ts',
    hookTimeout: 120_000,
    // What is polled comes: a slow machine is not a failure (1 s by default).
    expect: { poll: { timeout: 30_000 } },
    // Files mostly wait for clocks and processes. Seven at once leave no core idle, but then tests that are sensitive to load fail.
    maxWorkers: 5,
    // Hundreds of processes are started from their sources: 0.85 s each, and 1.15 s where Node compiles them anew.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') },
    sequence: { sequencer: InTurn },
    reporters: ['default', new Summary()],
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: PURE,
          exclude: [...configDefaults.exclude, LONG, INSTALLED],
          isolate: false,
          testTimeout: 5000,
          hookTimeout: 20_000,
          // What never comes is said, with what came instead, before the test is over.
          expect: { poll: { timeout: 4000 } },
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include: SHARED,
          exclude: [...configDefaults.exclude, LONG, SITE],
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            ...PURE,
            PERFORMANCE,
            ...SHARED,
            BROWSER,
            SITE,
            FAULTS,
            LONG,
            DEPLOY,
            GUIDES,
            CLUSTER,
            UPGRADE,
            ZOO,
          ],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // One browser, and pages that are used again: 250 s of CPU instead of 424. More pages at a time have nothing to gain.
        test: {
          name: 'browser',
          include: [BROWSER],
          maxWorkers: 4,
          globalSetup: 'test/setup/browser-server.ts',
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'performance', include: [PERFORMANCE], sequence: { groupOrder: 8 }, maxWorkers: 1 },
      },
      { extends: true, test: { name: 'site', include: [SITE], sequence: { groupOrder: 1 }, hookTimeout: 900_000 } },
      { extends: true, test: { name: 'faults', include: [FAULTS], sequence: { groupOrder: 0 } } },
      // Each takes a core for itself, or waits for clocks.
      { extends: true, test: { name: 'long', include: [LONG], sequence: { groupOrder: 4 }, maxWorkers: 2 } },
      { extends: true, test: { name: 'guides', include: [GUIDES], sequence: { groupOrder: 3 }, maxWorkers: 2 } },
      { extends: true, test: { name: 'zoo', include: [ZOO], sequence: { groupOrder: 7 }, maxWorkers: 1 } },
      { extends: true, test: { name: 'upgrade', include: [UPGRADE], sequence: { groupOrder: 6 } } },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: [CLUSTER],
          globalSetup: 'test/cluster/setup.ts',
          sequence: { groupOrder: 5 },
          hookTimeout: 900_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'deploy',
          include: [DEPLOY],
          sequence: { groupOrder: 2 },
          hookTimeout: 900_000,
          // Images and compilers take both cores by themselves.
          fileParallelism: false,
        },
      },
    ],
  },
})

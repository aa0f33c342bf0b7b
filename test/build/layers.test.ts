import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, test } from 'vitest'
import { violations } from '../../build/layers.ts'
import { tempFolder } from '../setup/at-end.ts'

const run = promisify(execFile)

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

/** @param file without `src`, as the check names it */
function pathOf(file: string): string {
  return file.startsWith('services/') ? file : `src/${file}`
}

function write(file: string, text: string): void {
  const path = join(folder, pathOf(file))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

test('the sources keep to the layers, and the check of them has nothing else to say', async () => {
  expect(await run(process.execPath, ['build/layers.ts'])).toEqual({ stdout: 'the layers hold\n', stderr: '' })
})

test('a source that breaks the layers makes the check fail', async () => {
  write('gateway/x.ts', "import '../store/store.ts'\n")
  expect(await run(process.execPath, ['build/layers.ts', folder]).catch((error: unknown) => error)).toMatchObject({
    code: 1,
    stderr: 'layer: gateway/x.ts may not import store/store.ts\n',
  })
})

describe('a file may not import another layer:', () => {
  test.each([
    ['the domain an adapter', 'quota/x.ts', 'config/load.ts'],
    ['the quota what is above it', 'quota/x.ts', 'failures/x.ts'],
    ['failures what administrators change', 'failures/x.ts', 'control/x.ts'],
    ['what administrators change failures', 'control/x.ts', 'failures/x.ts'],
    ['what is reported an adapter', 'observe/observation.ts', 'observe/log.ts'],
    ['an adapter another one', 'auth/x.ts', 'store/store.ts'],
    ['the contract of the stores one of them', 'store/x.ts', 'store/redis/redis-store.ts'],
    ['the gateway a store', 'gateway/x.ts', 'store/store.ts'],
    ['the gateway a log', 'gateway/x.ts', 'observe/log.ts'],
    ['the gateway the configuration', 'gateway/x.ts', 'config/config.ts'],
    ['the gateway the administrators', 'gateway/x.ts', 'contract/api.ts'],
    ['the administrators the gateway', 'admin/x.ts', 'gateway/plan.ts'],
    ['the administrators more of the forwarder than its names', 'admin/x.ts', 'forward/forwarder.ts'],
    ['an adapter the app', 'config/x.ts', 'app/app.ts'],
    ['the app the processes', 'app/x.ts', 'workers/worker.ts'],
    ['the processes the command line', 'workers/x.ts', 'cli/check.ts'],
    ['the command line the demo', 'cli/x.ts', 'services/demo/x.ts'],
    ['what all may use anything', 'lib/peers.ts', 'errors.ts'],
    ['the domain the maker of documents', 'quota/x.ts', 'lib/openapi-schemas.ts'],
    ['the edge the gateway', 'edge/x.ts', 'gateway/plan.ts'],
    ['the forwarder the gateway', 'forward/x.ts', 'gateway/plan.ts'],
    ['the upstream client the forwarder', 'forward/client/x.ts', 'forward/headers.ts'],
    ['the upstream client the domain', 'forward/client/x.ts', 'quota/charge.ts'],
    ['the upstream client what is written to clients', 'forward/client/x.ts', 'respond/raw.ts'],
    ['the forwarder more of its client than the client shows', 'forward/x.ts', 'forward/client/connection.ts'],
    ['the store the HTTP client of key sets', 'store/x.ts', 'lib/http-client.ts'],
    ['what is written to clients the edge', 'respond/x.ts', 'edge/listener.ts'],
    ['what leans on Node anything but tools', 'node/x.ts', 'quota/window.ts'],
    ['a service another one', 'services/score/x.ts', 'services/sync/x.ts'],
    ['a service the gateway', 'services/score/x.ts', 'quota/window.ts'],
    ['the gateway a service', 'gateway/x.ts', 'services/common/x.ts'],
    ['the dashboard more than the API says', 'dashboard/x.tsx', 'quota/counter.ts'],
    ['the administrators the dashboard', 'admin/x.ts', 'dashboard/x.ts'],
    ['the reference page its server', 'reference/page/x.ts', 'reference/reference.ts'],
    ['the reference its page', 'reference/x.ts', 'reference/page/x.ts'],
    ['anything what lies outside', 'app/x.ts', 'services/test/x.ts'],
  ])('%s', (_, from, to) => {
    const [folderOfIt, target] = [from, to].map(pathOf) as [string, string]
    write(from, `import type { X } from './${posix.relative(posix.dirname(folderOfIt), target)}'\n`)
    expect(violations(folder)).toEqual([`layer: ${from} may not import ${to}`])
  })
})

describe('an import is seen in each of its forms:', () => {
  test.each([
    "import '../store/store.ts'",
    "import x from '../store/store.ts'",
    "import * as x from '../store/store.ts'",
    "import type { X } from '../store/store.ts'",
    "import { type X } from '../store/store.ts'",
    "export { x } from '../store/store.ts'",
    "export type { X } from '../store/store.ts'",
    "export * from '../store/store.ts'",
    "export const x = async () => (await import('../store/store.ts')).x",
    "import x = require('../store/store.ts')",
    "const x = require('../store/store.ts')",
  ])('%s', (text) => {
    write('gateway/x.ts', `${text}\n`)
    expect(violations(folder)).toEqual(['layer: gateway/x.ts may not import store/store.ts'])
  })
})

test.each([
  ["type X = import('../store/redis/redis-store.ts').X", '../store/redis/redis-store.ts'],
  ["let x: Map<string, typeof import('../quota/window.ts')>", '../quota/window.ts'],
  ["type X = import('react').FC", 'react'],
  ['/// <reference types="react" />', '/ <reference types="react" />'],
])('a type that hides in the text is denied, wherever it is from: %s', (text, to) => {
  write('gateway/x.ts', `${text}\n`)
  expect(violations(folder)).toEqual([`import-type: gateway/x.ts may not import ${to.replace(/^\/ /, '')}`])
})

test.each(['await import(name)', 'const x = require(name)'])('what only a run shows is denied: %s', (text) => {
  write('app/x.ts', `${text}\n`)
  expect(violations(folder)).toEqual(['computed: app/x.ts may not import what only a run shows'])
})

describe('a library is denied to all but those that are named for it:', () => {
  test.each([
    ['gateway/x.ts', 'react', 'react'],
    ['app/x.ts', 'ioredis', 'ioredis'],
    ['store/sqlite/x.ts', 'ioredis', 'ioredis'],
    ['config/x.ts', 'zod/v4/core', 'zod', false],
    ['gateway/x.ts', 'zod/v4/core', 'zod'],
    ['dashboard/x.tsx', '@mantine/core/styles.css', '@mantine/core', false],
    ['dashboard/x.tsx', '@mantine/dates', '@mantine/dates'],
    ['forward/x.ts', 'undici', 'undici'],
    ['forward/client/x.ts', 'undici', 'undici'],
    ['auth/x.ts', 'undici', 'undici'],
    ['lib/x.ts', 'undici', 'undici'],
    ['lib/http-client.ts', 'undici', 'undici', false],
    ['services/score/external/x.ts', 'undici', 'undici'],
    ['services/score/external/http.ts', 'undici', 'undici', false],
    ['main.ts', 'anything-new', 'anything-new'],
  ])('%s, %s', (from, name, library, isDenied = true) => {
    write(from, `import type { X } from '${name}'\n`)
    expect(violations(folder)).toEqual(isDenied ? [`library: ${from} may not import ${library}`] : [])
  })
})

test.each([
  ['quota/x.ts', 'node:fs'],
  ['quota/x.ts', 'fs'],
  ['dashboard/x.ts', 'node:fs'],
  ['reference/page/x.ts', 'node:fs'],
])('%s runs in a browser, or decides alone, so it may not import %s', (from, name) => {
  write(from, `import { x } from '${name}'\n`)
  expect(violations(folder)).toEqual([`node: ${from} may not import node:fs`])
})

test('a folder that no rule names is denied', () => {
  write('new/x.ts', '')
  expect(violations(folder)).toEqual(['part: new/x.ts is in no part of build/layers.ts'])
})

test('a circle is denied, also of types alone', () => {
  write('quota/a.ts', "import type { B } from './b.ts'\nexport type A = B\n")
  write('quota/b.ts', "export type { C } from './c.ts'\n")
  write('quota/c.ts', "import { type A } from './a.ts'\nexport type C = A\n")
  expect(violations(folder)).toEqual(['circle: quota/a.ts -> quota/b.ts -> quota/c.ts -> quota/a.ts'])
})

test('a file that cannot be read as TypeScript is no file without imports', () => {
  write('quota/a.ts', 'import {')
  expect(() => violations(folder)).toThrow('quota/a.ts: ')
})

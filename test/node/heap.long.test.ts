import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'

const HEAP = new URL('../../src/node/heap.ts', import.meta.url)
const GROW = `(await import(${JSON.stringify(HEAP.href)})).letHeapGrow()`

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const CONFIG = `
listen: 127.0.0.1:0
upstream: { url: "http://127.0.0.1:9" }
store: sqlite:./tollgate.db
admin: { listen: 127.0.0.1:0, token: a-token-of-thirty-two-characters }
drain: { delay: 0s }
log: { level: fatal }
`

/** What V8 may use in a container of 512 and of 256 MB (Dockerfile), in megabytes. */
const [LARGE, SMALL] = [307, 153]

/** Keeps some 12 MB, replaces them slowly, and prints how often the whole heap is collected meanwhile. */
const SLOW = `
const { PerformanceObserver, constants } = await import('node:perf_hooks')
let collections = 0
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++
}).observe({ entryTypes: ['gc'] })
const kept = Array.from({ length: 200_000 }, (_, i) => ({ i }))
for (let turn = 0; turn < 250; turn++) {
  for (let i = 0; i < 8_000; i++) kept[(turn * 8_000 + i) % kept.length] = { i, text: [i, i, i, i] }
  await new Promise((resolve) => setTimeout(resolve, 4))
}
await new Promise((resolve) => setTimeout(resolve, 4))
console.log(collections)`

function collectionsOf(args: readonly string[], heapMb: number): number {
  return Number(execFileSync(process.execPath, [`--max-old-space-size=${heapMb}`, ...args], { encoding: 'utf8' }))
}

function collectionsAfter(first: string, heapMb: number): number {
  return collectionsOf(['--input-type=module', '-e', `${first}\n${SLOW}`], heapMb)
}

/** Of 160 MB that come anew it is 5, and 20 if V8 goes by itself, on a machine with nothing else to do. */
const FEW = 8

test('the whole heap of a slow process is seldom collected', () => {
  expect(collectionsAfter(GROW, LARGE)).toBeLessThanOrEqual(FEW)
})

test('the whole heap of a gateway is seldom collected', () => {
  const folder = tempFolder()
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, CONFIG)
  const later = `setTimeout(async () => {${SLOW}\nprocess.kill(process.pid, 'SIGTERM') }, 1500)`
  const slow = `data:text/javascript,${encodeURIComponent(later)}`
  expect(collectionsOf(['--import', slow, MAIN, 'serve', '-c', file], LARGE)).toBeLessThanOrEqual(FEW)
})

test('the heap in a small container is collected as soon as V8 wants to', () => {
  expect(collectionsAfter(GROW, SMALL)).toBeGreaterThan(FEW)
})

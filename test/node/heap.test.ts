import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const HEAP = new URL('../../src/node/heap.ts', import.meta.url)
const GROW = `(await import(${JSON.stringify(HEAP.href)})).letHeapGrow()`

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const CONFIG = `
listen: 127.0.0.1:0
upstream: { url: "http://127.0.0.1:9" }
store: sqlite:./tollgate.db
admin: { listen: 127.0.0.1:0, token: a-token-of-thirty-two-characters }
drain: { delay: 0s }
`

/** Keeps some 12 MB and does so little meanwhile that V8 would have it collected again soon. */
const SLOW = `
globalThis.kept = Array.from({ length: 200_000 }, (_, i) => ({ i }))
gc()
await new Promise((resolve) => setTimeout(resolve, 300))
gc()`

/** By how much the heap may grow until it is collected again, as V8 tells it after the last collection. */
function growthOf(args: readonly string[], oldSpaceMb = 307): number {
  const flags = [`--max-old-space-size=${oldSpaceMb}`, '--expose-gc', '--trace-gc-verbose']
  const told = execFileSync(process.execPath, [...flags, ...args], { encoding: 'utf8' })
  return Number([...told.matchAll(/\[HeapController\] factor ([\d.]+)/g)].at(-1)?.[1])
}

function growthAfter(first: string, oldSpaceMb: number): number {
  return growthOf(['--input-type=module', '-e', `${first}\n${SLOW}`], oldSpaceMb)
}

// What V8 may use in a container of 512 and of 256 MB (Dockerfile).
test('the heap of a slow process grows to four times of what is alive before it is collected, where V8 would do so earlier', () => {
  expect(growthAfter('', 307)).toBeLessThan(3)
  expect(growthAfter(GROW, 307)).toBe(4)
})

test('in a small container it is collected as soon as V8 wants to', () => {
  expect(growthAfter(GROW, 153)).toBeLessThan(3)
})

test('the heap of a gateway does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-heap-'))
  try {
    const file = join(folder, 'tollgate.yaml')
    writeFileSync(file, CONFIG)
    const idle = `data:text/javascript,${encodeURIComponent(`setTimeout(async () => {${SLOW}\nprocess.kill(process.pid, 'SIGTERM') }, 1500)`)}`
    expect(growthOf(['--import', idle, MAIN, 'serve', '-c', file])).toBe(4)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

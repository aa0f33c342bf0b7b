import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const HEAP = new URL('../../src/app/heap.ts', import.meta.url)
const GROW = `(await import(${JSON.stringify(HEAP.href)})).letHeapGrow()`

/** Keeps some 12 MB and does so little meanwhile that V8 would have it collected again soon. */
const SLOW = `
globalThis.kept = Array.from({ length: 200_000 }, (_, i) => ({ i }))
gc()
await new Promise((resolve) => setTimeout(resolve, 300))
gc()`

/** By how much the heap may grow until it is collected again, as V8 tells it after the last collection. */
function growthAfter(first: string, oldSpaceMb: number): number {
  const memory = `--max-old-space-size=${oldSpaceMb}`
  const flags = [memory, '--expose-gc', '--trace-gc-verbose', '--input-type=module']
  const told = execFileSync(process.execPath, [...flags, '-e', `${first}\n${SLOW}`], { encoding: 'utf8' })
  return Number([...told.matchAll(/\[HeapController\] factor ([\d.]+)/g)].at(-1)?.[1])
}

// What V8 may use in a container of 512 and of 256 MB (Dockerfile).
test('the heap of a slow process grows to four times of what is alive before it is collected, where V8 would do so earlier', () => {
  expect(growthAfter('', 307)).toBeLessThan(3)
  expect(growthAfter(GROW, 307)).toBe(4)
})

test('in a small container it is collected as soon as V8 wants to', () => {
  expect(growthAfter(GROW, 153)).toBeLessThan(3)
})

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Imports a module in a process of its own and tells of which packages it loads anything. */
function packagesOf(module: string): string[] {
  const script = `
    import { registerHooks } from 'node:module'
    const found = new Set()
    registerHooks({
      load(url, context, next) {
        found.add(/\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1])
        return next(url, context)
      },
    })
    await import('./${module}')
    console.log(JSON.stringify([...found].filter(Boolean)))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
}

test('a worker reads no configuration and has no listener for administrators: what these need it does not load', () => {
  const loaded = packagesOf('src/workers/process.ts')
  expect(loaded).toContain('jose')
  expect(loaded.filter((name) => ['fastify', 'yaml', 'zod'].includes(name))).toEqual([])
})

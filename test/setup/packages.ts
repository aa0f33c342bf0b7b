import { execFileSync } from 'node:child_process'

/** Imports a module in a process of its own and tells of which packages it loads anything. */
export function packagesOf(module: string): string[] {
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

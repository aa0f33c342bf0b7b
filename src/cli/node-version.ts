import { nodeNeeded } from '../lib/version.ts'

/** @throws Error with the cure, if this Node is too old for a command and would fail later */
export function insistOnNode(found = process.version): void {
  const [needed, has] = [numbersOf(nodeNeeded), numbersOf(found)]
  const different = needed.findIndex((number, i) => number !== has[i])
  if (different < 0 || (has[different] ?? 0) > (needed[different] ?? 0)) return
  const cure = 'install a newer one; in a checkout "npm ci" brings it, and "npm run -s tollgate -- COMMAND" uses it'
  throw new Error(`Node ${needed.join('.')} or newer is needed, and this is ${found.replace('v', '')}: ${cure}`)
}

function numbersOf(version: string): number[] {
  return (version.match(/\d+/g) ?? []).slice(0, 3).map(Number)
}

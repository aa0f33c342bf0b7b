import { readFileSync } from 'node:fs'

const { version, engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
  engines: { node: string }
}

/** The versions of Node with which this package runs, such as `>=24.14.1 <27`. The second one is the first major version that was not tried. */
const nodeNeeded = engines.node

/** The version is that of this package. */
export { nodeNeeded, version }

import { readFileSync } from 'node:fs'

const file = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }

/** The version of this package. */
export { version }

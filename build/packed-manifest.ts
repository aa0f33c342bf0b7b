import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Removes the script `prepare` from package.json while npm packs it, and restores it. The script is for a checkout, and npm warns
 * everybody who installs a package with such a script. If packing is broken off, run this file with `with-prepare`.
 */

const FILE = new URL('../package.json', import.meta.url)
const SCRIPT = '    "prepare": "node -e 0 || sh build/node-runs.sh",\n'
const BEGIN = '  "scripts": {\n'

const before = readFileSync(FILE, 'utf8')
const without = before.replace(SCRIPT, '')
if (!without.includes(BEGIN)) throw new Error('package.json has no scripts as build/packed-manifest.ts knows them')
writeFileSync(FILE, process.argv[2] === 'with-prepare' ? without.replace(BEGIN, BEGIN + SCRIPT) : without)

import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../../build/node-runs.sh')
const LOADER = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file'

/** Runs the script where these are the only programs. */
function runWith(programs: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'programs-'))
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  const { status, stderr } = spawnSync('/bin/sh', [SCRIPT], { env: { PATH: folder }, cwd: folder, encoding: 'utf8' })
  return { status, stderr: stderr.trim() }
}

const withoutLibrary = `[ -e lib ] && exit 0; echo '${LOADER}' >&2; exit 127`

test('a Node that runs needs nothing', () => {
  expect(runWith({ node: 'echo v26' })).toEqual({ status: 0, stderr: '' })
})

test('root on Debian gets the library that Node lacks', () => {
  const apt =
    'case "$*" in update) : > list ;; "install -y --no-install-recommends libatomic1") [ -e list ] && : > lib ;; esac'
  expect(runWith({ node: withoutLibrary, id: 'echo 0', 'apt-get': apt })).toEqual({ status: 0, stderr: '' })
})

test.each([
  ['somebody else on Debian', { id: 'echo 1000', 'apt-get': ': > lib' }],
  ['root on another system', { id: 'echo 0' }],
  ['root on Debian where it cannot be installed', { id: 'echo 0', 'apt-get': 'exit 100' }],
])('%s is told what to install', (_, programs) => {
  expect(runWith({ node: withoutLibrary, ...programs })).toEqual({
    status: 1,
    stderr: `The Node of this project does not run here (${LOADER}): install libatomic (Debian: apt-get install libatomic1; Fedora: dnf install libatomic), and run npm ci again.`,
  })
})

test('where Node fails for another reason that is told', () => {
  expect(runWith({ node: "echo 'Exec format error' >&2; exit 126", id: 'echo 0', 'apt-get': '' })).toEqual({
    status: 1,
    stderr:
      'The Node of this project does not run here (Exec format error): it needs Linux with glibc, macOS or Windows on a processor that Node supports.',
  })
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { insistOnNode } from '../../src/cli/node-version.ts'
import { nodeNeeded, version } from '../../src/lib/version.ts'

const run = promisify(execFile)
/** The command in a Node that says it were another one. */
const tollgate = (node: string, ...args: string[]) => {
  const pretended = `data:text/javascript,Object.defineProperty(process,'version',{value:'${node}'})`
  return run(process.execPath, ['--import', pretended, 'src/main.ts', ...args])
}

test('a command on a Node that is too old ends with the version that is needed and the cure; version and help are given', async () => {
  const needed = nodeNeeded.split(' ')[0]?.replace('>=', '')
  await expect(tollgate('v20.20.2', 'serve', '-c', 'nope.yaml')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      `^tollgate: Node ${needed} or newer is needed, and this is 20\\.20\\.2: install a newer`,
    ),
  })
  expect((await tollgate('v20.20.2', '--version')).stdout.trim()).toBe(version)
  expect((await tollgate('v20.20.2', 'serve', '--help')).stdout).toContain('Usage: tollgate serve')
})

test('versions are compared as numbers, place by place', () => {
  for (const good of ['v24.14.1', 'v24.14.2', 'v24.15.0', 'v26.0.0', 'v100.0.0', 'v25.0.0-nightly20250901']) {
    expect(() => insistOnNode(good)).not.toThrow()
  }
  for (const old of ['v24.14.0', 'v24.9.9', 'v9.99.99']) expect(() => insistOnNode(old)).toThrow('or newer is needed')
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { zooProgram } from '../setup/zoo-tools.ts'
import { outputOf } from './clients.ts'
import { nginxBefore, type Peer, tollgateBefore } from './peers.ts'
import { APACHE, startApache, type Upstream } from './upstreams.ts'

/** Tools that speak more than one request, before Apache: git with its packs, and litmus, which asks all that DAV has. */

const missing: string[] = []
const upstreams: Upstream[] = []
const peers = new Map<string, Peer>()
const folder = tempFolder()

beforeAll(async () => {
  await startApache(upstreams, missing)
  const apache = upstreams.find(({ name }) => name === APACHE)
  if (apache === undefined) return
  peers.set('Tollgate', await tollgateBefore(apache))
  peers.set('nginx', await nginxBefore(apache))
})
afterAll(async () => {
  for (const { stop } of peers.values()) await stop()
  for (const { stop } of upstreams) await stop()
  if (missing.length > 0) console.log(`Not here: ${missing.join(', ')}.`)
})

async function git(...args: readonly string[]): Promise<string> {
  const identity = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' }
  const author = ['-c', 'user.name=zoo', '-c', 'user.email=zoo@example.org']
  const { code, out, err } = await outputOf('git', [...author, ...args], { env: identity })
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${err}`)
  return out.trim()
}

it('git pushes packs that are longer than it sends with a length, and clones them again', async () => {
  if (zooProgram('git') === null) missing.push('git')
  const heads = new Map<string, string>()
  for (const [name, { url }] of peers) {
    const remote = `${url}/git/zoo.git`
    const [work, copy] = [join(folder, `${name}-work`), join(folder, `${name}-copy`)]
    await git('init', '--quiet', '--initial-branch=main', work)
    // Random bytes do not get shorter: more than the megabyte up to which git knows the length of what it sends.
    writeFileSync(join(work, 'file'), 'zoo')
    for (let i = 0; i < 30; i++) writeFileSync(join(work, `file-${i}`), crypto.getRandomValues(Buffer.alloc(60_000)))
    await git('-C', work, 'add', '.')
    await git('-C', work, 'commit', '--quiet', '-m', name)
    await git('-C', work, 'push', '--quiet', remote, `main:${name}`)
    await git('clone', '--quiet', '--branch', name, remote, copy)
    heads.set(name, await git('-C', copy, 'rev-parse', 'HEAD'))
    expect(heads.get(name)).toBe(await git('-C', work, 'rev-parse', 'HEAD'))
  }
})

it('litmus passes as many of the checks of DAV as through nginx', async () => {
  const command = zooProgram('litmus')
  if (command === null) missing.push('litmus')
  if (command === null || peers.size === 0) return
  const failed = new Map<string, string[]>()
  for (const [name, { url }] of peers) {
    const { out } = await outputOf(command, ['--keep-going', `${url}/dav/`], { cwd: folder })
    expect(out).toContain("summary for `locks'")
    failed.set(
      name,
      [...out.matchAll(/^\s*\d+\. (\S+?)\.+ (?:FAIL|WARNING).*$/gm)].map(([line]) => line.trim()),
    )
  }
  const [tollgate = [], nginx = []] = failed.values()
  console.log(`litmus: ${tollgate.length} not passed through Tollgate, ${nginx.length} through nginx`)
  expect(tollgate.filter((line) => !nginx.includes(line))).toEqual([])
})

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { UsageError } from '../../common/command.ts'
import { main } from '../../score/main.ts'
import { commandOf } from '../command.ts'
import { startLxns } from '../fakes/lxns.ts'
import { responseOf } from '../responses.ts'
import { fileOf, SECRET } from './harness.ts'

const FIXTURE = fileURLToPath(new URL('../../../config/score/fixture.json', import.meta.url))
const OPENAPI = fileURLToPath(new URL('../../../config/score/openapi.json', import.meta.url))

const { start, run } = commandOf('score', 'SCORE_BACKEND_SECRET', SECRET)

describe('the command line of score', () => {
  it('the command line of score imports a fixture, serves it, and stops on SIGTERM with exit code 0', async () => {
    const database = join(tempFolder(), 'score.db')
    expect(await run(['import-fixture', '--database', database, FIXTURE])).toMatchObject({
      code: 0,
      out: 'imported 2 users\n',
    })
    const child = start(['serve', '--listen', '127.0.0.1:0', '--database', database])
    const [line] = await once(child.stdout, 'data')
    const url = /http:\S+/.exec(String(line))?.[0]
    const response = await fetch(`${url}/v1/user/data`, {
      method: 'POST',
      headers: { 'x-backend-secret': SECRET, 'x-tollgate-user': 'demo' },
    })
    expect((await responseOf(response)).json.businessData.userData.userName).toBe('ＴＥＳＴ')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('the command line of score asks the platforms of --external, and names a file of them that it cannot read', async () => {
    const database = join(tempFolder(), 'score.db')
    const lxns = await startLxns({ key: 'a key' })
    atEnd(() => lxns.close())
    const external = fileOf({ lxns: { base_url: lxns.url } })
    const child = start(['serve', '--listen', '127.0.0.1:0', '--database', database, '--external', external])
    const [line] = await once(child.stdout, 'data')
    const response = await fetch(`${/http:\S+/.exec(String(line))?.[0]}/v1/update-lx`, {
      method: 'POST',
      headers: { 'x-backend-secret': SECRET, 'x-tollgate-user': 'demo', 'content-type': 'application/json' },
      body: '{"key": "a key"}',
    })
    expect([response.status, lxns.requests.length]).toEqual([200, 1])
    child.kill('SIGTERM')
    // Long before total_timeout, which is 60 s: no clock of the update is left.
    expect(await once(child, 'exit')).toEqual([0, null])

    const bad = fileOf({ lxns: { base_url: 'nonsense' } })
    expect(await run(['serve', '--database', database, '--external', bad])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${bad}: lxns.base_url: expected`),
    })
  })

  it('imports a list of songs, serves it, and leaves the catalogue alone where the list cannot be read', async () => {
    const catalogue = join(tempFolder(), 'catalogue.json')
    const song = {
      id: '11466',
      title: 'A',
      type: 'DX',
      ds: [13.9],
      level: ['13+'],
      charts: [{ notes: [5, 4, 3, 2, 1], charter: '' }],
      basic_info: { artist: '', genre: '', bpm: 212, from: 'CiRCLE', is_new: false },
    }
    const rules = ['--all-perfect', '--new-version', 'CiRCLE']
    expect(await run(['import-catalogue', ...rules, fileOf([song]), catalogue])).toEqual({
      code: 0,
      out: `wrote 1 songs with 1 charts to ${catalogue}\n`,
      err: '',
    })
    const written = readFileSync(catalogue, 'utf8')
    expect(JSON.parse(written).rating).toEqual({ allPerfect: 1, newVersions: ['CiRCLE'] })
    const bad = fileOf([{ ...song, title: '' }])
    expect(await run(['import-catalogue', bad, catalogue])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(`${bad}: [0].title: `),
    })
    expect(readFileSync(catalogue, 'utf8')).toBe(written)
    const fixture = fileOf({ users: { alice: { scores: [{ musicId: 11466, level: 0, achievement: 1_005_000 }] } } })
    const database = join(tempFolder(), 'score.db')
    expect(await run(['import-fixture', '--database', database, '--catalogue', catalogue, fixture])).toMatchObject({
      out: 'imported 1 users\n',
    })
  })

  it('the command line of score prints the OpenAPI document', async () => {
    const { code, out } = await run(['openapi'], '')
    expect([code, out]).toEqual([0, readFileSync(OPENAPI, 'utf8')])
  })

  it('the command line of score explains itself where it is called wrongly', async () => {
    expect(await run([])).toMatchObject({ code: 2, err: expect.stringContaining('serve --listen HOST:PORT') })
  })

  it.each([
    [[]],
    [['openapi', 'more']],
    [['serve']],
    [['fly', '--database', 'x.db']],
    [['serve', '--database', 'x.db', '--listen', '9000']],
    [['serve', '--database', 'x.db', '--listen', '127.0.0.1:70000']],
    [['serve', '--database', 'x.db', '--wrong']],
    [['import-fixture', '--database', 'x.db']],
    [['import-catalogue', 'music_data.json']],
  ])('the command line of score does not understand %j', async (args) => {
    await expect(main(args)).rejects.toThrow(UsageError)
  })

  it('the command line of score does not serve without a secret, and names a catalogue that it cannot read', async () => {
    const database = join(tempFolder(), 'score.db')
    expect(await run(['serve', '--database', database], '')).toMatchObject({ code: 2 })
    const missing = await run(['serve', '--database', database, '--catalogue', '/no/such/file.json'])
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('/no/such/file.json') })
  })
})

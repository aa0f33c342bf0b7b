import { expect, it } from 'vitest'
import { tempFolder } from '../../../../test/setup/at-end.ts'
import { type ExternalConfig, readExternal } from '../../../score/external/config.ts'
import { createScoreService } from '../../../score/service.ts'
import { fileOf, SECRET } from '../harness.ts'

const bundled = new URL('../../../../config/score/external.json', import.meta.url).pathname

it('the configuration of the platforms that ships with the product has the public addresses and the documented limits', async () => {
  expect(await readExternal(bundled)).toEqual({
    lxns: { base_url: 'https://maimai.lxns.net', batch: 500 },
    fish: { base_url: 'https://www.diving-fish.com/api/maimaidxprober', batch: 0 },
    connect_timeout: 5000,
    read_timeout: 30_000,
    total_timeout: 60_000,
    max_response: 16 * 1024 * 1024,
  })
})

it('the configuration of the platforms needs the addresses only, and is taken as a file or as its content', async () => {
  const { lxns, fish, ...limits } = await readExternal(bundled)
  const config = { lxns: { base_url: 'http://127.0.0.1:1/' }, fish: { base_url: 'http://[::1]:2/a//' } }
  const read = {
    lxns: { base_url: 'http://127.0.0.1:1', batch: lxns?.batch },
    fish: { base_url: 'http://[::1]:2/a', batch: fish?.batch },
    ...limits,
  }
  expect(await readExternal(config)).toEqual(read)
  expect(await readExternal(fileOf(config))).toEqual(read)
})

it('the configuration of the platforms may leave a platform out', async () => {
  expect(await readExternal({})).not.toHaveProperty('lxns')
})

it.each([
  ['250ms', 250],
  ['5s', 5000],
  ['10m', 600_000],
])('the configuration of the platforms reads %s as %i milliseconds', async (text, ms) => {
  expect((await readExternal({ read_timeout: text })).read_timeout).toBe(ms)
})

it.each([
  ['2048B', 2048],
  ['64KiB', 65_536],
  ['16MiB', 16_777_216],
])('the configuration of the platforms reads %s as %i bytes', async (text, bytes) => {
  expect((await readExternal({ max_response: text })).max_response).toBe(bytes)
})

it.each(['5', 5, '5 s', '-5s', '5h', '0s', '11m', '1.5s', 's', '', null, '5S', '5toString', '9999999999s'])(
  'the configuration of the platforms refuses the duration %j, and says how one is written',
  async (value) => {
    const file = fileOf({ connect_timeout: value })
    await expect(readExternal(file)).rejects.toThrow(
      `${file}: connect_timeout: expected 1ms to 10m, written with its unit like 5s`,
    )
  },
)

it.each(['16MB', '1B', '257MiB', 16, '16'])(
  'the configuration of the platforms refuses the size %j, and says how one is written',
  async (value) => {
    const file = fileOf({ max_response: value })
    await expect(readExternal(file)).rejects.toThrow(
      `${file}: max_response: expected 1KiB to 256MiB, written with its unit like 16MiB`,
    )
  },
)

it.each([
  'maimai.lxns.net',
  'ftp://maimai.lxns.net',
  'file:///etc/passwd',
  'https://user:password@maimai.lxns.net',
  'https://maimai.lxns.net/?a=b',
  'https://maimai.lxns.net/#a',
  'https://',
  ' https://maimai.lxns.net',
  'https://a\\b',
  '',
  null,
])('the configuration of the platforms refuses the address %j, and says how one is written', async (base_url) => {
  const file = fileOf({ lxns: { base_url } })
  await expect(readExternal(file)).rejects.toThrow(`${file}: lxns.base_url: expected an http or https URL without user`)
})

it.each([-1, 10_001, 1.5, '500', null])('the configuration of the platforms refuses the batch %j', async (batch) => {
  const file = fileOf({ fish: { base_url: 'http://a', batch } })
  await expect(readExternal(file)).rejects.toThrow(`${file}: fish.batch: expected a whole number from 0`)
})

it('the configuration of the platforms gets an error for every problem at once, and for unknown keys with those that it knows', async () => {
  const file = fileOf({ lxns: { bas_url: 'http://a' }, read_timout: '1s', total_timeout: 1 })
  const error: Error = await readExternal(file).catch((reason) => reason)
  expect(error.message.split('\n')).toEqual([
    `${file}: lxns.base_url: expected an http or https URL without user, query or fragment, like https://example.com/api`,
    `${file}: lxns.bas_url: unknown key; take it out, or write one of base_url, batch`,
    `${file}: total_timeout: expected 1ms to 10m, written with its unit like 60s`,
    `${file}: read_timout: unknown key; take it out, or write one of lxns, fish, connect_timeout, read_timeout, total_timeout, max_response`,
  ])
})

it.each([
  ['is missing', () => '/no/such/external.json'],
  ['is no JSON', () => fileOf('{')],
  ['is a list', () => fileOf([])],
  ['is null', () => fileOf('null')],
])('the configuration of the platforms names a file that %s', async (_what, make) => {
  const file = make()
  await expect(readExternal(file)).rejects.toThrow(file)
})

it('the configuration of the platforms keeps a service with a bad one from starting', async () => {
  const options = {
    database: `${tempFolder()}/score.db`,
    catalogue: new URL('../../../../config/score/catalogue.json', import.meta.url).pathname,
    backendSecret: SECRET,
    external: { lxns: { base_url: 'nonsense' } } as ExternalConfig,
  }
  await expect(createScoreService(options)).rejects.toThrow('external: lxns.base_url')
})

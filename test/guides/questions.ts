import { expect, it } from 'vitest'
import { type Ask, ask, type Door } from './ask.ts'

/** A service behind the gateway, as its clients see it. */
export interface Stack {
  /** Where its clients come in. */
  readonly door: Door
  /** What a request of a user has besides: his credential, or his address. */
  as(user: string): Omit<Ask, 'path'>
  /** What the service takes that user for; `null` where it is not told. */
  known(user: string): string | null
  /** Its dear path. Default `/v1/charge` */
  readonly dear?: string
  /** Spellings of its dear path that the service takes for it. */
  readonly spellings: readonly string[]
}

const DEAR = '/v1/charge'
const COST = 15
/** In an hour, as each page has it. */
const LIMIT = 60

/** Ways to write the dear path that some service or other takes for it. */
const SPELLINGS = [
  '/v1/CHARGE',
  '/V1/charge',
  '/v1/charge/',
  '/v1/CHARGE/',
  '/v1/%63harge',
  '/v1/%43harge',
  '/v1/charge?a=b',
  '/v1/charge;a=b',
  '/v1;a=b/charge',
  '/v1/charge%3Ba=b',
  '/v1//charge',
  '//v1/charge',
  '/v1/charge//',
  '/v1/./charge',
  '/v1/x/../charge',
  '/v1/x/%2e%2e/charge',
  '/v1%2Fcharge',
  '/v1/charge.',
  '/v1/charge%20',
  '/v1/charge%00',
  '/v1/charge.json',
  '/v1/charge/index.php',
  '/index.php/v1/charge',
  '/v1/charge%5C',
]

/**
 * What every guide promises, asked of the real thing. The service writes a line `charged` for each request that it takes for the
 * dear one, and for others its `user` and the `url` that it believes to have.
 * @param stack of which the tests begin only when it is there
 */
export function askEverything(stack: () => Stack): void {
  it('charges a good request, and the service knows who asks', async () => {
    const { door, as, known } = stack()
    const response = await ask(door, { path: '/v1/items', ...as('alice') })
    expect(response.status).toBe(200)
    expect(JSON.parse(response.text)).toMatchObject({ user: known('alice') })
    expect(await used(stack(), 'alice', 'read')).toBe(1)
  })

  it('is where the addresses lead that the service writes', async () => {
    const { door, as } = stack()
    const { text } = await ask(door, { path: '/v1/items', ...as('berta') })
    expect(JSON.parse(text)).toMatchObject({ url: `${door.origin}/v1/items` })
  })

  it('is where a redirect of the service leads', async () => {
    const { door, as } = stack()
    const { status, headers } = await ask(door, { path: '/v1/old', ...as('carl') })
    expect([301, 302, 307, 308]).toContain(status)
    expect(new URL(headers.location ?? 'nowhere:', `${door.origin}/v1/old`).href).toMatch(
      new RegExp(`^${door.origin}/v1/items/?$`),
    )
  })

  it('takes no less for the dear path in another spelling', async () => {
    const charged = new Map<string, number>()
    for (const [i, path] of SPELLINGS.entries()) {
      const user = `speller-${i}`
      const { text } = await ask(stack().door, { method: 'POST', path, ...stack().as(user) })
      if (text.startsWith('charged')) charged.set(path, await used(stack(), user, 'write'))
    }
    expect([...charged]).toEqual(stack().spellings.map((path) => [path, COST]))
  })

  it('refuses with 429 what is too much', async () => {
    const { door, as, dear = DEAR } = stack()
    const statuses: number[] = []
    for (let i = 0; i <= LIMIT / COST; i++) {
      statuses.push((await ask(door, { method: 'POST', path: dear, ...as('dora') })).status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429])
  })
}

/** Tokens that a user has taken of a category in this hour. */
async function used({ door, as }: Stack, user: string, category: string): Promise<number> {
  const { text } = await ask(door, { path: '/me/quota', ...as(user) })
  const { windows } = JSON.parse(text) as { windows: Record<string, { scope: string; window: string; used: number }[]> }
  return windows[category]?.find(({ scope, window }) => scope === 'Personal' && window === '1h')?.used ?? -1
}

import type { Config } from '../../config/config.ts'
import { messageOf } from '../../errors.ts'
import { peopleOf } from '../people.ts'
import type { Tried } from './tried.ts'

/** Whether the provider says where people sign in. A gateway also works without the provider: tokens still sign in. */
export async function tryPeople({ admin }: Config): Promise<Tried[]> {
  const people = peopleOf(admin.oidc)
  if (people === null) return []
  const path = ['admin', 'oidc', 'issuer']
  try {
    await people.provider.begin('https://localhost/sign-in')
    return [{ path, result: 'good', message: `${people.host} says where people sign in` }]
  } catch (error) {
    const cure = 'Correct the address, and let this machine reach it; until then only tokens sign in'
    return [{ path, result: 'warning', message: `${messageOf(error)} ${cure}` }]
  }
}

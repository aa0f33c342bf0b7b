import { type ControlStore, STAGED_MS } from '../../control/control-store.ts'
import { givenGrantOf, organisationOverrideOf, userOverrideOf } from '../../control/record-forms.ts'
import type { Versioned } from '../../control/state.ts'
import { type OverridesStep, readAll } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import { NUMBER } from './audit.ts'
import { call, lookedUp, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { stepOfHash } from './scanned-keys.ts'

/** Overrides in force, staged ones, and those that a file has replaced: hashes of users and organisations. Grants are stored alike. */
export function redisOverrides(redis: RedisClient, keys: Keys, records: Records) {
  /** @returns a function that reads a part of a hash. @param from where the last step ended; `null` begins */
  function stepsOf<T>(
    kind: 'override' | 'organisation_override' | 'grant',
    key: string,
    parse: (value: unknown) => T | null,
  ) {
    const look = (id: string) => lookedUp(() => redis.hget(key, id))
    const list = records.list({ kind, list: key, parse: versionedBy(parse), look })
    return async (from: string | null): Promise<OverridesStep<T>> => {
      const { pairs, next } = await stepOfHash(redis, key, from)
      const overrides = pairs.flatMap(([id, text]) => {
        // This entry of replaced overrides is the number of the change that has replaced them.
        if (id === '' && NUMBER.test(text)) return []
        const override = list.read(id, text)
        return override === null ? [] : [[id, override] as const]
      })
      return { overrides, next }
    }
  }

  const replaced = {
    users: stepsOf('override', keys.replacedOverrides, userOverrideOf),
    organisations: stepsOf('organisation_override', keys.replacedOrganisationOverrides, organisationOverrideOf),
  }

  return {
    users: stepsOf('override', keys.overrides, userOverrideOf),
    organisations: stepsOf('organisation_override', keys.organisationOverrides, organisationOverrideOf),
    grants: stepsOf('grant', keys.grants, givenGrantOf),

    async forgetGrants(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await call(() => redis.hdel(keys.grants, ...ids))
    },

    async stage(...[staged, overrides, of = 'users']: Parameters<ControlStore['stageOverrides']>): Promise<void> {
      const key = of === 'users' ? keys.stagedOverrides(staged) : keys.stagedOrganisationOverrides(staged)
      const pairs = overrides.flatMap(([id, { version, value }]) => [id, `${version} ${JSON.stringify(value)}`])
      if (pairs.length > 0) await transaction(redis, (multi) => multi.hset(key, ...pairs).pexpire(key, STAGED_MS))
    },

    async replacedBy(version: number): ReturnType<ControlStore['readReplaced']> {
      const isOf = async () => (await lookedUp(() => redis.hget(keys.replacedOverrides, ''))) === String(version)
      if (!(await isOf())) return null
      const overrides = await readAll(replaced.users)
      const organisationOverrides = await readAll(replaced.organisations)
      return (await isOf()) ? { overrides, organisationOverrides } : null
    },

    keepsReplaced: async (user: string) => (await lookedUp(() => redis.hget(keys.replacedOverrides, user))) !== null,
  }
}

/** Parses a value in the form that control.lua describes. */
export function versionedBy<T>(parse: (value: unknown) => T | null): (text: string) => Versioned<T> | null {
  return (text) => {
    const space = text.indexOf(' ')
    const version = text.slice(0, space)
    const value = NUMBER.test(version) ? parse(JSON.parse(text.slice(space + 1))) : null
    return value === null ? null : { version: Number(version), value }
  }
}

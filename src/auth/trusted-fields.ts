import { isUserId } from '../control/user-id.ts'
import { type Denial, denial } from '../errors.ts'
import { type FactEncoding, trustedText } from '../inputs/trusted-text.ts'
import { type Asking, linesOf } from './asking.ts'
import { type Caller, callerOf, invalid } from './verdict.ts'

/** Names, in lower case, of the fields in which a trusted proxy in front names the caller; `null` for a field that it does not send. */
export interface TrustedFields {
  readonly user: string
  readonly organisation: string | null
  readonly plan: string | null
  readonly encoding: FactEncoding
}

/**
 * Reads callers that a trusted proxy has verified. The fields of any other peer are ignored.
 * @param isProxy whether an address is a trusted proxy
 */
export function createTrustedReader(
  fields: TrustedFields,
  isProxy: (address: string) => boolean,
): (asking: Asking) => Caller | Denial | null {
  return (asking) => {
    if (!isProxy(asking.client.address)) return null
    const user = idIn(asking, fields.user, fields.encoding)
    if (typeof user !== 'string') return user
    const organisation = idIn(asking, fields.organisation, fields.encoding)
    if (isFault(organisation)) return organisation
    const plan = idIn(asking, fields.plan, fields.encoding)
    return isFault(plan) ? plan : { ...callerOf(user, 'trusted'), organisation, plan }
  }
}

/** Whether a peer that is no trusted proxy names a user. If a proxy is missing in the configuration, all its requests are like that. */
export function createStrangerCheck({ user }: TrustedFields, isProxy: (address: string) => boolean) {
  return (asking: Asking): boolean => asking.req.headers[user] !== undefined && !isProxy(asking.client.address)
}

/** `null` if the field is missing or empty, because some proxies send it empty for everybody. */
function idIn(asking: Asking, lower: string | null, encoding: FactEncoding): string | Denial | null {
  if (lower === null) return null
  const [value = '', ...others] = linesOf(asking, lower)
  if (others.length > 0 || value.includes(',')) return listed(lower)
  if (value === '') return null
  const text = trustedText(value, encoding)
  return isUserId(text) ? text : invalid(`the trusted field ${lower} holds no id`)
}

function isFault(value: string | Denial | null): value is Denial {
  return value !== null && typeof value !== 'string'
}

/** If a client could add a line or an element to the proxy's value, it could choose its own identity. */
function listed(lower: string): Denial {
  return denial('bad_request', `The request must name one caller in ${lower}.`, { reason: `a list in ${lower}` })
}

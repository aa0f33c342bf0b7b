import type { AuditEntry, Author, Change } from '../control/store.ts'
import { iso } from './answer.ts'
import type { AuditAnswer } from './api.ts'

/** An entry of the audit as administrators see it, and the log. */
export function entryAnswer(entry: AuditEntry): AuditAnswer['entries'][number] {
  return { ...entry, at: iso(entry.at), from: shown(entry.from), to: shown(entry.to) }
}

/** What is known of a change whose outcome is not. */
export function wishAnswer(change: Change, { who, why }: Author) {
  const subject = 'user' in change ? change.user : 'id' in change ? change.id : null
  return { who, what: change.kind, subject, to: 'to' in change ? shown(change.to) : null, why }
}

/** The end of an override is kept in milliseconds, and told like every other time. */
function shown(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('expiresAt' in value)) return value
  const { expiresAt } = value
  return typeof expiresAt === 'number' ? { ...value, expiresAt: iso(expiresAt) } : value
}

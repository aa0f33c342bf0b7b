import type { ReactNode } from 'react'
import { ApiError, LostError, UnknownError } from '../api/client.ts'
import type { Polled } from '../api/use-poll.ts'
import type { TextKey } from '../i18n/en.ts'
import { t } from '../i18n/text.ts'
import { Note } from './small.tsx'

/** The codes of the API for which the page has a text of its own. They are written here so that their texts do not seem unused. */
const CODES = [
  ...(['unauthorized', 'too_many_attempts', 'no_admin_token', 'forbidden', 'sign_in_failed', 'no_role'] as const),
  ...(['provider_unavailable', 'version_conflict', 'conflict', 'changed_since', 'not_found'] as const),
  ...(['outcome_unknown', 'store_unavailable', 'overloaded', 'internal'] as const),
] as const
const OWN_TEXTS = new Map<string, TextKey>(CODES.map((code) => [code, `error.${code}`]))

/** The text of an error: in the language of the page if the code is known; else the API's own sentence. */
export function messageOf(error: Error): string {
  if (error instanceof LostError) return messageOfLost(error)
  if (!(error instanceof ApiError)) return error.message
  const key = OWN_TEXTS.get(error.response.error)
  return key === undefined ? error.response.msg : t(key, { detail: error.response.msg })
}

function messageOfLost(error: LostError): string {
  const { status } = error
  const isChange = error instanceof UnknownError
  // After a 5xx the outcome is unknown, because a proxy may send it while the gateway is only slow.
  if (isChange && status !== null && status >= 400 && status < 500) return t('error.change_between', { status })
  if (isChange) return t('error.outcome_unknown')
  return status === null ? t('error.lost') : t('error.between', { status })
}

/** What the API says about single fields, by their path. */
export function fieldProblems(error: Error | null): Readonly<Record<string, string>> {
  const problems = error instanceof ApiError ? (error.response.problems ?? []) : []
  return Object.fromEntries(problems.map(({ path, msg }) => [path, msg]))
}

/** Why an action failed; nothing without an error. */
export function Failed({ error, children }: { readonly error: Error | null; readonly children?: ReactNode }) {
  return (
    error && (
      <Note tone="bad">
        {messageOf(error)} {children}
      </Note>
    )
  )
}

/** Why a poll failed, unless the banner or the sign-in page already says it. */
export function Failure({ poll: { data, error } }: { readonly poll: Pick<Polled<unknown>, 'data' | 'error'> }) {
  const isReportedAlready =
    data !== null && (error instanceof LostError || (error instanceof ApiError && error.status === 401))
  if (error === null || isReportedAlready) return null
  return (
    <Note tone="bad" title={t('failed.title')}>
      {messageOf(error)} {data !== null && t('failed.stale')}
    </Note>
  )
}

import { useEffect, useState } from 'react'
import type { OverrideResponse, TokensResponse } from '../../../contract/api.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { exact, number, t, time } from '../../i18n/text.ts'
import { A_DAY, expiryOf, type Overridable } from '../../logic/override.ts'
import { canRaise, type QuickKind, quickBody, quickLines } from '../../logic/quick-override.ts'
import { visible } from '../../logic/visible.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { Ask, Confirm, type Reason } from '../../ui/confirm.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { FromTo } from '../../ui/from-to.tsx'
import { Changing, Name, Note, Plain } from '../../ui/small.tsx'
import { changedName } from '../audit/values.tsx'
import { EndNotes } from './override-layers.tsx'
import { type Own, useOwn } from './own.ts'

/** The most frequent actions, each with one button and one question. */
export function QuickActions() {
  const own = useOwn()
  const { response: of } = own
  const [asking, setAsking] = useState<QuickKind | null>(null)
  /** The end of what was set, in ISO 8601 or `null` for none; `undefined` if nothing was set. */
  const [done, setDone] = useState<string | null | undefined>(undefined)
  const isFixed = !canRaise(of)
  function ask(kind: QuickKind): void {
    setDone(undefined)
    setAsking(kind)
  }
  useWanted((kind) => kind === 'block' || !isFixed, ask)
  return (
    <section className="quick">
      <Changing label={t('quick.title')}>
        <div className="actions">
          {KINDS.map((kind) => (
            <Plain key={kind} disabled={isFixed && kind !== 'block'} onClick={() => ask(kind)}>
              {t(`quick.${kind}`)}
            </Plain>
          ))}
          {of.kind === 'user' && <RevokeAll user={of.id} />}
        </div>
        {isFixed && <p className="muted">{t(whyFixed(of))}</p>}
      </Changing>
      {done !== undefined && <Saved until={done} />}
      {asking && <QuickDialog {...own} kind={asking} onClose={() => setAsking(null)} onDone={setDone} />}
    </section>
  )
}

/** Asks for the action in the address, from the search over all pages, once and only if the administrator may do it. */
function useWanted(canDo: (kind: QuickKind) => boolean, ask: (kind: QuickKind) => void): void {
  const { do: wish } = useFields()
  const may = useMayChange()
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the address asks
  useEffect(() => {
    if (wish === undefined) return
    changeFields({ do: null })
    const kind = KINDS.find((each) => each === wish)
    if (kind !== undefined && may && canDo(kind)) ask(kind)
  }, [wish])
}

const KINDS = ['half', 'double', 'block'] as const satisfies readonly QuickKind[]

/** Why no limit can be raised. */
function whyFixed({
  kind,
  override,
}: Overridable): 'quick.fixed.set' | 'quick.fixed.user' | 'quick.fixed.organisation' {
  return override === null ? `quick.fixed.${kind}` : 'quick.fixed.set'
}

/** Says that an override is set, and until when. @param until in ISO 8601; `null` for no end */
export function Saved({ until }: { readonly until: string | null }) {
  return (
    <Note tone="good">
      {t('override.saved')}{' '}
      {until === null ? t('override.savedForever') : t('override.savedUntil', { time: time(until) })}
    </Note>
  )
}

interface QuickDialogProps extends Omit<Own, 'reload'> {
  readonly kind: QuickKind
  readonly onClose: () => void
  /** @param until as it was set */
  readonly onDone: (until: string | null) => void
}

/** Shows what would be set and until when. It is refused if somebody else has changed the override since the dialog was opened. */
export function QuickDialog({ kind, onClose, onDone, ...own }: QuickDialogProps) {
  const { response: of, exempt = false, path, etag, read } = own
  const [expiry, setExpiry] = useState(A_DAY)
  // The confirmation applies to what was seen when the question was asked, even if the page is read again.
  const [seen, setSeen] = useState({ of, etag })
  const until = expiryOf(expiry, serverNow())
  const body = quickBody(seen.of, kind, { reason: t(`quick.${kind}.reason`), expiresAt: until ?? null })

  async function set({ reason = '' }: Reason): Promise<void> {
    const expiresAt = expiryOf(expiry, serverNow())
    if (expiresAt === undefined) throw new Error(t('problem.expiry'))
    try {
      const wish = quickBody(seen.of, kind, { reason, expiresAt })
      await call<OverrideResponse>('PUT', `${path}/override`, { body: wish, ifMatch: seen.etag })
      await read()
      onDone(expiresAt)
    } catch (caught) {
      if (isOutcomeUnknown(caught) || (caught instanceof ApiError && caught.status === 412)) await read()
      throw caught
    }
  }
  return (
    <Confirm
      title={t(`quick.${kind}.title`, { name: visible(of.id) })}
      action={t(kind === 'block' ? 'quick.doBlock' : 'quick.doRaise')}
      danger={kind === 'block'}
      needsReason
      reason={t(`quick.${kind}.reason`)}
      onConfirm={set}
      onClose={onClose}
    >
      {exempt && <Note tone="warn">{t('users.status.exempt')}</Note>}
      <p>{t(of.kind === 'user' ? `quick.${kind}.text` : `quick.${kind}.textOrganisation`)}</p>
      <QuickLines of={seen.of} kind={kind} />
      {kind === 'block' ? (
        <p className="muted">{t(`quick.block.passes.${of.kind}`)}</p>
      ) : (
        of.kind === 'organisation' && <p className="muted">{t('quick.ofMembers')}</p>
      )}
      <ExpiryField
        label={t('override.expiry')}
        value={expiry}
        keep={seen.of.override?.expiresAt ?? null}
        error={until === undefined ? t('problem.expiry') : undefined}
        onChange={setExpiry}
      />
      <EndNotes override={seen.of.override} body={body} />
      {seen.etag !== etag && (
        <Note tone="warn" live>
          {t('quick.changed')}{' '}
          <Plain size="compact-sm" onClick={() => setSeen({ of, etag })}>
            {t('quick.look')}
          </Plain>
        </Note>
      )}
    </Confirm>
  )
}

/** What happens to each limit, one line each. */
function QuickLines({ of, kind }: { readonly of: Overridable; readonly kind: QuickKind }) {
  return (
    <FromTo
      lines={quickLines(of, kind).map(({ category, window, plan, from, to }) => ({
        key: `${category} ${window} ${plan}`,
        name: (
          <>
            <bdi>{changedName(`limits.${category}.${window}`)}</bdi>
            {plan !== null && <span className="muted"> ({t('quick.ofPlan', { plan: visible(plan) })})</span>}
          </>
        ),
        from: exact(from),
        to: exact(to),
      }))}
    />
  )
}

const EVERY_MS = 30_000

/** Revokes all access keys of a user. Disabled if there are none. */
function RevokeAll({ user }: { readonly user: string }) {
  const poll = usePoll<TokensResponse>(`/api/tokens?${new URLSearchParams({ user })}`, EVERY_MS)
  const keys = (poll.data?.tokens ?? []).filter(isUsable)

  async function revoke(body: Reason): Promise<void> {
    try {
      await call('DELETE', `/api/tokens?${new URLSearchParams({ user })}`, { body })
    } finally {
      // The keys are read again even if the outcome is unknown.
      await poll.read()
    }
  }
  return (
    <Ask
      button={t('quick.revoke', { count: number(keys.length) })}
      disabled={keys.length === 0}
      title={t('quick.revoke.title', { count: number(keys.length), name: visible(user) })}
      action={t('quick.doRevoke')}
      danger
      onConfirm={revoke}
    >
      <p>{t('quick.revoke.text')}</p>
      <ul>
        {keys.map(({ id, name }) => (
          <li key={id}>
            <Name of={name} />
          </li>
        ))}
      </ul>
    </Ask>
  )
}

function isUsable({ revokedAt, expiresAt }: TokensResponse['tokens'][number]): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > serverNow())
}

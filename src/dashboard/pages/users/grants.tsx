import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { GrantResponse, GrantsResponse } from '../../../contract/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { exact, t } from '../../i18n/text.ts'
import { type Expiry, expiryOf } from '../../logic/override.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm, type Reason } from '../../ui/confirm.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { Failed } from '../../ui/failure.tsx'
import { bound, useForm } from '../../ui/form.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Changing, Name, Note, Plain, Tag } from '../../ui/small.tsx'
import { useOwn, useOwner } from './own.ts'

const EVERY_MS = 5000
/** How many are shown. Those that have ended come last. */
const MOST_SHOWN = 20

/** Extra tokens of a user or an organisation, with a form to give some. */
export function Grants() {
  const poll = usePoll<GrantsResponse>(`/api/grants?${new URLSearchParams(useOwner())}`, EVERY_MS)
  const { id } = useOwn().response
  const [ending, setEnding] = useState<GrantResponse | null>(null)

  async function end(body: Reason): Promise<void> {
    await call('DELETE', `/api/grants/${ending?.id}`, { body })
    await poll.read()
  }

  return (
    <Panel title={t('grants.title')} text={t('grants.text')}>
      <Loaded poll={poll} hasBanner>
        {({ grants }) => (
          <DataTable
            label={t('grants.title')}
            rows={grants.toSorted(liveFirst).slice(0, MOST_SHOWN)}
            none={t('grants.none')}
            keyOf={({ id }) => id}
            field="grants"
            columns={[
              { id: 'reason', head: t('grants.id'), cell: ({ reason }) => <Name of={reason} /> },
              { id: 'category', head: t('word.category'), cell: ({ category }) => <bdi>{category}</bdi> },
              {
                id: 'taken',
                head: t('grants.taken'),
                cell: ({ taken, tokens }) => t('grants.takenOf', { taken: exact(taken), tokens: exact(tokens) }),
              },
              { id: 'until', head: t('grants.until'), cell: ({ until, endedAt }) => <Moment at={endedAt ?? until} /> },
              { id: 'state', head: t('word.state'), cell: (grant) => <State of={grant} onEnd={setEnding} /> },
            ]}
          />
        )}
      </Loaded>
      <NewGrant read={poll.read} reload={poll.reload} />
      {ending && (
        <Confirm
          title={t('grants.endOf', { name: visible(id) })}
          action={t('grants.end')}
          danger
          onConfirm={end}
          onClose={() => setEnding(null)}
        >
          <p>{t('grants.endText', { left: exact(ending.left) })}</p>
        </Confirm>
      )}
    </Panel>
  )
}

function liveFirst(a: GrantResponse, b: GrantResponse): number {
  return Number(b.live) - Number(a.live)
}

function State({ of, onEnd }: { readonly of: GrantResponse; readonly onEnd: (grant: GrantResponse) => void }) {
  if (!of.live) return <Tag tone="info">{t(of.endedAt === null ? 'grants.state.over' : 'grants.state.ended')}</Tag>
  return (
    <div className="wrap">
      <Tag tone={of.left === 0 ? 'warn' : 'good'}>{t(of.left === 0 ? 'grants.state.empty' : 'grants.state.live')}</Tag>
      <Changing label={t('grants.title')}>
        <Plain size="compact-sm" onClick={() => onEnd(of)}>
          {t('grants.end')}
        </Plain>
      </Changing>
    </div>
  )
}

interface Draft {
  /** `null` until somebody chooses. Until then the first category applies. */
  readonly category: string | null
  readonly tokens: string
  readonly expiry: Expiry
  readonly reason: string
}

/** What was sent for a draft, with an unknown outcome. */
interface Sent {
  readonly draft: Draft
  readonly wish: { readonly body: object; readonly idempotencyKey: string }
}

/** A random idempotency key, made by a function that needs no secure context. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('')
}

const EMPTY: Draft = { category: null, tokens: '', expiry: { kind: 'hours', hours: 168 }, reason: '' }

function NewGrant({ read, reload }: Pick<Polled<GrantsResponse>, 'read' | 'reload'>) {
  const of = useOwner()
  const categories = Object.keys(useOwn().response.windows)
  const [draft, setDraft] = useKept(`grant to ${JSON.stringify(of)}`, EMPTY)
  const [given, setGiven] = useState(false)
  const [sent, setSent] = useKept<Sent | null>(`sent grant to ${JSON.stringify(of)}`, null)
  const edit = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }))
  const category = draft.category ?? categories[0] ?? ''
  const [tokens, reason] = [Number(draft.tokens.trim()), draft.reason.trim()]
  const { problems, error, form, submitter } = useForm({
    check() {
      setGiven(false)
      return {
        tokens: !(Number.isSafeInteger(tokens) && tokens > 0) && t('grants.problem.tokens'),
        until: expiryOf(draft.expiry, serverNow()) == null && t('problem.expiry'),
        reason: reason === '' && t('problem.required'),
      }
    },
    async send() {
      const until = expiryOf(draft.expiry, serverNow())
      const fresh = { body: { ...of, category, tokens, until, reason }, idempotencyKey: newKey() }
      // A grant with an unknown outcome is sent again unchanged, so that it is given once.
      const wish = sent?.draft === draft ? sent.wish : fresh
      setSent(() => ({ draft, wish }))
      await call<GrantResponse>('POST', '/api/grants', wish)
      setGiven(true)
      setSent(() => null)
      setDraft(() => EMPTY)
      await read()
    },
    onError(error) {
      if (isOutcomeUnknown(error)) reload()
      else setSent(() => null)
    },
  })

  return (
    <Changing label={t('grants.give')}>
      <form {...form}>
        <div className="fields">
          <NativeSelect
            label={t('word.category')}
            data={categories}
            {...bound(category, (category) => edit({ category }), problems.category)}
          />
          <TextInput
            label={t('history.tokens')}
            inputMode="numeric"
            required
            {...bound(draft.tokens, (tokens) => edit({ tokens }), problems.tokens)}
            autoComplete="off"
          />
        </div>
        <ExpiryField
          label={t('grants.expiry')}
          value={draft.expiry}
          keep={null}
          hasNever={false}
          error={problems.until}
          onChange={(expiry) => edit({ expiry })}
        />
        <TextInput
          label={t('grants.reason')}
          required
          maxLength={500}
          {...bound(draft.reason, (reason) => edit({ reason }), problems.reason)}
          autoComplete="off"
        />
        <div className="actions">
          <Button {...submitter}>{t('grants.give')}</Button>
        </div>
      </form>
      {given && <Note tone="good">{t('grants.given')}</Note>}
      <Failed error={error} />
    </Changing>
  )
}

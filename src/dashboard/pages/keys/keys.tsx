import { Button, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { NewTokenResponse, TokenResponse, TokensResponse } from '../../../admin/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { type Expiry, expiryOf } from '../../logic/override.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Discard } from '../../ui/discard.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { fieldProblems, messageOf } from '../../ui/failure.tsx'
import { useFocusKept } from '../../ui/focus-back.ts'
import { useFocusWrong } from '../../ui/focus-wrong.ts'
import { useKept } from '../../ui/kept-state.tsx'
import { Note } from '../../ui/note.tsx'
import { Loaded, PageTitle, Panel, Rows } from '../../ui/panel.tsx'
import { At, Changing, Copyable, Fact, Facts, Name, Tag } from '../../ui/small.tsx'

const EVERY_MS = 10_000
/** More rows than anybody reads; the filter finds the others. */
const SHOWN = 200

export function KeysPage() {
  const { t } = useTexts()
  const poll = usePoll<TokensResponse>('/api/tokens', EVERY_MS)
  return (
    <>
      <PageTitle>{t('page.keys')}</PageTitle>
      <NewToken read={poll.read} reload={poll.reload} />
      <Panel title={t('tokens.title')}>
        <Loaded poll={poll}>
          {({ tokens }) => <TokenTable tokens={tokens} read={poll.read} reload={poll.reload} />}
        </Loaded>
      </Panel>
    </>
  )
}

interface NewTokenForm {
  readonly user: string
  readonly name: string
  readonly expiry: Expiry
}

const EMPTY: NewTokenForm = { user: '', name: '', expiry: { kind: 'never' } }

type Reading = Pick<Polled<TokensResponse>, 'read' | 'reload'>

function NewToken({ read, reload }: Reading) {
  const { t } = useTexts()
  const [form, setForm] = useKept('new token', EMPTY)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [error, setError] = useState<Error | null>(null)
  // Never kept: its secret is shown this once.
  const [made, setMade] = useState<NewTokenResponse | null>(null)
  const [busy, setBusy] = useState(false)
  const button = useFocusKept(busy)
  const ref = useFocusWrong(problems)

  function edit(part: Partial<NewTokenForm>): void {
    setForm((now) => ({ ...now, ...part }))
  }

  function discard(): void {
    setForm(() => EMPTY)
    setProblems({})
    setError(null)
  }

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault()
    setMade(null)
    setError(null)
    const user = form.user.trim()
    const name = form.name.trim()
    const expiresAt = expiryOf(form.expiry, serverNow())
    const found = {
      ...(user === '' && { user: t('problem.required') }),
      ...(name === '' && { name: t('problem.required') }),
      ...(expiresAt === undefined && { expiresAt: t('problem.expiry') }),
    }
    setProblems(found)
    if (Object.keys(found).length > 0) return
    setBusy(true)
    try {
      setMade((await call<NewTokenResponse>('POST', '/api/tokens', { body: { user, name, expiresAt } })).data)
      // What was typed meanwhile is for another one.
      setForm((now) => (now === form ? EMPTY : now))
      await read()
    } catch (caught) {
      setError(caught as Error)
      setProblems(fieldProblems(caught as Error))
      if (isOutcomeUnknown(caught)) reload()
    } finally {
      setBusy(false)
    }
  }

  return (
    <Panel title={t('tokens.create')}>
      <Changing label={t('tokens.create')}>
        <form ref={ref} onSubmit={make} noValidate>
          <div className="fields">
            <TextInput
              label={t('tokens.owner')}
              required
              value={form.user}
              onChange={(event) => edit({ user: event.currentTarget.value })}
              error={problems.user}
              autoComplete="off"
            />
            <TextInput
              label={t('tokens.what')}
              description={t('tokens.whatHelp')}
              required
              maxLength={64}
              value={form.name}
              onChange={(event) => edit({ name: event.currentTarget.value })}
              error={problems.name}
              autoComplete="off"
            />
          </div>
          <ExpiryField
            label={t('tokens.expiry')}
            value={form.expiry}
            keep={null}
            error={problems.expiresAt}
            onChange={(expiry) => edit({ expiry })}
          />
          <div className="actions">
            <Button ref={button} type="submit" loading={busy}>
              {t('tokens.make')}
            </Button>
            <Discard disabled={form === EMPTY} onDiscard={discard} />
          </div>
        </form>
      </Changing>
      {error && (
        <Note tone="bad">
          {messageOf(error, t)} {isOutcomeUnknown(error) && t('tokens.unknown')}
        </Note>
      )}
      {made && (
        <Note tone="good" live title={t('tokens.made', { user: visible(made.user) })}>
          <p>{t('tokens.once')}</p>
          <Copyable text={made.token} label={t('tokens.made', { user: visible(made.user) })} />
        </Note>
      )}
    </Panel>
  )
}

function TokenTable({ tokens, read, reload }: { readonly tokens: readonly TokenResponse[] } & Reading) {
  const { t, number } = useTexts()
  const [filter, setFilter] = useState('')
  const [revoking, setRevoking] = useState<TokenResponse | null>(null)
  /** Of the last one that was to be revoked. */
  const [unknown, setUnknown] = useState<{ readonly id: string; readonly error: Error } | null>(null)
  const isUnknown = unknown !== null && tokens.some(({ id, revokedAt }) => id === unknown.id && revokedAt === null)
  const wanted = filter.trim().toLowerCase()
  const found = tokens.filter(({ user, name }) => `${user}\n${name}`.toLowerCase().includes(wanted))
  const shown = found.slice(0, SHOWN)

  async function revoke({ id }: TokenResponse, reason: string): Promise<void> {
    setUnknown(null)
    try {
      await call('DELETE', `/api/tokens/${encodeURIComponent(id)}`, { body: reason === '' ? {} : { reason } })
      await read()
    } catch (caught) {
      if (!isOutcomeUnknown(caught)) throw caught
      setUnknown({ id, error: caught as Error })
      reload()
    }
  }

  if (tokens.length === 0) return <p className="muted">{t('tokens.none')}</p>
  return (
    <>
      <TextInput
        type="search"
        label={t('tokens.filter')}
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
      <p role="status">
        {found.length === 0
          ? t('tokens.noMatch')
          : found.length > SHOWN && t('tokens.first', { shown: number(SHOWN), found: number(found.length) })}
      </p>
      {isUnknown && <Note tone="bad">{messageOf(unknown.error, t)}</Note>}
      <Changing label={t('tokens.title')}>
        <Rows
          label={t('tokens.title')}
          head={[
            t('word.user'),
            t('tokens.what'),
            t('tokens.created'),
            t('tokens.expiry'),
            t('tokens.state'),
            t('word.action'),
          ]}
        >
          {shown.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => setRevoking(token)} />
          ))}
        </Rows>
      </Changing>
      {revoking && (
        <Confirm
          title={t('tokens.revokeOf', { name: visible(revoking.name), user: visible(revoking.user) })}
          action={t('tokens.revoke')}
          danger
          onConfirm={(reason) => revoke(revoking, reason)}
          onClose={() => setRevoking(null)}
        >
          <Facts>
            <Fact name={t('word.user')}>
              <Name of={revoking.user} />
            </Fact>
            <Fact name={t('tokens.what')}>
              <Name of={revoking.name} />
            </Fact>
            <Fact name={t('tokens.created')}>
              <At at={revoking.createdAt} />
            </Fact>
            <Fact name={t('tokens.id')}>
              <code>{revoking.id}</code>
            </Fact>
          </Facts>
          <p>{t('tokens.revokeText')}</p>
        </Confirm>
      )}
    </>
  )
}

function TokenRow({ token, onRevoke }: { readonly token: TokenResponse; readonly onRevoke: () => void }) {
  const { t, time } = useTexts()
  const { user, name, plan, organisation, createdAt, expiresAt, revokedAt } = token
  const expired = expiresAt !== null && Date.parse(expiresAt) <= serverNow()
  return (
    <tr>
      <th scope="row">
        <a href={hashOf('users', user)}>
          <Name of={user} />
        </a>
      </th>
      <td>
        <Name of={name} />
        {plan !== undefined && <Tag>{visible(plan)}</Tag>}
        {organisation !== undefined && <Tag>{visible(organisation)}</Tag>}
      </td>
      <td>
        <At at={createdAt} />
      </td>
      <td>{expiresAt === null ? t('word.never') : <At at={expiresAt} />}</td>
      <td>
        {revokedAt !== null ? (
          <Tag tone="bad">{t('tokens.revoked', { time: time(revokedAt) })}</Tag>
        ) : (
          <Tag tone={expired ? 'warn' : 'good'}>{t(expired ? 'tokens.expired' : 'tokens.good')}</Tag>
        )}
      </td>
      <td>
        {revokedAt === null && (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={t('tokens.revokeOf', { name: visible(name), user: visible(user) })}
            onClick={onRevoke}
          >
            {t('tokens.revoke')}
          </Button>
        )}
      </td>
    </tr>
  )
}

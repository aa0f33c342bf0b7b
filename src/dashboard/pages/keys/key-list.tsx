import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { TokenResponse } from '../../../contract/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { date, lengthWords, number, t, time } from '../../i18n/text.ts'
import { foundKeys, KEY_STATES, type KeyState, type KeyWish, keyWishOf, UNUSED_DAYS } from '../../logic/access-keys.ts'
import { visible } from '../../logic/visible.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import type { Reason } from '../../ui/confirm.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Failed } from '../../ui/failure.tsx'
import { bound, Choice } from '../../ui/form.tsx'
import { Ago, Moment } from '../../ui/moment.tsx'
import { Name, Plain, Tag, type Tone, WayTo } from '../../ui/small.tsx'
import { Revoke, Rotate, type Rotation } from './key-questions.tsx'
import { type Made, MadeKey } from './made-key.tsx'
import { useKeys } from './use-new-key.ts'

/** More rows than anybody reads. The search finds the others. */
const SHOWN = 100

/** The access keys that match the address. */
export function KeyList({ keys }: { readonly keys: readonly TokenResponse[] }) {
  const { read, reload } = useKeys()
  const may = useMayChange()
  const [chosen, setChosen] = useState<TokenResponse | null>(null)
  const [old, setOld] = useState<TokenResponse | null>(null)
  // Never stored, because the secret is shown only once.
  const [made, setMade] = useState<Made | null>(null)
  /** The last key that was to be revoked, if the outcome is unknown. */
  const [unknown, setUnknown] = useState<{ readonly id: string; readonly error: Error } | null>(null)
  const isUnknown = unknown !== null && keys.some(({ id, revokedAt }) => id === unknown.id && revokedAt === null)
  const wish = keyWishOf(useFields())
  const found = foundKeys(keys, wish, serverNow())

  async function revoke({ id }: TokenResponse, body: Reason): Promise<void> {
    setUnknown(null)
    try {
      await call('DELETE', `/api/tokens/${encodeURIComponent(id)}`, { body })
      await read()
    } catch (caught) {
      if (!isOutcomeUnknown(caught)) throw caught
      setUnknown({ id, error: caught as Error })
      reload()
    }
  }

  async function rotate({ id }: TokenResponse, body: Rotation): Promise<void> {
    setMade(null)
    setMade((await call<Made>('POST', `/api/tokens/${encodeURIComponent(id)}/rotate`, { body })).data)
    await read()
  }

  const counts = { shown: number(SHOWN), found: number(found.length), all: number(keys.length) }
  if (keys.length === 0) return <p className="muted">{t('keys.none')}</p>
  return (
    <>
      <KeySearch {...wish} />
      <p role="status" className="muted">
        {found.length === 0 ? t('keys.noMatch') : t(found.length > SHOWN ? 'keys.first' : 'keys.count', counts)}
      </p>
      {isUnknown && <Failed error={unknown.error} />}
      {made && <MadeKey made={made} />}
      {found.length > 0 && (
        <DataTable
          label={t('keys.title')}
          columns={columnsOf(may, { onRevoke: setChosen, onRotate: setOld })}
          rows={found}
          most={SHOWN}
          keyOf={({ id }) => id}
        />
      )}
      {old && <Rotate accessKey={old} onConfirm={(rotation) => rotate(old, rotation)} onClose={() => setOld(null)} />}
      {chosen && (
        <Revoke accessKey={chosen} onConfirm={(reason) => revoke(chosen, reason)} onClose={() => setChosen(null)} />
      )}
    </>
  )
}

function KeySearch({ query, state, unused }: KeyWish) {
  return (
    <search className="filters" aria-label={t('refusals.filters')}>
      <TextInput
        type="search"
        label={t('keys.search')}
        maxLength={256}
        {...bound(query, (query) => changeFields({ query }))}
      />
      <Choice
        {...{ label: t('word.state'), none: t('refusals.any'), value: state, values: KEY_STATES }}
        nameOf={(value) => t(`keys.state.${value}`)}
        onChoose={(state) => changeFields({ state })}
      />
      <Choice
        {...{ label: t('keys.unused'), none: t('refusals.any'), value: unused, values: UNUSED_DAYS }}
        nameOf={(value) => lengthWords(`${value}d`)}
        onChoose={(unused) => changeFields({ unused })}
      />
    </search>
  )
}

const TONES: Readonly<Record<KeyState, Tone>> = { valid: 'good', expired: 'warn', revoked: 'bad' }

/** @param may whether the signed-in person may change something */
function columnsOf(may: boolean, actions: Actions): readonly Column<TokenResponse>[] {
  return [
    {
      id: 'user',
      head: t('word.user'),
      sort: ({ user }) => user,
      cell: ({ user }) => <WayTo page="users" id={user} />,
    },
    {
      id: 'name',
      head: t('keys.name'),
      sort: ({ name }) => name,
      cell: ({ name, plan, organisation }) => (
        <div>
          <Name of={name} /> {plan !== undefined && <Tag>{visible(plan)}</Tag>}{' '}
          {organisation !== undefined && <Tag>{visible(organisation)}</Tag>}
        </div>
      ),
    },
    {
      id: 'created',
      head: t('keys.created'),
      sort: ({ createdAt }) => createdAt,
      // The second is shown on hover.
      cell: ({ createdAt: at }) => (
        <time dateTime={at} title={time(at)}>
          {date(Date.parse(at))}
        </time>
      ),
    },
    {
      id: 'expires',
      head: t('keys.expiry'),
      sort: ({ expiresAt }) => expiresAt,
      cell: ({ expiresAt }) => (expiresAt === null ? t('word.never') : <Moment at={expiresAt} />),
    },
    {
      id: 'used',
      head: t('keys.used'),
      sort: ({ lastUsedAt }) => lastUsedAt,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? t('word.never') : <Ago at={lastUsedAt} />),
    },
    {
      id: 'state',
      head: t('word.state'),
      sort: ({ state }) => t(`keys.state.${state}`),
      cell: ({ state, revokedAt }) => (
        <div>
          <Tag tone={TONES[state]}>{t(`keys.state.${state}`)}</Tag>{' '}
          {revokedAt !== null && <Moment at={revokedAt} isPast />}
        </div>
      ),
    },
    actionOf(may, actions),
  ]
}

interface Actions {
  readonly onRevoke: (key: TokenResponse) => void
  readonly onRotate: (key: TokenResponse) => void
}

function actionOf(may: boolean, { onRevoke, onRotate }: Actions): Column<TokenResponse> {
  const button = (key: TokenResponse, what: 'revoke' | 'rotate', onClick: (key: TokenResponse) => void) => (
    <Plain
      size="compact-xs"
      disabled={!may}
      aria-label={t(`keys.${what}Of`, { name: visible(key.name), user: visible(key.user) })}
      onClick={() => onClick(key)}
    >
      {t(`keys.${what}`)}
    </Plain>
  )
  return {
    id: 'action',
    head: t('word.action'),
    cell: (key) => (
      <span className="key-actions">
        {key.state === 'valid' && button(key, 'rotate', onRotate)}
        {key.revokedAt === null && button(key, 'revoke', onRevoke)}
      </span>
    ),
  }
}

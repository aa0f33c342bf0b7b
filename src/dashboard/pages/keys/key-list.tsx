import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { TokenResponse } from '../../../contract/api.ts'
import { call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { lengthWords, number, t } from '../../i18n/text.ts'
import { foundKeys, KEY_STATES, type KeyWish, keyWishOf, UNUSED_DAYS } from '../../logic/access-keys.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import type { Reason } from '../../ui/confirm.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Failed } from '../../ui/failure.tsx'
import { bound, Choice } from '../../ui/form.tsx'
import { Revoke, Rotate, type Rotation } from './key-questions.tsx'
import { columnsOf } from './key-table.tsx'
import { type Made, MadeKey } from './made-key.tsx'
import { useKeys } from './use-new-key.ts'

/** More rows than anybody reads. The search finds the others. */
const SHOWN = 100

/** The keys that are looked for; the address has what that is. */
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

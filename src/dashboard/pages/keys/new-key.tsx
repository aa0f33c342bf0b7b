import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { UsersResponse } from '../../../contract/api.ts'
import { isOutcomeUnknown } from '../../api/client.ts'
import { useLed, useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import { factsOf } from '../../logic/key-facts.ts'
import { hashOf } from '../../logic/location.ts'
import { ExpiryField } from '../../ui/expiry.tsx'
import { Failed } from '../../ui/failure.tsx'
import { bound, Choice, Discard } from '../../ui/form.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Changing, ForOperators, Name, Plain } from '../../ui/small.tsx'
import { useTyped } from '../../ui/typed.ts'
import { ByLink, MadeKey } from './made-key.tsx'
import { type NewKeyForm, useKeys, useNewKey } from './use-new-key.ts'

const EVERY_MS = 30_000
/** How many users are suggested. */
const MOST = 5

/** The form for a new access key, and its secret, which is shown only once. */
export function NewKey() {
  const [typed, setTyped] = useState('')
  const query = useTyped(typed)
  const wish = new URLSearchParams({ query, limit: String(MOST) })
  const look = usePoll<UsersResponse>(query === '' ? null : `/api/users?${wish}`, EVERY_MS)
  const found = look.data?.users ?? null
  /** Whether the user's facts are still unknown, so that a key made now would lack them. */
  const isLooking = typed.trim() !== query || (query !== '' && look.data === null && look.error === null)
  const plans = Object.keys(useQuota()?.effective.plans ?? {})
  // For a lead the gateway decides the organisation and the plan of a key.
  const isLead = useLed() !== null
  const known = { keys: useKeys().data?.tokens ?? [], lines: found ?? [], plans }
  const { draft, chosen, isEmpty, edit, problems, error, made, form, submitter, discard } = useNewKey((user) =>
    isLead ? {} : factsOf(user, known),
  )
  /** A choice for one user does not apply to another. */
  function name(user: string): void {
    setTyped(user)
    edit({ user, organisation: null, plan: null })
  }
  return (
    <Panel title={t('keys.create')}>
      <Changing label={t('keys.create')}>
        <form {...form}>
          <div className="wrap key-line">
            <TextInput label={t('word.user')} required {...bound(draft.user, name, problems.user)} autoComplete="off" />
            <TextInput
              label={t('keys.name')}
              placeholder={t('keys.nameHelp')}
              required
              maxLength={64}
              {...bound(draft.name, (name) => edit({ name }), problems.name)}
              autoComplete="off"
            />
            <div className="actions">
              <Button {...submitter} disabled={isLooking}>
                {t('keys.make')}
              </Button>
              {!isEmpty && <Discard disabled={false} onDiscard={discard} />}
            </div>
          </div>
          <KnownUsers user={draft.user.trim()} found={query === draft.user.trim() ? found : null} onChoose={name} />
          {!isEmpty && <Further {...{ draft, chosen, plans, edit, problems }} />}
        </form>
      </Changing>
      <Failed error={error}>{isOutcomeUnknown(error) && t('keys.unknown')}</Failed>
      {made && <MadeKey made={made} />}
    </Panel>
  )
}

interface FurtherProps extends Pick<NewKeyForm, 'draft' | 'chosen' | 'edit' | 'problems'> {
  /** The plans of the configuration. */
  readonly plans: readonly string[]
}

/** Further fields of a key. They appear when somebody begins to make one, because most people come for the list. */
function Further({ draft, chosen, plans, edit, problems }: FurtherProps) {
  return (
    <>
      <ForOperators>
        <div className="fields">
          <TextInput
            label={t('word.organisation')}
            description={t('keys.factsHelp')}
            {...bound(chosen.organisation ?? '', (organisation) => edit({ organisation }), problems.organisation)}
            autoComplete="off"
          />
          {plans.length > 0 && (
            <Choice
              {...{ label: t('override.plan'), description: t('keys.factsHelp'), none: t('keys.noPlan') }}
              {...{ value: chosen.plan ?? '', values: plans, error: problems.plan }}
              onChoose={(plan) => edit({ plan })}
            />
          )}
        </div>
      </ForOperators>
      <ExpiryField
        label={t('keys.expiry')}
        value={draft.expiry}
        keep={null}
        error={problems.expiresAt}
        onChange={(expiry) => edit({ expiry })}
      />
      <ByLink checked={draft.byLink} onChange={(byLink) => edit({ byLink })} />
    </>
  )
}

interface KnownUsersProps {
  readonly user: string
  /** Users whose id contains the typed text; `null` if unknown. */
  readonly found: UsersResponse['users'] | null
  readonly onChoose: (user: string) => void
}

/** Says whether the typed user is known, and which other users may be meant. */
function KnownUsers({ user, found, onChoose }: KnownUsersProps) {
  if (user === '' || found === null) return null
  const others = found.filter((each) => each.user !== user)
  return (
    <p role="status" className="muted">
      {others.length < found.length ? (
        <>
          {t('keys.user.known')} <a href={hashOf('users', user)}>{t('keys.user.look')}</a>
        </>
      ) : (
        t('keys.user.new')
      )}{' '}
      {others.map((each) => (
        <Plain key={each.user} size="compact-sm" mr="xs" onClick={() => onChoose(each.user)}>
          <Name of={each.user} />
        </Plain>
      ))}
    </p>
  )
}

import { Button, TextInput } from '@mantine/core'
import type { NewTokenResponse } from '../../../admin/api.ts'
import { isOutcomeUnknown } from '../../api/client.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Discard } from '../../ui/discard.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { messageOf } from '../../ui/failure.tsx'
import { useFocusKept } from '../../ui/focus-back.ts'
import { useFocusWrong } from '../../ui/focus-wrong.ts'
import { Note } from '../../ui/note.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Changing, Copyable } from '../../ui/small.tsx'
import { type Reading, useNewKey } from './use-new-key.ts'

/** The form that makes an access key, and its secret, which is shown this once. */
export function NewKey(reading: Reading) {
  const { t } = useTexts()
  const { draft, isEmpty, edit, problems, error, made, busy, make, discard } = useNewKey(reading)
  const button = useFocusKept(busy)
  const ref = useFocusWrong(problems)
  return (
    <Panel title={t('keys.create')}>
      <Changing label={t('keys.create')}>
        <form ref={ref} onSubmit={make} noValidate>
          <div className="fields">
            <TextInput
              label={t('word.user')}
              required
              value={draft.user}
              onChange={(event) => edit({ user: event.currentTarget.value })}
              error={problems.user}
              autoComplete="off"
            />
            <TextInput
              label={t('keys.name')}
              placeholder={t('keys.nameHelp')}
              required
              maxLength={64}
              value={draft.name}
              onChange={(event) => edit({ name: event.currentTarget.value })}
              error={problems.name}
              autoComplete="off"
            />
          </div>
          <ExpiryField
            label={t('keys.expiry')}
            value={draft.expiry}
            keep={null}
            error={problems.expiresAt}
            onChange={(expiry) => edit({ expiry })}
          />
          <div className="actions">
            <Button ref={button} type="submit" loading={busy}>
              {t('keys.make')}
            </Button>
            <Discard disabled={isEmpty} onDiscard={discard} />
          </div>
        </form>
      </Changing>
      {error && (
        <Note tone="bad">
          {messageOf(error, t)} {isOutcomeUnknown(error) && t('keys.unknown')}
        </Note>
      )}
      {made && <Made made={made} />}
    </Panel>
  )
}

function Made({ made: { user, token } }: { readonly made: NewTokenResponse }) {
  const { t } = useTexts()
  const title = t('keys.made', { user: visible(user) })
  return (
    <Note tone="good" live title={title}>
      <p>{t('keys.once')}</p>
      <Copyable text={token} label={title} />
    </Note>
  )
}

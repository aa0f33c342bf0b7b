import { Button } from '@mantine/core'
import { useState } from 'react'
import type { OverrideResponse } from '../../../admin/api.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import type { Polled } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type Expiry, expiryOf, flatOf, type Overridable } from '../../logic/override.ts'
import { canRaise, type QuickKind, quickBody } from '../../logic/quick-override.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Differences } from '../../ui/differences.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { Note } from '../../ui/note.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Changing } from '../../ui/small.tsx'
import { RevokeAll } from './revoke-all.tsx'

interface QuickProps extends Pick<Polled<unknown>, 'etag' | 'read'> {
  readonly of: Overridable
  /** Of the user or the organisation in the API. */
  readonly path: string
}

/** What is done most often, each with one button and one question. */
export function QuickActions(props: QuickProps) {
  const { t } = useTexts()
  const { of } = props
  const [asking, setAsking] = useState<QuickKind | null>(null)
  const [done, setDone] = useState(false)
  function ask(kind: QuickKind): void {
    setDone(false)
    setAsking(kind)
  }
  return (
    <Panel title={t('quick.title')}>
      <Changing label={t('quick.title')}>
        <div className="actions">
          <Button disabled={!canRaise(of)} onClick={() => ask('half')}>
            {t('quick.half')}
          </Button>
          <Button variant="default" disabled={!canRaise(of)} onClick={() => ask('double')}>
            {t('quick.double')}
          </Button>
          <Button variant="default" onClick={() => ask('block')}>
            {t('quick.block')}
          </Button>
          {of.kind === 'user' && <RevokeAll user={of.id} />}
        </div>
      </Changing>
      {done && (
        <Note tone="good" live>
          {t('override.saved')}
        </Note>
      )}
      {asking && <QuickDialog {...props} kind={asking} onClose={() => setAsking(null)} onDone={() => setDone(true)} />}
    </Panel>
  )
}

interface QuickDialogProps extends QuickProps {
  readonly kind: QuickKind
  readonly onClose: () => void
  readonly onDone: () => void
}

const A_DAY: Expiry = { kind: 'hours', hours: 24 }

/** Says what would be set, and until when. It is refused if somebody else has changed the override since the dialog was opened. */
function QuickDialog({ of, path, etag, read, kind, onClose, onDone }: QuickDialogProps) {
  const { t } = useTexts()
  const [expiry, setExpiry] = useState(A_DAY)
  // What is confirmed is what was seen when the question was asked, however often the page is read meanwhile.
  const [seen, setSeen] = useState({ of, etag })
  const until = expiryOf(expiry, serverNow())
  const before = flatOf(seen.of.override)
  const body = quickBody(seen.of, kind, { reason: t(`quick.${kind}.reason`), expiresAt: until ?? null })

  async function set(reason: string): Promise<void> {
    const expiresAt = expiryOf(expiry, serverNow())
    if (expiresAt === undefined) throw new Error(t('problem.expiry'))
    try {
      const wish = quickBody(seen.of, kind, { reason, expiresAt })
      await call<OverrideResponse>('PUT', `${path}/override`, { body: wish, ifMatch: seen.etag })
      await read()
      onDone()
    } catch (caught) {
      if (isOutcomeUnknown(caught) || (caught instanceof ApiError && caught.status === 412)) await read()
      throw caught
    }
  }
  return (
    <Confirm
      title={`${t(`quick.${kind}`)} ${visible(of.id)}`}
      action={t(kind === 'block' ? 'quick.doBlock' : 'quick.doRaise')}
      danger={kind === 'block'}
      needsReason
      reason={t(`quick.${kind}.reason`)}
      onConfirm={set}
      onClose={onClose}
    >
      <p>{t(of.kind === 'user' ? `quick.${kind}.text` : `quick.${kind}.textOrganisation`)}</p>
      <Differences of={{ what: 'override', from: before, to: body }} />
      <ExpiryField
        label={t('override.expiry')}
        value={expiry}
        keep={seen.of.override?.expiresAt ?? null}
        error={until === undefined ? t('problem.expiry') : undefined}
        onChange={setExpiry}
      />
      {seen.etag !== etag && (
        <Note tone="warn" live>
          {t('quick.changed')}{' '}
          <Button size="compact-sm" variant="default" onClick={() => setSeen({ of, etag })}>
            {t('quick.look')}
          </Button>
        </Note>
      )}
    </Confirm>
  )
}

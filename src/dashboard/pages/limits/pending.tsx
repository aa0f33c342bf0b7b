import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { GuardResponse, ScheduledResponse, SettingsInForceResponse } from '../../../admin/api.ts'
import { call } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { useTexts } from '../../i18n/text.tsx'
import { leavesOf } from '../../logic/change-terms.ts'
import type { Value } from '../../logic/settings.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Filled } from '../../ui/filled.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Name } from '../../ui/small.tsx'
import { nameOf, shownValue } from './names.ts'

interface PendingProps {
  readonly quota: Pick<SettingsInForceResponse, 'guard' | 'scheduled'>
  /** After something was cancelled. */
  readonly reload: () => void
}

/** What gateways are to change by themselves, with who asked for it and a way to cancel it; nothing if there is nothing. */
export function PendingChanges({ quota: { guard, scheduled = [] }, reload }: PendingProps) {
  const { t } = useTexts()
  if (guard === undefined && scheduled.length === 0) return null
  return (
    <Panel title={t('pending.title')}>
      <ul className="plain pending">
        {guard !== undefined && <GuardItem guard={guard} reload={reload} />}
        {scheduled.map((one) => (
          <ScheduledItem key={one.id} of={one} reload={reload} />
        ))}
      </ul>
    </Panel>
  )
}

function GuardItem({ guard, reload }: { readonly guard: GuardResponse } & Pick<PendingProps, 'reload'>) {
  const { t, share, number } = useTexts()
  const { who, until, refused, counted, patch, why } = guard
  const cancel = async (reason: string) => {
    await call('PATCH', '/api/quota', { body: { guard: null, ...(reason !== '' && { reason }) } })
    reload()
  }
  return (
    <Item
      why={why}
      cancel={{ title: t('pending.guard.cancel'), text: t('pending.guard.cancelText'), onConfirm: cancel }}
    >
      <p>
        <Filled
          text={t('pending.guard', { share: share(refused) })}
          parts={{ who: <Name of={who} />, at: <Moment at={until} /> }}
        />{' '}
        {counted !== undefined && (
          <span className="muted">
            {t('pending.guard.counted', {
              refused: number(Math.round(counted.refused)),
              requests: number(Math.round(counted.requests)),
            })}
          </span>
        )}
      </p>
      <PatchLines patch={patch} text={t('pending.guard.back')} />
    </Item>
  )
}

function ScheduledItem({ of, reload }: { readonly of: ScheduledResponse } & Pick<PendingProps, 'reload'>) {
  const { t, share, duration } = useTexts()
  const { id, what, who, at, until, guard, patch, why } = of
  const cancel = async (reason: string) => {
    await call('DELETE', `/api/quota/scheduled/${encodeURIComponent(id)}`, { body: reason === '' ? {} : { reason } })
    reload()
  }
  const words = { title: t(`pending.${what}.cancel`), text: t(`pending.${what}.cancelText`) }
  return (
    <Item why={why} cancel={{ ...words, onConfirm: cancel }}>
      <p>
        <Filled text={t(`pending.${what}`)} parts={{ who: <Name of={who} />, at: <Moment at={at} /> }} />{' '}
        {until !== undefined && <Filled text={t('pending.until')} parts={{ at: <Moment at={until} /> }} />}{' '}
        {guard !== undefined &&
          t('pending.guarded', { share: share(guard.refused), time: duration(guard.seconds * 1000) })}
      </p>
      <PatchLines patch={patch} />
    </Item>
  )
}

interface ItemProps {
  readonly why: string | null
  readonly cancel: {
    readonly title: string
    readonly text: string
    readonly onConfirm: (reason: string) => Promise<void>
  }
  readonly children: ReactNode
}

function Item({ why, cancel, children }: ItemProps) {
  const { t } = useTexts()
  const may = useMayChange()
  const [isAsking, setAsking] = useState(false)
  return (
    <li>
      <div>
        {children}
        {why !== null && (
          <p className="muted">
            <Filled text={t('audit.why')} parts={{ why: <Name of={why} /> }} />
          </p>
        )}
      </div>
      {may && (
        <Button variant="default" aria-label={cancel.title} onClick={() => setAsking(true)}>
          {t('word.cancel')}
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={cancel.title}
          action={cancel.title}
          onConfirm={cancel.onConfirm}
          onClose={() => setAsking(false)}
        >
          <p>{cancel.text}</p>
        </Confirm>
      )}
    </li>
  )
}

function PatchLines({ patch, text }: { readonly patch: Readonly<Record<string, unknown>>; readonly text?: string }) {
  const texts = useTexts()
  const { t } = texts
  return (
    <>
      {text !== undefined && <p className="muted">{text}</p>}
      <ul className="differences">
        {leavesOf(patch).map(([path, value]) => (
          <li key={path}>
            {nameOf(path, texts)}: <ins>{value === null ? t('word.file') : shownValue(value as Value, texts)}</ins>
          </li>
        ))}
      </ul>
    </>
  )
}

import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { LayerResponse, SettingsInForceResponse } from '../../../admin/api.ts'
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
  readonly quota: Pick<SettingsInForceResponse, 'layers'>
  /** After something was cancelled. */
  readonly reload: () => void
}

/**
 * What was set for a while, is guarded, or is to come: the newest first, as it lies above the others. Each says who asked for it, and
 * how to cancel what is to become of it. Nothing if all is permanent.
 */
export function PendingChanges({ quota: { layers = [] }, reload }: PendingProps) {
  const { t } = useTexts()
  const temporary = layers.filter(({ id }) => id !== 'permanent')
  if (temporary.length === 0) return null
  return (
    <Panel title={t('pending.title')}>
      <ul className="plain pending">
        {temporary.map((layer) => (
          <LayerItem key={layer.id} layer={layer} reload={reload} />
        ))}
      </ul>
    </Panel>
  )
}

/** What can be cancelled of a layer. */
function whatOf({ state, until }: LayerResponse): 'start' | 'end' | 'guard' {
  if (state === 'to_come') return 'start'
  return until === null ? 'guard' : 'end'
}

function LayerItem({ layer, reload }: { readonly layer: LayerResponse } & Pick<PendingProps, 'reload'>) {
  const { t } = useTexts()
  const { id, from, until, state, value, guard, why } = layer
  const cancel = async (reason: string) => {
    await call('DELETE', `/api/quota/scheduled/${encodeURIComponent(id)}`, { body: reason === '' ? {} : { reason } })
    reload()
  }
  const what = whatOf(layer)
  const who = <Name of={layer.who ?? ''} />
  const at = (time: string | null) => <Moment at={time ?? ''} />
  return (
    <Item
      why={why}
      cancel={{ title: t(`pending.${what}.cancel`), text: t(`pending.${what}.cancelText`), onConfirm: cancel }}
    >
      {what === 'start' && (
        <p>
          <Filled text={t('pending.start')} parts={{ who, at: at(from) }} />{' '}
          {until !== null && <Filled text={t('pending.until')} parts={{ at: at(until) }} />}
        </p>
      )}
      {what === 'end' && (
        <p>
          <Filled text={t('pending.end')} parts={{ who, at: at(until) }} />
        </p>
      )}
      {guard !== undefined && (
        <p>
          <GuardText guard={guard} who={who} />
        </p>
      )}
      {state === 'covered' && <p className="muted">{t('pending.covered')}</p>}
      <PatchLines patch={value} />
    </Item>
  )
}

function GuardText({
  guard: { until, refused, counted },
  who,
}: {
  readonly guard: NonNullable<LayerResponse['guard']>
  readonly who: ReactNode
}) {
  const { t, share, number } = useTexts()
  return (
    <>
      <Filled text={t('pending.guard', { share: share(refused) })} parts={{ who, at: <Moment at={until} /> }} />{' '}
      {counted !== undefined && (
        <span className="muted">
          {t('pending.guard.counted', {
            refused: number(Math.round(counted.refused)),
            requests: number(Math.round(counted.requests)),
          })}
        </span>
      )}
    </>
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

function PatchLines({ patch }: { readonly patch: Readonly<Record<string, unknown>> }) {
  const texts = useTexts()
  const { t } = texts
  return (
    <ul className="differences">
      {leavesOf(patch).map(([path, value]) => (
        <li key={path}>
          {nameOf(path, texts)}: <ins>{value === null ? t('word.file') : shownValue(value as Value, texts)}</ins>
        </li>
      ))}
    </ul>
  )
}

import { type ReactNode, useState } from 'react'
import type { LayerResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { type Leaf, leavesOf } from '../../../control/leaves.ts'
import { call, serverNow } from '../../api/client.ts'
import { useMayChange } from '../../api/session.tsx'
import { number, share, t } from '../../i18n/text.ts'
import { type Expiry, expiryOf } from '../../logic/override.ts'
import type { Value } from '../../logic/settings.ts'
import { followsIn, isOnTop } from '../../logic/settings-layers.ts'
import { Ask, type Reason } from '../../ui/confirm.tsx'
import { ExpiryField } from '../../ui/expiry.tsx'
import { Filled } from '../../ui/filled.tsx'
import { FromTo } from '../../ui/from-to.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Name } from '../../ui/small.tsx'
import { nameOf, shownValue } from './names.ts'

interface PendingProps {
  readonly quota: Pick<SettingsInForceResponse, 'layers'>
  /** Called after a change was cancelled or its end was moved. */
  readonly reload: () => void
}

/**
 * Changes that are temporary, guarded or scheduled, newest first as they lie above each other. Each shows who requested it and how to
 * cancel its future part. Nothing if everything is permanent.
 */
export function PendingChanges({ quota: { layers = [] }, reload }: PendingProps) {
  const temporary = layers.filter(({ id }) => id !== 'permanent')
  const permanent = layers.find(({ id }) => id === 'permanent')
  if (temporary.length === 0) return null
  return (
    <Panel title={t('pending.title')}>
      <ul className="plain pending">
        {temporary.map((layer) => (
          <LayerItem key={layer.id} layer={layer} layers={layers} reload={reload} />
        ))}
        {permanent !== undefined && (
          <li>
            <div>
              <p className="muted">{t('pending.permanent')}</p>
              <PatchLines patch={permanent.value} />
            </div>
          </li>
        )}
      </ul>
    </Panel>
  )
}

type Guard = NonNullable<LayerResponse['guard']>

/** What can be cancelled in a layer. */
function whatOf({ state, until }: LayerResponse): 'start' | 'end' | 'guard' {
  if (state === 'to_come') return 'start'
  return until === null ? 'guard' : 'end'
}

interface LayerProps extends Pick<PendingProps, 'reload'> {
  readonly layer: LayerResponse
  /** All layers. */
  readonly layers: readonly LayerResponse[]
}

function LayerItem({ layer, layers, reload }: LayerProps) {
  const { id, from, until, state, value, guard, why } = layer
  const cancel = async (body: Reason) => {
    await call('DELETE', `/api/quota/scheduled/${encodeURIComponent(id)}`, { body })
    reload()
  }
  const may = useMayChange()
  const what = whatOf(layer)
  const title = t(`pending.${what}.cancel`)
  const who = <Name of={layer.who ?? ''} />
  const at = (time: string | null) => <Moment at={time ?? ''} />
  return (
    <li className="wrap">
      <div>
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
            <GuardText {...guard} who={who} />
          </p>
        )}
        {state === 'covered' && <p className="muted">{t('pending.covered')}</p>}
        <PatchLines patch={value} next={until === null ? null : (path) => followsIn(layers, layer, path)} />
        {why !== null && (
          <p className="muted">
            <Filled text={t('audit.why')} parts={{ why: <Name of={why} /> }} />
          </p>
        )}
      </div>
      {may && until !== null && isOnTop(layers, layer) && <MoveEnd layer={layer} reload={reload} />}
      {may && (
        <Ask button={t('word.cancel')} label={title} title={title} action={title} onConfirm={cancel}>
          <p>{t(`pending.${what}.cancelText`)}</p>
        </Ask>
      )}
    </li>
  )
}

function GuardText({ until, refused, counted, who }: Guard & { readonly who: ReactNode }) {
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

/** Sets the same values with another end, which moves the end. */
function MoveEnd({ layer: { value, until }, reload }: Pick<LayerProps, 'layer' | 'reload'>) {
  const [expiry, setExpiry] = useState<Expiry>({ kind: 'hours', hours: 1 })
  const at = expiryOf(expiry, serverNow())
  async function move(reason: Reason): Promise<void> {
    const end = expiryOf(expiry, serverNow())
    if (end == null) throw new Error(t('problem.expiry'))
    await call('PATCH', '/api/quota', { body: { ...value, until: end, ...reason } })
    reload()
  }
  return (
    <Ask button={t('pending.move')} title={t('pending.move')} action={t('pending.move.do')} onConfirm={move}>
      <ExpiryField
        label={t('bar.until')}
        value={expiry}
        keep={until}
        hasNever={false}
        error={at == null ? t('problem.expiry') : undefined}
        onChange={setExpiry}
      />
      {at != null && (
        <p>
          <Filled text={t('ends.moved')} parts={{ from: <Moment at={until ?? ''} />, at: <Moment at={at} /> }} />
        </p>
      )}
    </Ask>
  )
}

interface LinesProps {
  readonly patch: Readonly<Record<string, unknown>>
  /** The value of a place after the end; `null` if there is no end. Default none. */
  readonly next?: ((path: Leaf[0]) => unknown) | null
}

function PatchLines({ patch, next = null }: LinesProps) {
  const shown = (value: unknown) => (value == null ? t('word.file') : shownValue(value as Value))
  return (
    <FromTo
      lines={leavesOf(patch).map(([path, value]) => ({
        ...{ key: path.join('.'), name: nameOf(path.join('.')), to: shown(value) },
        more: next && <span className="muted">{t('pending.next', { value: shown(next(path)) })}</span>,
      }))}
    />
  )
}

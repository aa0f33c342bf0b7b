import { Menu } from '@mantine/core'
import { useState } from 'react'
import { useLed, useMayChange } from '../../api/session.tsx'
import { t } from '../../i18n/text.ts'
import { hashOf } from '../../logic/location.ts'
import type { Overridable } from '../../logic/override.ts'
import { canRaise, type QuickKind } from '../../logic/quick-override.ts'
import { visible } from '../../logic/visible.ts'
import { DIALOGS } from '../../ui/confirm.tsx'
import type { Line } from './line.ts'
import { QuickDialog } from './quick-actions.tsx'

interface RowActionsProps {
  readonly line: Line
  readonly of: Overridable
  /** Reads the list again. */
  readonly read: () => Promise<void>
}

/** The most frequent actions for an entry of a list, without leaving the list. */
export function RowActions({ line: { id, override, standing }, of, read }: RowActionsProps) {
  const may = useMayChange()
  const isLead = useLed() !== null
  const [asking, setAsking] = useState<QuickKind | null>(null)
  const page = of.kind === 'user' ? 'users' : 'organisations'
  if (isLead) return null
  return (
    <>
      <Menu position="bottom-end" portalProps={{ target: `#${DIALOGS}` }}>
        <Menu.Target>
          <button type="button" className="row-actions" aria-label={t('users.actions', { name: visible(id) })}>
            ⋯
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component="a" href={hashOf(page, id)}>
            {t('users.openPage')}
          </Menu.Item>
          <Menu.Item disabled={!may || !canRaise(of)} onClick={() => setAsking('half')}>
            {t('quick.half')}
          </Menu.Item>
          <Menu.Item disabled={!may} onClick={() => setAsking('block')}>
            {t('quick.block')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {asking !== null && (
        <QuickDialog
          response={of}
          exempt={standing?.state === 'exempt'}
          etag={`"${override?.version ?? 0}"`}
          path={`/api/${page}/${encodeURIComponent(id)}`}
          read={read}
          kind={asking}
          onClose={() => setAsking(null)}
          onDone={() => setAsking(null)}
        />
      )}
    </>
  )
}

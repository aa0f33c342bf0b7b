import { Radio, Switch, TextInput } from '@mantine/core'
import type { KeyboardEvent } from 'react'
import { MODES } from '../../../quota/limit-layers.ts'
import { number, t } from '../../i18n/text.ts'
import { steppedMultiplier } from '../../logic/settings.ts'
import { bound } from '../../ui/form.tsx'
import { Origin, Setting, useEditing, useShown } from './edit.tsx'

export function ModeChoice() {
  const { quota, edit, problemOf } = useEditing()
  return (
    <>
      <Radio.Group
        label={t('quotas.mode')}
        value={String(useShown('mode'))}
        onChange={(mode) => edit('mode', mode)}
        error={problemOf('mode')}
      >
        <div className="modes">
          {MODES.map((mode) => (
            <Radio
              key={mode}
              value={mode}
              label={t(`mode.${mode}`)}
              description={t(`mode.${mode}.text`, { factor: number(quota.adaptive.factor) })}
            />
          ))}
        </div>
      </Radio.Group>
      <p>
        <Origin path="mode" />
      </p>
    </>
  )
}

export function OnOff({ path, label }: { readonly path: string; readonly label: 'globalEnabled' | 'shadow' }) {
  const { edit, problemOf } = useEditing()
  return (
    <Setting path={path}>
      <Switch
        label={t(`quotas.${label}`)}
        description={t(`quotas.${label}Text`)}
        checked={useShown(path) === true}
        onChange={(event) => edit(path, event.currentTarget.checked)}
        error={problemOf(path)}
      />
    </Setting>
  )
}

export function Multiplier() {
  const { edit, problemOf } = useEditing()
  const path = 'global.multiplier'
  const value = String(useShown(path))
  function step(event: KeyboardEvent): void {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return
    event.preventDefault()
    edit(path, steppedMultiplier(value, event.key === 'ArrowUp'))
  }
  return (
    <Setting path={path}>
      <TextInput
        label={t('quotas.multiplier')}
        description={t('quotas.multiplierText')}
        inputMode="decimal"
        {...bound(value, (text) => edit(path, text), problemOf(path))}
        onKeyDown={step}
      />
    </Setting>
  )
}

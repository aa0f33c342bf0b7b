import { Radio, Switch, TextInput } from '@mantine/core'
import type { KeyboardEvent } from 'react'
import type { SettingsInForceResponse } from '../../../contract/api.ts'
import { MODES } from '../../../quota/limit-layers.ts'
import { useMayChange } from '../../api/session.tsx'
import { number, t } from '../../i18n/text.ts'
import { type Draft, type Edit, steppedMultiplier, withEdit, withoutEdit } from '../../logic/settings.ts'
import { fieldProblems } from '../../ui/failure.tsx'
import { bound, useFocusWrong } from '../../ui/form.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Note, Plain } from '../../ui/small.tsx'
import { ChangeBar } from './change-bar.tsx'
import { Distribution } from './distribution.tsx'
import { EditContext, Origin, Setting, useEditing, useShown } from './edit.tsx'
import { CustomLimits, Limits } from './limits.tsx'
import { shownValue } from './names.ts'
import { PlanMatrix } from './plan-matrix.tsx'
import { Preview } from './preview.tsx'
import { type SettingsProps, useSettings } from './use-settings.ts'
import './limits.css'

/** The settings as a form, with the effect of a change beside it, and the bar that makes the change. */
export function Settings({ quota, etag, out, reload, take }: SettingsProps) {
  const may = useMayChange()
  const editing = useSettings({ quota, etag, reload, take })
  const { draft, problems, termProblems, error, previewed, change } = editing
  const fields = fieldProblems(error)
  const form = useFocusWrong(problems, termProblems, error)
  return (
    <Panel title={t('audit.settings')} text={t('quotas.fileHint', { count: quota.changed.length })}>
      <Resting quota={quota} />
      {!may && <p className="viewer">{t('quotas.viewer')}</p>}
      <EditContext
        value={{
          quota,
          draft,
          change,
          problemOf: (path) => (problems[path] === undefined ? fields[path] : t(problems[path])),
          edit: (path: string, edit: Edit) => change((now) => withEdit(now, quota, path, edit)),
          undo: (path: string) => change((now) => withoutEdit(now, path)),
        }}
      >
        <form
          ref={form}
          onSubmit={(event) => {
            event.preventDefault()
            editing.preview()
          }}
          noValidate
        >
          <div className="limits-columns">
            <div>
              <ModeChoice />
              <div className="fields">
                <OnOff path="global.enabled" label="globalEnabled" />
                <Multiplier />
                <OnOff path="shadow" label="shadow" />
              </div>
              <Limits table="baselines" />
              <CustomLimits />
              <PlanMatrix />
              {quota.changed.length > 0 && (
                <div className="actions">
                  <Plain onClick={() => change(() => allToFile(quota))}>{t('quotas.allToFile')}</Plain>
                </div>
              )}
            </div>
            {(previewed !== null || !out) && (
              <div className="beside">
                {previewed !== null && <Preview {...previewed} onBack={editing.leavePreview} />}
                {!out && <Distribution />}
              </div>
            )}
          </div>
          <ChangeBar editing={editing} out={out} />
        </form>
      </EditContext>
    </Panel>
  )
}

function allToFile({ changed }: SettingsInForceResponse): Draft {
  return Object.fromEntries(changed.map((path) => [path, null]))
}

/** Limits that were set at run time for categories or windows that the present file does not have. */
function Resting({ quota: { resting = [] } }: { readonly quota: SettingsInForceResponse }) {
  if (resting.length === 0) return null
  const values = resting.map(({ path, value }) => `${path}: ${shownValue(value)}`).join(t('word.listComma'))
  return <Note tone="info">{t('quotas.resting', { values })}</Note>
}

function ModeChoice() {
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

function OnOff({ path, label }: { readonly path: string; readonly label: 'globalEnabled' | 'shadow' }) {
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

function Multiplier() {
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

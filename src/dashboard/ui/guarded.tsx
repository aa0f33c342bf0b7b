import { Component, type ReactNode } from 'react'
import { t } from '../i18n/text.ts'
import { Note } from './small.tsx'

/** Limits the effect of a fault in the page to its part. */
export class Guarded extends Component<{ readonly children: ReactNode }, { readonly failed: boolean }> {
  override state = { failed: false }
  static getDerivedStateFromError() {
    return { failed: true }
  }
  override render() {
    return this.state.failed ? <Note tone="bad">{t('app.crashed')}</Note> : this.props.children
  }
}

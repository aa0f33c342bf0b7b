import type { FileSettings } from '../../src/control/settings.ts'
import { settings } from '../quota/settings.ts'

/** Two windows and two categories. */
export const FILE: FileSettings = { ...settings(), shadow: false }

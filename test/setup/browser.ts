import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

const require = createRequire(import.meta.url)

/** The browser that the system has; no test tool downloads one. */
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

export interface View {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  readonly language?: string
}

export interface Browser {
  /** A page with cookies and storage of its own. Whatever it says on the console as an error is kept in `errors`. */
  open(view?: View): Promise<OpenPage>
  close(): Promise<void>
}

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the console and of scripts, and dialogs, which nothing of ours opens. */
  readonly errors: string[]
  /** The origins that anything was asked of. */
  readonly origins: Set<string>
}

/** Of the pages, so that local times are never those of UTC: eight hours ahead all the year. */
export const TIME_ZONE = 'Asia/Shanghai'

export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // As root Chromium has no sandbox; the others keep it from asking for hosts of its maker.
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  return {
    open: async ({ width = 1280, height = 900, dark = false, language = 'en-US' } = {}) => {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        locale: language,
        timezoneId: TIME_ZONE,
        reducedMotion: 'reduce',
      })
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      // Less than a test has, so that it is told what was waited for.
      context.setDefaultTimeout(20_000)
      const page = await context.newPage()
      const errors: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text())
      })
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('dialog', (dialog) => {
        errors.push(`dialog: ${dialog.message()}`)
        void dialog.dismiss()
      })
      const origins = new Set<string>()
      context.on('request', (request) => origins.add(new URL(request.url()).origin))
      return { page, context, errors, origins }
    },
    close: () => browser.close(),
  }
}

export interface Finding {
  readonly id: string
  readonly impact: string
  readonly where: string[]
}

/** What axe-core finds on the page that is serious or critical. */
export async function accessibilityFindings(page: Page): Promise<Finding[]> {
  // Evaluated by the debugger and not as a script of the page, whose policy allows none but its own.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await readAxe())
  const result = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[]
  }
  return result.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.map(({ target, failureSummary }) => `${target.join(' ')}: ${failureSummary}`),
    }))
}

async function readAxe(): Promise<string> {
  return readFile(require.resolve('axe-core/axe.min.js'), 'utf8')
}

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { BrowserContext, Browser as ChromiumBrowser, LaunchOptions, Page } from 'playwright-core'

const require = createRequire(import.meta.url)

/** The browser that the system has; no test tool downloads one. */
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

export interface View {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  readonly language?: string
  /** That no other test has before or after: for one that changes it for good, by a clock or by a script before all others. */
  readonly own?: boolean
}

export interface Browser {
  /**
   * A page whose cookies and storage are empty. Whatever it says on the console as an error is kept in `errors`. One that was closed
   * is used again: a document in a new one costs 1.9 s of CPU, in one that had it before 0.4 s.
   */
  open(view?: View): Promise<OpenPage>
  /** Ends what is open still: what a test that failed has left behind goes on asking its gateway. */
  closePages(): Promise<void>
  close(): Promise<void>
}

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the console and of scripts, and dialogs, which nothing of ours opens. */
  readonly errors: string[]
  /** The origins that anything was asked of. */
  readonly origins: Set<string>
  close(): Promise<void>
}

/** Of the pages, so that local times are never those of UTC: eight hours ahead all the year. */
export const TIME_ZONE = 'Asia/Shanghai'

export const LAUNCH: LaunchOptions = {
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
}

export function browserOf(browser: ChromiumBrowser): Browser {
  const opened = new Set<OpenPage>()
  const spare: { readonly language: string; readonly open: OpenPage }[] = []
  return {
    open: async ({ width = 1280, height = 900, dark = false, language = 'en-US', own = false } = {}) => {
      const index = own ? -1 : spare.findIndex((each) => each.language === language)
      const [used] = index === -1 ? [] : spare.splice(index, 1)
      const open = used?.open ?? (await openNew(browser, language))
      opened.add(open)
      open.errors.length = 0
      open.origins.clear()
      await open.page.setViewportSize({ width, height })
      await open.page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
      const close = async (): Promise<void> => {
        opened.delete(open)
        if (own) return open.close()
        await leave(open)
        spare.push({ language, open })
      }
      return { ...open, close }
    },
    closePages: async () => {
      await Promise.all([...opened].map((open) => open.close()))
      opened.clear()
    },
    close: () => browser.close(),
  }
}

async function openNew(browser: ChromiumBrowser, language: string): Promise<OpenPage> {
  const context = await browser.newContext({ locale: language, timezoneId: TIME_ZONE, reducedMotion: 'reduce' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  // Less than a test has, so that it is told what was waited for.
  context.setDefaultTimeout(45_000)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} at ${message.location().url}`)
  })
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('dialog', (dialog) => {
    errors.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  const origins = new Set<string>()
  context.on('request', (request) => origins.add(new URL(request.url()).origin))
  const close = async (): Promise<void> => {
    // A request that a test changes on its way would fail with the page, which nobody waits for.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await context.close()
  }
  return { page, context, errors, origins, close }
}

/** Takes with it what it did to the page: its document, what it kept, the requests that it held, and where the mouse is. */
async function leave({ page, context }: OpenPage): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  // Not `setStorageState`, which opens a page for it: 0.3 s of CPU. Where the browser tells an error there is no storage.
  await page.evaluate('try { localStorage.clear(); sessionStorage.clear() } catch {}')
  await page.goto('about:blank')
  await context.clearCookies()
  await page.mouse.move(0, 0)
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

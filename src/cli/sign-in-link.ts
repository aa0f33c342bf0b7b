import type { App } from '../app/app.ts'

/** A started gateway: the URLs of its listeners, and codes for sign-in links. */
export interface Started extends Pick<App, 'signInCode'> {
  readonly gateway: string
  readonly admin: string
}

/** The host for a browser on this machine if the listener listens on all addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }

/**
 * The dashboard's sign-in link, for a terminal only, because other output may be stored like a log.
 * @param output where the link would be written
 * @returns `null` without a code if the output is no terminal, or if there is no `admin.token`
 */
export function linkFor(output: { readonly isTTY?: boolean }, { admin, signInCode }: Started): string | null {
  const code = output.isTTY === true ? signInCode() : null
  return code === null ? null : linkTo(admin, code)
}

/** The code is after `#`, which browsers send to nobody, so no log of a proxy has it. */
function linkTo(admin: string, code: string): string {
  const url = new URL(admin)
  url.hostname = LOOPBACK[url.hostname] ?? url.hostname
  url.hash = `/sign-in?code=${code}`
  return url.href
}

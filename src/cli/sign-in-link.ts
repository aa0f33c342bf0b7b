import type { App } from '../app/app.ts'

/** A gateway that has started: the URLs of its listeners, and codes for sign-in links. */
export interface Started extends Pick<App, 'signInCode'> {
  readonly gateway: string
  readonly admin: string
}

/** What a browser of this machine reaches instead of all addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }

/**
 * The dashboard's sign-in link, for somebody who sits at a terminal: what is not one may be kept, as a log is.
 * @param output where the link would be written
 * @returns `null` for anything but a terminal, for which no code is made, and without `admin.token`
 */
export function linkFor(output: { readonly isTTY?: boolean }, { admin, signInCode }: Started): string | null {
  const code = output.isTTY === true ? signInCode() : null
  return code === null ? null : linkTo(admin, code)
}

/** The code is behind `#`: browsers send nothing of it, and no log of a proxy has it. */
function linkTo(admin: string, code: string): string {
  const url = new URL(admin)
  url.hostname = LOOPBACK[url.hostname] ?? url.hostname
  url.hash = `/sign-in?code=${code}`
  return url.href
}

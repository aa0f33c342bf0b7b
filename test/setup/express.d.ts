/** What the tests use of Express, in two major versions. */
declare module 'express' {
  import type { RequestListener, ServerResponse } from 'node:http'

  interface Express extends RequestListener {
    enable(setting: 'strict routing' | 'case sensitive routing'): void
    all(path: string, handler: (req: unknown, res: ServerResponse) => void): void
    use(handler: (req: unknown, res: ServerResponse) => void): void
  }
  export default function express(): Express
}

declare module 'express4' {
  export { default } from 'express'
}

import recorded from './examples.json' with { type: 'json' }

/** A request to a route with its response, recorded from a gateway for the OpenAPI document and the page of examples. */
export interface Example {
  /** What is left out, as a sentence. */
  readonly note?: string
  /** Values of the path, the query and `If-Match`, by name. */
  readonly parameters?: Readonly<Record<string, string>>
  /** JSON, or a text of lines. Default none. */
  readonly body?: unknown
  /** JSON or a text. Absent if the response has no body. */
  readonly response?: unknown
  /** A route with a similar response. The page shows only the differences. */
  readonly like?: string
}

/** By route, as in `GET /api/users/{id}`. */
export type Examples = Readonly<Record<string, Example>>

/** One example of every route, all from the same gateway on the same day. `node test/contract/recorded-examples.ts` records them anew. */
export const EXAMPLES: Examples = recorded

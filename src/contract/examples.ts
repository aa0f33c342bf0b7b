import recorded from './examples.json' with { type: 'json' }

/** A request to a route and the response to it as a gateway gave it, as the OpenAPI document and the page of examples show them. */
export interface Example {
  /** What is left out of it, as a sentence. */
  readonly note?: string
  /** Values of the path, the query and `If-Match`, by name. */
  readonly parameters?: Readonly<Record<string, string>>
  /** JSON, or a text of lines. Default no body. */
  readonly body?: unknown
  /** JSON, or a text. It is missing if the response has no body. */
  readonly response?: unknown
  /** The route whose response it resembles: the page shows only what differs. */
  readonly like?: string
}

/** By route, as in `GET /api/users/{id}`. */
export type Examples = Readonly<Record<string, Example>>

/** One example of every route. All show the same gateway on the same day: `node test/contract/recorded-examples.ts` records the responses anew. */
export const EXAMPLES: Examples = recorded

import type { z } from 'zod'
import { readFields } from './fields.ts'
import { type AdminResponse, badFields, type Call, type Doc, type Method, type Route } from './http.ts'

/** What a handler gets of its request, with query and body as its schemas have parsed them. */
export type CallOf<Query, Body = unknown> = Omit<Call, 'query' | 'body'> & {
  readonly query: Query
  readonly body: Body
}

interface RouteOptions<Q extends z.ZodObject, B extends z.ZodType>
  extends Omit<Doc, 'query'>,
    Partial<Pick<Route, 'guard' | 'maxBody' | 'takesLines'>> {
  readonly query?: Q
  /** The schema of a body that needs no other check, so that it is read before the handler. A handler that reads the body itself has `body`. */
  readonly reads?: B
  readonly handle: (call: CallOf<z.output<Q>, z.output<B>>) => AdminResponse | Promise<AdminResponse>
}

/** Makes a route. Without a guard it is for callers who may read or, if its method is not GET, change. An error in query or body gives a 400. */
export function route<Q extends z.ZodObject = z.ZodObject, B extends z.ZodType = z.ZodUnknown>(
  method: Method,
  path: string,
  { guard = method === 'GET' ? 'read' : 'change', maxBody, takesLines, reads, handle, ...doc }: RouteOptions<Q, B>,
): Route {
  return {
    ...{ method, path, guard },
    ...(maxBody !== undefined && { maxBody }),
    ...(takesLines !== undefined && { takesLines }),
    doc: reads === undefined ? doc : { ...doc, body: reads },
    handle(call) {
      const query = doc.query === undefined ? { data: call.query } : readFields(doc.query, call.query)
      if ('problems' in query) return badFields(query.problems)
      const body = reads === undefined ? { data: call.body } : readFields(reads, call.body)
      if ('problems' in body) return badFields(body.problems)
      return handle({ ...call, query: query.data as z.output<Q>, body: body.data as z.output<B> })
    },
  }
}

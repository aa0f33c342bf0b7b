import http from 'node:http'
import { type Service, started } from './service.ts'

/** What a proxy makes of the fields of a request, by their names in lower case. */
export type Rewrite = (fields: Record<string, string>, client: string, host: string) => Record<string, string>

/** A proxy in front of the gateway that sends what the documentation of another one says. Its clients come by TLS, as far as it tells. */
export async function startStandIn(gateway: number, rewrite: Rewrite): Promise<Service> {
  const server = http.createServer((req, res) => {
    const fields = Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]))
    const headers = rewrite(fields, req.socket.remoteAddress ?? '', fields.host ?? '')
    const { method, url: path } = req
    const onward = http.request({ host: '127.0.0.1', port: gateway, agent: false, method, path, headers })
    onward.on('response', (response) => {
      res.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(res)
    })
    req.pipe(onward)
  })
  return started(server.listen(0, '127.0.0.1'))
}

/** Go's and the ALB's way: behind what the client said. */
export function appended(said: string | undefined, client: string): string {
  return said === undefined ? client : `${said}, ${client}`
}

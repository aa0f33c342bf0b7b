import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { rawSocketOf } from '../../src/node/raw-socket.ts'
import { tempFolder } from '../setup/at-end.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'

const folder = tempFolder()

/** @returns the connections that the server heard of, and the one below that of the request */
async function heard(server: http.Server, open: (port: number) => Socket): Promise<[Socket[], Socket]> {
  const accepted: Socket[] = []
  server.on('connection', (socket: Socket) => accepted.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = once(server, 'request')
  const client = open((server.address() as AddressInfo).port)
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [{ socket }] = await asked
  client.destroy()
  server.close()
  return [accepted, rawSocketOf(socket)]
}

test('the connection below that of a request by TLS is the one that the server heard of', async () => {
  const { certFile, keyFile } = makeCertificate(folder, 'one', makeCa(folder, 'ca'), 'IP:127.0.0.1', 400)
  const server = https.createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
  const [accepted, raw] = await heard(server, (port) =>
    tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }),
  )
  expect(accepted).toHaveLength(1)
  expect(raw).toBe(accepted[0])
})

test('a connection in the clear has none below it', async () => {
  const [accepted, raw] = await heard(http.createServer(), (port) => connect(port, '127.0.0.1'))
  expect(accepted).toEqual([raw])
})

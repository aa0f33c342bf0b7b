import { beforeAll, expect, it } from 'vitest'
import { startNginx } from '../setup/nginx.ts'
import type { SystemProxy } from '../setup/system-proxy.ts'
import { addressOf, ask } from './ask.ts'
import { blockOf, type RunningGuide, startGuide } from './page.ts'
import { type Php, startPhp } from './php-fpm.ts'
import { askEverything } from './questions.ts'

/** docs/guides/php-fpm.md */

/** A front controller, which reads the path as Laravel does: decoded, and without a final slash. */
const SCRIPT = `<?php
$path = rtrim(rawurldecode(explode('?', $_SERVER['REQUEST_URI'])[0]), '/');
$origin = (empty($_SERVER['HTTPS']) ? 'http' : 'https') . '://' . $_SERVER['HTTP_HOST'];
if ($path === '/v1/charge' || $path === '/index.php/v1/charge') { echo 'charged'; }
elseif ($path === '/v1/old') { header("Location: $origin/v1/items", true, 301); }
elseif ($path === '/v1/items') {
  header('Content-Type: application/json');
  echo json_encode(['user' => $_SERVER['HTTP_X_TOLLGATE_USER'] ?? null, 'url' => $origin . $path, 'address' => $_SERVER['REMOTE_ADDR']]);
}
else { http_response_code(404); }
`

let php: Php
let nginx: SystemProxy
let guide: RunningGuide
const as = (user: string) => ({ from: addressOf(user) })

beforeAll(async () => {
  php = await startPhp(SCRIPT, 'assets/css')
  nginx = await startNginx(serverOfPage(php))
  guide = await startGuide('php-fpm', { upstream: nginx.port })
})

/** The block of the page, with its addresses replaced. */
function serverOfPage({ port, root }: Php): string {
  return blockOf('php-fpm', 'nginx')
    .replace(/^listen .*$/m, '')
    .replace('/srv/shop/public', root)
    .replace('unix:/run/php/php-fpm.sock', `127.0.0.1:${port}`)
}

askEverything(() => ({
  door: guide.door,
  as,
  known: () => null,
  spellings: ['/v1/charge/', '/v1/%63harge', '/v1/charge?a=b'],
}))

it('tells PHP the address of the client, and no user of whom only the address is known', async () => {
  const headers = { 'x-tollgate-user': 'root', 'x-forwarded-for': '192.0.2.1' }
  const { text } = await ask(guide.door, { path: '/v1/items', headers, from: '127.0.0.9' })
  expect(JSON.parse(text)).toMatchObject({ user: null, address: '127.0.0.9' })
})

it('nginx redirects from a folder to the gateway', async () => {
  const { status, headers } = await ask(guide.door, { path: '/assets/css' })
  expect({ status, location: headers.location }).toEqual({ status: 301, location: `${guide.door.origin}/assets/css/` })
})

it('refuses a header that PHP takes for another one', async () => {
  expect((await ask(guide.door, { path: '/v1/items', headers: { x_tollgate_user: 'root' } })).status).toBe(400)
})

it('does not run the script by its own name', async () => {
  const { status } = await ask(guide.door, { method: 'POST', path: '/index.php/v1/charge', ...as('gerd') })
  expect(status).toBe(404)
})

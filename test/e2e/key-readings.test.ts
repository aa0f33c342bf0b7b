import http from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { startPhp } from '../guides/php-fpm.ts'
import { run } from '../routing/spellings.ts'
import { listening } from '../setup/listening.ts'
import { startNginx } from '../setup/nginx.ts'
import { type Answering, describeReadings } from './key-readings.ts'

/** The parsers that Express brings along. */
const ofExpress = createRequire(createRequire(import.meta.url).resolve('express'))
const { parse: cookiesIn } = ofExpress('cookie') as { parse(field: string): Record<string, string> }
const { parse: queryIn } = ofExpress('qs') as { parse(query: string): Record<string, unknown> }

async function startExpress(): Promise<Answering> {
  const server = http.createServer((req, res) => {
    const key = queryIn((req.url ?? '').split('?').slice(1).join('?')).api_key
    const body = { sid: cookiesIn(req.headers.cookie ?? '').sid, api_key: Array.isArray(key) ? key[0] : key }
    res.end(JSON.stringify(body))
  })
  return { port: await listening(server) }
}

const SCRIPT = `<?php
$first = fn($value) => is_array($value) ? reset($value) : $value;
echo json_encode(['sid' => $first($_COOKIE['sid'] ?? null), 'api_key' => $first($_GET['api_key'] ?? null)]);
`

async function startPhpService(): Promise<Answering> {
  const php = await startPhp(SCRIPT, 'x')
  const fields = ['SCRIPT_FILENAME', 'REQUEST_METHOD $request_method', 'QUERY_STRING $query_string']
  const params = [`${fields[0]} ${php.root}/index.php`, ...fields.slice(1)].map((field) => `fastcgi_param ${field};`)
  const nginx = await startNginx(`location / { ${params.join(' ')} fastcgi_pass 127.0.0.1:${php.port}; }`)
  return { port: nginx.port }
}

const FILES = join(import.meta.dirname, 'services')

describeReadings('Express', startExpress)
describeReadings('PHP', startPhpService)
describeReadings('the standard library of Python', () => run('python3', join(FILES, 'keys.py'), 'standard'))
describeReadings('Rack 2', () => run('ruby', join(FILES, 'keys.rb')))

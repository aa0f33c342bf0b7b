import { type SystemProxy, startSystemProxy } from './system-proxy.ts'

/** It passes connections on. @param lines of its `listen` section, beside `bind` */
export function startHaproxy(...lines: readonly string[]): Promise<SystemProxy> {
  return startSystemProxy({
    command: 'haproxy',
    args: (_folder, file) => ['-db', '-f', file],
    config: (port) => `
global
  maxconn 200
defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen gateway
  bind 127.0.0.1:${port}
${lines.map((line) => `  ${line}\n`).join('')}`,
  })
}

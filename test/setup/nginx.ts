import { type SystemProxy, startSystemProxy } from './system-proxy.ts'

/** @param server what stands in its `server` block */
export function startNginx(server: string): Promise<SystemProxy> {
  return startNginxOf((port) => `server { listen 127.0.0.1:${port}; ${server} }`)
}

/** @param http what stands in its `http` block, with a server that listens on the port */
export function startNginxOf(http: (port: number) => string): Promise<SystemProxy> {
  return startSystemProxy({
    command: 'nginx',
    args: (folder, file) => ['-p', folder, '-c', file],
    config(port, folder) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (kind) => `${kind}_temp_path ${folder}/${kind};`,
      )
      return `
daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 256; }
http { access_log off; ${temporary.join(' ')} ${http(port)} }`
    },
  })
}

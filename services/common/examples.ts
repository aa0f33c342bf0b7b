import { readFileSync } from 'node:fs'

/**
 * The documented bodies of a service. Its tests send them and compare responses with them.
 * @param folder the URL of a module in the folder of the service
 * @returns a function that reads a body by the name of its file without `.json`, for example `charge.200`
 */
export function examplesIn(folder: string): (name: string) => unknown {
  return (name) => JSON.parse(readFileSync(new URL(`./examples/${name}.json`, folder), 'utf8'))
}

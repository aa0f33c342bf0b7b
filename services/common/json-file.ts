import { readFile } from 'node:fs/promises'

/** @throws Error that names the file, if it cannot be read as JSON */
export async function readJsonFile(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file}: cannot be read as JSON: ${(error as Error).message}`, { cause: error })
  }
}

import { cpSync, globSync } from 'node:fs'

/** What tsc does not copy. */
for (const file of globSync('src/**/*.lua')) cpSync(file, file.replace(/^src/, 'dist'))

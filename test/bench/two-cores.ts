import { spawnSync } from 'node:child_process'
import { LOADING_CORE } from '../../bench/processes.ts'

/** With one core there is none for the load: the reason to skip the tests of the generators. */
export const twoCores = spawnSync('taskset', ['-c', LOADING_CORE, 'true']).status === 0

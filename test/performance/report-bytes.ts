import { getHeapStatistics } from 'node:v8'

/** Loaded into a gateway by `--import`: says to whoever asks by a message how many bytes V8 has allocated since the process began. */
process.on('message', () => process.send?.(getHeapStatistics().total_allocated_bytes))
// Nor does it keep the process alive.
process.channel?.unref()

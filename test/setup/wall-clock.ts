import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from './at-end.ts'

/** The wall clock of other processes, which the test sets. What they measure by monotonic clocks stays as it is. */
export interface WallClock {
  /** For the processes that are to have it. */
  readonly env: Readonly<Record<string, string>>
  /** From now on it is so many milliseconds ahead of the right one; negative: behind. */
  set(aheadMs: number): void
}

/** Takes the place of the C library's clocks. The offset lies in a file that is mapped, so it is there at once. */
const SHIM = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long long *offset;
static long long ahead(void) {
  if (!offset) offset = mmap(0, 8, PROT_READ, MAP_SHARED, open(getenv("WALL_CLOCK_AHEAD_MS"), O_RDONLY), 0);
  return *offset;
}
int clock_gettime(clockid_t id, struct timespec *t) {
  int failed = syscall(SYS_clock_gettime, id, t);
  if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
  long long ms = t->tv_sec * 1000LL + t->tv_nsec / 1000000 + ahead();
  t->tv_sec = ms / 1000;
  t->tv_nsec = ms % 1000 * 1000000 + t->tv_nsec % 1000000;
  return 0;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
`

export function createWallClock(): WallClock {
  const folder = tempFolder()
  const [source, library, offset] = ['clock.c', 'clock.so', 'ahead'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(source, SHIM)
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source])
  writeFileSync(offset, Buffer.alloc(8))
  return {
    env: { LD_PRELOAD: library, WALL_CLOCK_AHEAD_MS: offset },
    set(aheadMs) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64LE(BigInt(aheadMs))
      const file = openSync(offset, 'r+')
      writeSync(file, bytes)
      closeSync(file)
    },
  }
}

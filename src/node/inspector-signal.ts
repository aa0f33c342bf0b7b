/**
 * Every entry imports this first: SIGUSR1 opens the inspector of Node, and whoever reaches its port on the loopback runs code
 * in the process and reads its secrets. A listener replaces that.
 */
process.on('SIGUSR1', () => {
  const msg = 'SIGUSR1 is ignored: it would open the inspector of Node, which nothing here needs'
  console.error(JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, msg }))
})

/**
 * Every entry imports this first, because by default SIGUSR1 opens the inspector of Node. Anybody who reaches its port on the loopback
 * can then run code in the process and read its secrets. A listener for the signal replaces the default.
 */
process.on('SIGUSR1', () => {
  const msg = 'SIGUSR1 is ignored: it would open the inspector of Node, which nothing here needs'
  console.error(JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, msg }))
})

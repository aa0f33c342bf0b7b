import type { PartialConfig } from '../partial.ts'
import type { Finding } from '../problems.ts'

const PATH = ['quota', 'exempt', 'addresses']

/** Warns of addresses that may belong to more clients than intended. */
export function checkExempt({ quota: { exempt }, edge }: PartialConfig): Finding[] {
  const hasProxies = (edge.trusted_proxies ?? []).length > 0
  return (exempt?.addresses ?? []).flatMap(({ address, prefix }, i): Finding[] => {
    if (prefix === 0) return [warning(i, 'is every address, so nothing is charged to anybody: name fewer')]
    const isLoopback = address.startsWith('127.') || address === '::1'
    if (hasProxies || prefix === (address.includes(':') ? 128 : 32) || isLoopback) return []
    const message =
      'has no trusted proxy beside it: behind a load balancer in this network every client has its address, and curl from anywhere is never charged. Name it in edge.trusted_proxies, or name single addresses'
    return [warning(i, message)]
  })
}

function warning(i: number, message: string): Finding {
  return { path: [...PATH, i], severity: 'warning', message }
}

/** What an alert may look at. A scope that is no window is counted in half hours. */
export const ALERT_SCOPES = ['global', 'organisation', 'personal', 'failures'] as const
export type AlertScope = (typeof ALERT_SCOPES)[number]

/**
 * What a request is for, most urgent first: a write-back or its checks, new rows, backfill, comparing all rows (`verify`,
 * too). Each priority waits for the more urgent ones and uses the capacity that they leave.
 */
export const priorities = ['write', 'fresh', 'backfill', 'reconcile'] as const
export type Priority = (typeof priorities)[number]

/**
 * What a call is for, most urgent first: a write-back or the check it needs, news, history, proof-reading.
 * A lane waits for the ones before it and takes what they leave.
 */
export const priorities = ['write', 'fresh', 'backfill', 'verify'] as const
export type Priority = (typeof priorities)[number]

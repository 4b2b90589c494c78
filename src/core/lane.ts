/**
 * What a call is for, most urgent first: a write-back or the check it needs, news, history, proof-reading.
 * A lane waits for the ones before it and takes what they leave.
 */
export const lanes = ['write', 'fresh', 'backfill', 'verify'] as const
export type Lane = (typeof lanes)[number]

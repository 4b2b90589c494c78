/** The five schedules of a project, how often each fires, and when in the night. */
import { createRequire } from 'node:module'
import type { Ms } from '../values/time.ts'

/**
 * `incremental`: changed rows. `reconcile`: all rows, compared. `analytics`: the rollups.
 * `availability`: a snapshot. `audit`: a random sample, compared.
 */
export const scheduleNames = [
  'incremental',
  'reconcile',
  'analytics',
  'availability',
  'audit',
] as const
export type ScheduleName = (typeof scheduleNames)[number]

/**
 * `cron`: five fields, or six with the seconds in front, in the project's time zone. `nightly`: at
 * a minute derived from the project's id, so that not all start together.
 */
export type Schedule =
  | { readonly kind: 'every'; readonly ms: Ms }
  | { readonly kind: 'cron'; readonly pattern: string }
  | { readonly kind: 'nightly' }
  | { readonly kind: 'off' }

export type Schedules = Readonly<Record<ScheduleName, Schedule>>

/**
 * The nightly reconcile rereads all within a week, by `rereadShare` in
 * `src/mirror/sync/children.ts` and `src/mirror/core/rollups.ts`.
 */
export const defaultSchedules: Schedules = {
  incremental: { kind: 'every', ms: 300_000 },
  reconcile: { kind: 'nightly' },
  analytics: { kind: 'nightly' },
  availability: { kind: 'every', ms: 60_000 },
  audit: { kind: 'nightly' },
}

/** The hours of the night, in the project's time zone, in which a schedule gets its minute. */
export const nightWindows: Readonly<
  Record<ScheduleName | 'lake', { readonly from: number; readonly hours: number }>
> = {
  reconcile: { from: 1, hours: 4 },
  // After midnight in every time zone that the service may use, and after the reconcile began.
  analytics: { from: 5, hours: 1 },
  // Before the reconcile, so that it sees what a day of incremental syncs has left.
  audit: { from: 0, hours: 1 },
  // With what the night has read.
  lake: { from: 6, hours: 1 },
  incremental: { from: 0, hours: 1 },
  availability: { from: 0, hours: 1 },
}

/** Loaded only for a cron pattern: it takes some tens of milliseconds, in every command. */
export const loadCronParser = (): typeof import('cron-parser') =>
  createRequire(import.meta.url)('cron-parser')

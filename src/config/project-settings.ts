/** The settings of one project. A new one needs a line here or in `analytics-settings.ts`, and nothing else in this folder. */
import type { AnalyticsSettings } from '../core/analytics/analytics-settings.ts'
import type { Schedules } from '../core/default-schedules.ts'
import { type StreamName, streamNames } from '../core/stream-specs.ts'
import { analyticsMap, analyticsSettings } from './analytics-settings.ts'
import * as field from './fields.ts'
import { scheduleMap, scheduleSettings } from './parse-schedule.ts'
import { addressOrReference, secretField, secretsField } from './secret-fields.ts'
import {
  addressSetting,
  fileSetting,
  type Setting,
  type SettingValues,
  secretSetting,
  sensitiveFileSetting,
  setting,
  valuesOf,
} from './setting.ts'

export const projectSettings = {
  /** Without a trailing slash; may have a path. */
  baseUrl: addressSetting('base_url', field.url),
  projectId: setting('project_id', field.projectId),
  apiKey: secretSetting('api_key', secretField),
  /** Null: not configured, so the likely addresses are tried. */
  widgetUrl: addressSetting('widget_url', field.orNull(field.url)),
  /** Secrets that sign webhook deliveries; none = the receiver is off. Several while one replaces another. */
  webhookSecrets: secretSetting('webhook_secret', (read) => secretsField(read).default([])),
  /** Another database than the program's. Null: the same. */
  databaseUrl: sensitiveFileSetting('database_url', (read) =>
    field.orNull(addressOrReference(read, field.databaseUrl)),
  ),
  rate: setting('rate', field.rate.default({ requests: 600, windowMs: 60_000 })),
  writeRate: setting('write_rate', field.rate.default({ requests: 120, windowMs: 60_000 })),
  /** The share of both rates that is not used, for what the service may count otherwise; null = it is learned. */
  rateMargin: setting('rate_margin', field.rateMargin.default(null)),
  /** The share of the rate that is left to the customer's other programs: 0 to 0.9. */
  reserve: fileSetting('reserve', field.reserve.default(0)),
  /** How far back calls, analytics and activity go; null = all there is. */
  startDate: setting('start_date', field.orNull(field.startDate)),
  /** IANA name: days of the rollups. */
  timeZone: setting('time_zone', field.timeZone.default('UTC')),
  /** How far before its cursor an incremental sync starts, because rows may appear this late. */
  lookBackMs: setting('look_back', field.duration.default(600_000)),
  /** How many conversations, and how many visitors, an audit reads again. */
  auditSample: setting('audit_sample', field.auditSample.default(500)),
  verifyAfterMs: setting('verify_after', field.duration.default(120_000)),
  /** Whether a reply without a response is sent again after two verifications did not find it. */
  resendReplies: setting('resend_replies', field.flag.default(true)),
  /** A batch with more rows waits for approval; null = none does. */
  approveOver: setting('approve_over', field.rowCount.default(null)),
  /** How long an approval can be taken back before its write-backs leave; 0 = it cannot. */
  approveGraceMs: setting('approve_grace', field.grace.default(30_000)),
  /** Whether people may approve what they queued themselves. */
  approveOwn: setting('approve_own', field.flag.default(true)),
  /** Whether the words of messages are indexed for the search of the console. */
  search: setting('search', field.flag.default(true)),
  streams: fileSetting<readonly StreamName[]>('streams', field.streams.default([...streamNames])),
  /** `freeze`: undocumented fields that were not seen before stay in `raw` and get no columns. */
  schema: fileSetting('schema', field.schemaMode.default('discover')),
}

export const allProjectSettings: readonly Setting[] = [
  ...Object.values(projectSettings),
  scheduleMap,
  ...Object.values(scheduleSettings),
  analyticsMap,
  ...Object.values(analyticsSettings),
]

/** Maps whose lines are settings of their own: `hours` in `analytics` is the setting `analytics.hours`. */
export const settingMaps: readonly string[] = [scheduleMap.name, analyticsMap.name]

export type ProjectSettings = SettingValues<typeof projectSettings> & {
  /** Its name in the YAML file, or `default`. */
  readonly name: string
  /** Cron patterns use the project's time zone. A schedule of a stream that is not mirrored does nothing. */
  readonly schedules: Schedules
  readonly analytics: AnalyticsSettings
}

/** `checked`: by the names in the file. */
export function toProject(name: string, checked: Readonly<Record<string, unknown>>): ProjectSettings {
  return {
    name,
    ...valuesOf(projectSettings, checked),
    schedules: valuesOf(scheduleSettings, checked),
    analytics: valuesOf(analyticsSettings, checked),
  }
}

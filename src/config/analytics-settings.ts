/** The settings below `analytics`: what the answers for analysts are counted by. */
import { z } from 'zod'
import type { AnalyticsSettings } from '../core/analytics/analytics-settings.ts'
import * as field from './analytics-fields.ts'
import { flag, orNull } from './fields.ts'
import { fileSetting, type Setting, type SettingValues } from './setting.ts'

/** Each is a setting of its own, so that a project can change one and inherit the others. */
export const analyticsSettings = {
  roles: fileSetting('analytics.roles', field.roles.default({})),
  hours: fileSetting('analytics.hours', orNull(field.weeklyHours)),
  holidays: fileSetting('analytics.holidays', field.holidays.default({})),
  visitGapSeconds: fileSetting('analytics.visit_gap', field.seconds.default(1800)),
  availabilityHoldSeconds: fileSetting('analytics.availability_holds', field.seconds.default(600)),
  targets: fileSetting('analytics.targets', field.targets.default([])),
  calls: fileSetting(
    'analytics.calls',
    field.callFields.default({ visitor: null, ended: null, outcome: null, duration: null }),
  ),
  fields: fileSetting('analytics.fields', field.activityFields.default({ activityKind: null, activityPage: null })),
  personalData: fileSetting('analytics.personal_data', flag.default(true)),
} satisfies { readonly [Key in keyof AnalyticsSettings]: Setting<AnalyticsSettings[Key]> }

/** What remains of the line `analytics` is no map. */
export const analyticsMap = fileSetting(
  'analytics',
  z.undefined({ error: 'write a map, like { hours: { mon-fri: 9:00-17:00 } }' }).optional(),
)

export type AnalyticsSettingValues = SettingValues<typeof analyticsSettings>

/** The settings of one project, as written in the YAML file, and the values that they become. */
import type { z } from 'zod'
import { streamNames } from '../core/streams.ts'
import type { ProjectConfig } from './config.ts'
import * as field from './fields.ts'
import { scheduleFields, toSchedules } from './schedules.ts'
import { type ReadSecret, secretField, secretsField } from './secret-fields.ts'

/** All settings of a project, by their names in the YAML file; the variables have the same names in capitals. */
export function projectFields(read: ReadSecret) {
  return {
    base_url: field.url,
    project_id: field.projectId,
    api_key: secretField(read),
    widget_url: field.url.optional(),
    webhook_secret: secretsField(read).optional(),
    rate: field.rate.default({ requests: 600, windowMs: 60_000 }),
    write_rate: field.rate.default({ requests: 120, windowMs: 60_000 }),
    reserve: field.reserve.default(0),
    start_date: field.startDate.optional(),
    time_zone: field.timeZone.default('UTC'),
    look_back: field.duration.default(600_000),
    verify_after: field.duration.default(120_000),
    resend_replies: field.flag.default(true),
    approve_over: field.rowCount.default(null),
    streams: field.streams.optional(),
    schema: field.schemaMode.default('discover'),
    ...scheduleFields,
  }
}

/** What a project's own settings hold. */
export type ProjectSettings = Omit<ProjectConfig, 'readOnly'>

type Fields = z.infer<z.ZodObject<ReturnType<typeof projectFields>>>

export function toProject(name: string, fields: Fields): ProjectSettings {
  return {
    name,
    projectId: fields.project_id,
    baseUrl: fields.base_url,
    widgetUrl: fields.widget_url ?? null,
    apiKey: fields.api_key,
    webhookSecrets: fields.webhook_secret ?? [],
    rate: fields.rate,
    writeRate: fields.write_rate,
    reserve: fields.reserve,
    startDate: fields.start_date ?? null,
    timeZone: fields.time_zone,
    lookBackMs: fields.look_back,
    verifyAfterMs: fields.verify_after,
    resendReplies: fields.resend_replies,
    approveOver: fields.approve_over,
    streams: fields.streams ?? streamNames,
    schedules: toSchedules(fields),
    schema: fields.schema,
  }
}

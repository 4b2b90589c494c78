/** The settings of one project, as they are written in the YAML file, and the values that they become. */
import { z } from 'zod'
import { streamNames } from '../core/row.ts'
import type { Secret } from '../core/secret.ts'
import { secret } from '../core/secret.ts'
import { UserError } from '../core/user-error.ts'
import * as field from './fields.ts'
import { scheduleFields, toSchedules } from './schedules.ts'
import type { ProjectConfig } from './settings.ts'

/** A secret is never written down in a configuration file: it is named, and read from where it is kept. */
export const secretReference = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
])
export type SecretReference = z.infer<typeof secretReference>

/** Reads a referenced secret, or says why that was not possible. */
export type ReadSecret = (reference: SecretReference) => Secret | { readonly why: string }

/** Everything that one project can say. The names are those of the YAML file; the variables are the same in capitals. */
export function projectFields(read: ReadSecret) {
  return {
    base_url: field.url,
    project_id: field.projectId,
    api_key: secretField(read),
    widget_url: field.url.optional(),
    webhook_secret: secretField(read).optional(),
    rate: field.rate.default({ requests: 600, windowMs: 60_000 }),
    write_rate: field.rate.default({ requests: 120, windowMs: 60_000 }),
    reserve: field.reserve.default(0),
    start_date: field.startDate.optional(),
    time_zone: field.timeZone.default('UTC'),
    verify_after: field.duration.default(120_000),
    streams: field.streams.optional(),
    schema: field.schemaMode.default('discover'),
    ...scheduleFields,
  }
}

type Fields = z.infer<z.ZodObject<ReturnType<typeof projectFields>>>

export function toProject(name: string, fields: Fields): ProjectConfig {
  return {
    name,
    projectId: fields.project_id,
    baseUrl: fields.base_url,
    widgetUrl: fields.widget_url ?? fields.base_url,
    apiKey: fields.api_key,
    webhookSecret: fields.webhook_secret ?? null,
    rate: fields.rate,
    writeRate: fields.write_rate,
    reserve: fields.reserve,
    startDate: fields.start_date ?? null,
    timeZone: fields.time_zone,
    verifyAfterMs: fields.verify_after,
    streams: fields.streams ?? streamNames,
    schedules: toSchedules(fields),
    schema: fields.schema,
  }
}

/** Resolves a reference; refuses a literal without repeating it. */
export function secretField(read: ReadSecret) {
  return z.unknown().transform((value, context): Secret => {
    const reference = secretReference.safeParse(value)
    const found = reference.success ? read(reference.data) : { why: wrongReference(value) }
    if ('reveal' in found) return found
    context.addIssue({ code: 'custom', message: found.why })
    return z.NEVER
  })
}

function wrongReference(value: unknown): string {
  if (value === undefined) return "the project's API key, made in the app under Settings > API keys"
  const instead = 'keep it in a variable or a file, and write { env: NAME } or { file: PATH } here'
  return typeof value === 'string' ? `holds the secret itself: ${instead}` : `is no reference to a secret: ${instead}`
}

/** For commands that only read the mirror: a secret that is missing is trouble only if somebody asks for it after all. */
export function onDemand(read: ReadSecret): ReadSecret {
  return (reference) => {
    const found = read(reference)
    if ('reveal' in found) return found
    const reveal = () => {
      throw new UserError({ what: 'a secret is needed', why: `it ${found.why}`, next: 'set it there', exitCode: 2 })
    }
    return { ...secret(''), reveal }
  }
}

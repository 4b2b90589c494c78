/** The configuration as values: what the rest of the program is told. */
import type { Rate } from '../core/rate-limit/rate.ts'
import type { StreamName } from '../core/row.ts'
import type { Schedules } from '../core/schedule.ts'
import type { Secret } from '../core/secret.ts'
import type { Ms, Seconds } from '../core/time.ts'

export type ProjectConfig = {
  /** What people call it: its name in the YAML file, or `default`. */
  readonly name: string
  readonly projectId: string
  /** Without a trailing slash; may have a path. */
  readonly baseUrl: URL
  /** Null: nobody has said, and the likely ones are asked. */
  readonly widgetUrl: URL | null
  readonly apiKey: Secret
  /** What a webhook delivery may be signed with; none = no receiver. Several while one takes the place of another. */
  readonly webhookSecrets: readonly Secret[]
  readonly rate: Rate
  readonly writeRate: Rate
  /** The share of the rate that is left to the customer's other programs: 0 to 0.9. */
  readonly reserve: number
  /** How far back calls, analytics and activity go; null = all there is. */
  readonly startDate: Seconds | null
  /** IANA name: days of the rollups. */
  readonly timeZone: string
  /** How far behind its cursor an incremental pass begins: rows may appear so late. */
  readonly lookBackMs: Ms
  readonly verifyAfterMs: Ms
  /** Whether a reply that got no answer, and was twice not found in its conversation, is sent again. */
  readonly resendReplies: boolean
  /** A batch of more rows than that waits for approval; null = none does. */
  readonly approveOver: number | null
  readonly streams: readonly StreamName[]
  /** Cron patterns are read in the project's time zone. A round of a stream that is not mirrored does nothing. */
  readonly schedules: Schedules
  /** `freeze`: undocumented fields that were not seen before stay in `raw` and become no columns. */
  readonly schema: 'discover' | 'freeze'
  /** The same as that of the whole configuration: it goes where the service may be used, so nobody can forget it. */
  readonly readOnly: boolean
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** `port` 0: any free one. An IPv6 `host` stands without brackets. */
export type HttpAddress = { readonly host: string; readonly port: number }

export type Config = {
  readonly projects: readonly ProjectConfig[]
  /** `sqlite:PATH` or `postgres://…`; may carry a password, so it is never printed. */
  readonly databaseUrl: string
  /** `redis://…`, `postgres://…` or `embedded`. */
  readonly queueUrl: string
  /** Where the worker answers; null = nowhere. */
  readonly http: HttpAddress | null
  /** What `/metrics` and the queue board ask for. Where it cannot be read, only `reveal` throws (UserError). */
  readonly httpToken: Secret | null
  /** How many passes one worker process runs side by side: 1 to 1000. */
  readonly concurrency: number
  /** Nothing in the service may be changed. */
  readonly readOnly: boolean
  readonly logLevel: LogLevel
  /** Whether somebody chose the level, or it is the default. */
  readonly logLevelChosen: boolean
  /** What looks like a mistake and stops nothing: a variable that nobody reads. */
  readonly warnings: readonly string[]
}

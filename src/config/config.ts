/** The configuration as values, as the rest of the program gets it. */
import type { Rate } from '../core/rate-limit/rate.ts'
import type { Schedules } from '../core/schedule.ts'
import type { Secret } from '../core/secret.ts'
import type { StreamName } from '../core/streams.ts'
import type { Ms, Seconds } from '../core/time.ts'

export type ProjectConfig = {
  /** Its name in the YAML file, or `default`. */
  readonly name: string
  readonly projectId: string
  /** Without a trailing slash; may have a path. */
  readonly baseUrl: URL
  /** Null: not configured, so the likely addresses are tried. */
  readonly widgetUrl: URL | null
  readonly apiKey: Secret
  /** Secrets that sign webhook deliveries; none = the receiver is off. Several while one replaces another. */
  readonly webhookSecrets: readonly Secret[]
  readonly rate: Rate
  readonly writeRate: Rate
  /** The share of the rate that is left to the customer's other programs: 0 to 0.9. */
  readonly reserve: number
  /** How far back calls, analytics and activity go; null = all there is. */
  readonly startDate: Seconds | null
  /** IANA name: days of the rollups. */
  readonly timeZone: string
  /** How far before its cursor an incremental sync starts, because rows may appear this late. */
  readonly lookBackMs: Ms
  readonly verifyAfterMs: Ms
  /** Whether a reply without an answer is sent again after two searches in its conversation did not find it. */
  readonly resendReplies: boolean
  /** A batch with more rows waits for approval; null = none does. */
  readonly approveOver: number | null
  readonly streams: readonly StreamName[]
  /** Cron patterns use the project's time zone. A schedule of a stream that is not mirrored does nothing. */
  readonly schedules: Schedules
  /** `freeze`: undocumented fields that were not seen before stay in `raw` and get no columns. */
  readonly schema: 'discover' | 'freeze'
  /** The same as in `Config`; repeated here so that every caller of the service has it. */
  readonly readOnly: boolean
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** `port` 0: any free one. An IPv6 `host` has no brackets. */
export type HttpAddress = { readonly host: string; readonly port: number }

export type Config = {
  readonly projects: readonly ProjectConfig[]
  /** `sqlite:PATH` or `postgres://…`; may carry a password, so it is never printed. */
  readonly databaseUrl: string
  /** `redis://…`, `postgres://…` or `embedded`. */
  readonly queueUrl: string
  /** The address of the worker's HTTP server; null = off. */
  readonly http: HttpAddress | null
  /** The token for `/metrics` and the queue board. If it cannot be read, only `reveal` throws (UserError). */
  readonly httpToken: Secret | null
  /** How many sync runs one worker process runs concurrently: 1 to 1000. */
  readonly concurrency: number
  /** The service must not be changed. */
  readonly readOnly: boolean
  readonly logLevel: LogLevel
  /** Whether the level is configured; false = it is the default. */
  readonly logLevelChosen: boolean
  /** Likely mistakes that stop nothing: variables that nothing reads. */
  readonly warnings: readonly string[]
}

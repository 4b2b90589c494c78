/** The fields of the settings: what is allowed, and the value that each becomes. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { listStreamNames, streamNames } from '../../schema/stream-specs.ts'
import { trimEnd } from '../values/format.ts'
import type { ProjectId } from '../values/project.ts'
import { parseBaseUrl, parseServerUrl } from '../values/server-address.ts'
import { dayMs, type EpochSeconds, type Ms, parseDuration, parseTime } from '../values/time.ts'
import { parsePersonName } from './people.ts'
import { containsApiKey } from './problems.ts'

/** Text that `parse` understands, or says why not. `allowed`: of what is no text. */
function explainedField<T>(
  allowed: string,
  parse: (text: string) => { readonly value: T } | { readonly why: string },
) {
  return z.string({ error: allowed }).transform((text, context): T => {
    const parsed = parse(text.trim())
    if ('value' in parsed) return parsed.value
    context.addIssue({ code: 'custom', message: parsed.why })
    return z.NEVER
  })
}

/** Text that `parse` understands; `allowed` is the message if it returns undefined. */
export function parsedField<T>(allowed: string, parse: (text: string) => T | undefined) {
  return explainedField(allowed, (text) => {
    const value = parse(text)
    return value === undefined ? { why: allowed } : { value }
  })
}

export function orNull<T>(field: z.ZodType<T>): z.ZodType<T | null> {
  return field.optional().transform((value) => value ?? null)
}

export const url = explainedField(
  'must be the address of the service, like https://api.example.com/v1',
  (text) => {
    const parsed = parseBaseUrl(text)
    return parsed.ok ? { value: parsed.url } : parsed
  },
)

const web = 'write an address like https://desk.example.com'
/** Without a slash at its end. */
export const webAddress = parsedField(web, (text) =>
  /^https?:\/\/[^\s@?#]+$/.test(text) && URL.canParse(text) ? trimEnd(text, '/') : undefined,
)

export const projectId = parsedField(
  "the project's id, a UUID (in YAML: in quotes)",
  (text): ProjectId | undefined =>
    /^[^\s/?#%]+$/.test(text) && text !== '.' && text !== '..' && !containsApiKey(text)
      ? text
      : undefined,
)
export const duration = parsedField('write a duration, like 120s or 5m', parseDuration)
const graces = 'write a duration of at most a day, like 30s, or off'
/** 0: none. */
export const grace = z.union(
  [
    z.union([z.literal(0), z.enum(['0', 'off'])]).transform((): Ms => 0),
    parsedField(graces, (text) => {
      const ms = parseDuration(text)
      return ms === undefined || ms > 86_400_000 ? undefined : ms
    }),
  ],
  { error: graces },
)
export const personName = parsedField('write a name of at most 100 characters', parsePersonName)
export const retention = parsedField(
  'write what is kept for how long, like ' +
    'runs=30d,snapshots=30d,writebacks=400d,events=400d,gaps=90d,history=730d (at least 1d, ' +
    'writebacks and events 91d) or forever',
  parseRetention,
)
export const timeZone = parsedField('write an IANA time zone, like UTC or Europe/Berlin', (text) =>
  isTimeZone(text) ? text : undefined,
)
export const startDate = parsedField(
  'write a date, like 2024-01-01 or 2024-01-01T00:00:00Z',
  parseStartDate,
)
export const databaseUrl = addressField(
  'must be sqlite:PATH or postgres://user:password@host/database',
  {
    isOwn: (text) => /^sqlite:(?!\/\/[^/])./.test(text) && !containsApiKey(text),
    schemes: ['postgres', 'postgresql'],
  },
)
/** Null: no HTTP at all. */
export const httpAddress = parsedField('write host:port, like 127.0.0.1:8484, or off', (text) =>
  text === 'off' ? null : parseHostAndPort(text),
)
const proxies = 'write addresses of proxies, like 127.0.0.1 or 10.0.0.0/8'
/** A list, or separated by commas. */
export const proxyAddresses = z
  .union([z.array(z.string({ error: proxies })), z.string().transform((text) => text.split(','))], {
    error: proxies,
  })
  .transform((addresses) => addresses.map((address) => address.trim()))
  .refine((addresses) => addresses.every(isAddressRange), { error: proxies })
const flags = 'write true or false'
export const flag = z
  .union([z.boolean(), z.number(), z.string()], { error: flags })
  .transform((value) => String(value).trim())
  .pipe(
    z.stringbool({
      truthy: ['true', 'yes', 'on', '1'],
      falsy: ['false', 'no', 'off', '0'],
      error: flags,
    }),
  )
const rows = 'write a number of rows, like 500, or off'
const anyRows = z.literal('off').transform(() => null)
/** Null: any number. */
export const rowCount = z.union([anyRows, wholeNumberField(rows, 0, Number.MAX_SAFE_INTEGER)], {
  error: rows,
})
export const auditSample = wholeNumberField('write how many rows, between 1 and 100000', 1, 100_000)
export const concurrency = wholeNumberField('write a whole number between 1 and 1000', 1, 1000)

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export const logLevel = z.enum(levels, { error: `write one of ${levels.join(', ')}` })
export const schemaMode = z.enum(['discover', 'freeze'], { error: 'write discover or freeze' })
export const streams = z
  .array(z.enum(streamNames, { error: `write some of ${streamNames.join(', ')}` }), {
    error: `write a list of some of ${streamNames.join(', ')}`,
  })
  .min(1, 'name at least one stream, or leave the line out for all of them')

const versioned = `write a list of some of ${listStreamNames.join(', ')}`
export const history = z.array(z.enum(listStreamNames, { error: versioned }), { error: versioned })

/** An IP address, or a network, but not all addresses there are. */
function isAddressRange(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/')
  const version = isIP(address)
  return (
    version !== 0 &&
    others.length === 0 &&
    (bits === undefined || (/^[1-9]\d*$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
  )
}

/**
 * An address with one of the schemes, or what `isOwn` accepts; never repeated: see `problems.ts`.
 * `explain`: what is said of a refused one, instead of what is allowed.
 */
export function addressField(
  allowed: string,
  accepted: {
    readonly isOwn: (text: string) => boolean
    readonly schemes: readonly string[]
    readonly explain?: (text: string) => string | null
  },
) {
  return explainedField(allowed, (text) => {
    if (accepted.isOwn(text)) return { value: text }
    const parsedUrl = parseServerUrl(text, accepted.schemes)
    if (parsedUrl.ok) return { value: parsedUrl.href }
    const isKnown = accepted.schemes.some((scheme) => text.toLowerCase().startsWith(`${scheme}:`))
    const general = isKnown ? `${parsedUrl.why} (it ${allowed})` : allowed
    return { why: accepted.explain?.(text) ?? general }
  })
}

/** A number in the file, digits in a variable. */
function wholeNumberField(allowed: string, min: number, max: number) {
  return z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], { error: allowed })
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, { error: allowed })
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The first second of a day in UTC, or the given time. Dates that do not exist are refused. */
function parseStartDate(text: string): EpochSeconds | undefined {
  const at = parseTime(text.length === 10 ? `${text}T00:00:00Z` : text)
  return at !== undefined && z.iso.date().safeParse(text.slice(0, 10)).success ? at : undefined
}

function parseHostAndPort(
  text: string,
): { readonly host: string; readonly port: number } | undefined {
  const match = /^(\[[0-9a-fA-F:]+\]|[^\s:/]+):(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  return match?.[1] !== undefined && port <= 65_535
    ? { host: match[1].replace(/^\[|\]$/g, ''), port }
    : undefined
}

/** For how long what grows without end is kept; null: forever. */
export const defaultRetention = {
  /** Sync runs; the first and the last of a project stay. */
  runs: (30 * dayMs) as Ms | null,
  /** Every snapshot of availability; older ones that are equal to the one before are joined. */
  snapshots: (30 * dayMs) as Ms | null,
  /**
   * The words, evidence and log of settled write-backs, and the words of batches; the rows with
   * their `ref` stay.
   */
  writebacks: (400 * dayMs) as Ms | null,
  /** The audit log of the console. */
  events: (400 * dayMs) as Ms | null,
  /** Gaps, after they were closed. */
  gaps: (90 * dayMs) as Ms | null,
  /** Replaced versions of rows, after they ended. */
  history: null as Ms | null,
}
export type Retention = Readonly<typeof defaultRetention>

/** The database itself keeps the audit log for as long. */
const shortest: Readonly<Partial<Record<string, Ms>>> = {
  events: 91 * dayMs,
  writebacks: 91 * dayMs,
}

/** `runs=30d, events=forever`; what is not named keeps its default. Undefined for anything else. */
export function parseRetention(text: string): Retention | undefined {
  const chosen: Record<string, Ms | null> = {}
  for (const part of text.split(',').filter((part) => part.trim() !== '')) {
    const [kind = '', value = '', ...rest] = part.split('=').map((side) => side.trim())
    const ms = value === 'forever' ? null : parseDuration(value)
    if (!(kind in defaultRetention) || ms === undefined || rest.length > 0) return undefined
    if (ms !== null && ms < (shortest[kind] ?? dayMs)) return undefined
    chosen[kind] = ms
  }
  return { ...defaultRetention, ...chosen }
}
